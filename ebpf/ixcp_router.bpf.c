/* iXCP's router: crates/cc/src/explicit/xcp/ixcp.rs in the kernel. */
#define IXCP
#include "feedback_router.h"
