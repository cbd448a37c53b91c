/* A router that writes codes into the two ECN bits: VCP's and DPCP's. The file that includes this
 * defines struct router with its meter, end_period() and code_for(). */
#ifndef CLEARPIPE_CODE_ROUTER_H
#define CLEARPIPE_CODE_ROUTER_H

#include "router.h"

static __always_inline int is_due(const struct router *router, u64 now)
{
	return load_is_due(&router->meter, now);
}

static __always_inline int measure(struct router *router, u64 capacity, u64 now,
				   const struct mlcp_sums *sums, u64 waiting)
{
	/* Another processor may have summed up more, a moment ago. */
	if (sums->bytes < router->meter.counted ||
	    !load_measure(&router->meter, load_vcp, capacity, now, sums->bytes, waiting))
		return 0;
	end_period(router);
	return 1;
}

static __always_inline void begin_period(struct router *router, u64 now,
					 const struct mlcp_sums *sums)
{
	router->meter.period_start = now;
	router->meter.counted = sums->bytes;
}

static __always_inline u64 rho_of(const struct router *router)
{
	return router->meter.rho;
}

static __always_inline u64 periods_of(const struct router *router)
{
	return router->meter.periods;
}

static __always_inline void arrive(struct __sk_buff *skb, struct state *state)
{
}

static __always_inline u32 mark(struct __sk_buff *skb, struct state *state, struct segment *segment,
				struct counted *counted, u32 size)
{
	u32 code, theirs = segment->tos & 3;

	if (!theirs)
		return 0;
	code = code_for(&state->router, flow_of(segment), segment->seq, segment->ack, theirs);
	set_ecn(skb, segment, code);
	/* What a host of the protocol wrote. ECT(0) is ordinary ECN's, whose TCP headers are none of
	 * ours, or a code that a router before has raised, which tells of a load in any case. */
	if (theirs == VCP_LOW)
		set_measured(skb, segment);
	return code;
}

#endif
