/* VCP's router: crates/cc/src/explicit/load/vcp.rs in the kernel. */
#include "load_router.h"

struct router {
	struct load_meter meter;
	u32 code;
};

static __always_inline void end_period(struct router *router)
{
	router->code = vcp_router_code(router->meter.rho);
}

static __always_inline u32 code_for(struct router *router, u32 flow, u32 seq, u32 ack, u32 theirs)
{
	/* Before the first period ends nothing is known, which is low load. */
	return vcp_router_mark(router->code ? router->code : VCP_LOW, theirs);
}

#include "code_router.h"
