/* XCP's router: crates/cc/src/explicit/xcp/xcp.rs in the kernel. */
#include "feedback_router.h"
