/* iXCP's end hosts: XCP's, and every packet names the link that holds its flow back, which is the
 * one that the last ACK named (0: the sender's access link). */
#define IXCP
#define EXID 0x4958
#define CC_NAME "ixcp"
#include "xcp_host.h"
