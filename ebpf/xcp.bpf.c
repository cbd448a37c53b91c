/* XCP's end hosts: the congestion control `xcp`, and its header in a TCP option.
 *
 * Data asks for the largest value and bears window and RTT; routers lower what it asks for; the
 * receiver returns the sum of what came since its last ACK that had room for it, in ACKs without
 * data; the sender adds it to its window. Losses are TCP's (PRR, half the window). */
#define EXID 0x5843
#define CC_NAME "xcp"
#include "xcp_host.h"
