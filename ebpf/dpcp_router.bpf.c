/* DPCP's router: crates/cc/src/explicit/load/dpcp/mod.rs in the kernel. A flow is its addresses and
 * ports; of 4096 flags two flows may share one, which is an error of one level where their paths so
 * far are in different zones. */
#include "load_router.h"

struct router {
	struct load_meter meter;
	struct dpcp_level level;
	u8 flags[DPCP_FLAGS];
};

static __always_inline void end_period(struct router *router)
{
	router->level = dpcp_router_level(router->meter.rho);
}

static __always_inline u32 code_for(struct router *router, u32 flow, u32 seq, u32 ack, u32 theirs)
{
	/* Before the first period ends nothing is known, which is the lowest level. */
	struct dpcp_level level = { .zone = 1, .level = 1 };

	if (router->level.zone)
		level = router->level;
	return dpcp_router_mark(level, &router->flags[flow % DPCP_FLAGS], dpcp_part(seq, ack), theirs);
}

#include "code_router.h"
