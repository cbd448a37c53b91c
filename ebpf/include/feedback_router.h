/* A router that writes feedback into a congestion header: XCP's and, with IXCP defined, iXCP's. All
 * its packets draw on one account, so each takes the device's lock. */
#ifndef CLEARPIPE_FEEDBACK_ROUTER_H
#define CLEARPIPE_FEEDBACK_ROUTER_H

#include "xcp_router.h"

#ifdef IXCP
#define EXID 0x4958
typedef struct ixcp_header header_t;
#define XCP(header) (&(header)->xcp)

struct router {
	struct ixcp_router xcp;
};
#else
#define EXID 0x5843
typedef struct xcp_header header_t;
#define XCP(header) (header)

struct router {
	struct xcp_router xcp;
};
#endif

#include "router.h"

static __always_inline int is_due(const struct router *router, u64 now)
{
	return xcp_is_due(&router->xcp.meter, now);
}

static __always_inline int measure(struct router *router, u64 capacity, u64 now,
				   const struct mlcp_sums *sums, u64 waiting)
{
	struct xcp_meter *meter = &router->xcp.meter;

	/* Another processor may have summed up more, a moment ago. */
	if (sums->bytes < meter->counted || !xcp_measure(meter, capacity, now, sums->bytes, waiting))
		return 0;
#ifdef IXCP
	ixcp_decide(&router->xcp);
#else
	xcp_decide(&router->xcp);
#endif
	xcp_restart(meter, now);
	return 1;
}

static __always_inline void begin_period(struct router *router, u64 now,
					 const struct mlcp_sums *sums)
{
	struct xcp_meter *meter = &router->xcp.meter;

	if (!meter->interval_end)
		return;
	meter->counted = sums->bytes;
#ifdef IXCP
	router->xcp.input_traffic_shuffle = 0;
	router->xcp.sum_rtt_by_cwnd_shuffle.m = 0;
#endif
	xcp_restart(meter, now);
}

static __always_inline u64 rho_of(const struct router *router)
{
	return real_fixed(real_div(router->xcp.meter.y, router->xcp.meter.capacity), 20);
}

static __always_inline u64 periods_of(const struct router *router)
{
	return router->xcp.meter.intervals;
}

/* The least queue is seldom a new one, so few packets take the lock for it. */
static __always_inline void arrive(struct __sk_buff *skb, struct state *state)
{
	struct xcp_meter *meter = &state->router.xcp.meter;
	u64 waiting = backlog(skb);

	if (!xcp_is_lowest(meter, waiting))
		return;
	bpf_spin_lock(&state->lock);
	if (xcp_is_lowest(meter, waiting))
		meter->lowest_queue = waiting;
	bpf_spin_unlock(&state->lock);
}

/* How feedback is counted: 1 that of a router before or the sender's, 2 this one's, 3 this one's
 * and less than 0. */
static __always_inline u32 kind_of(u64 was, u64 is)
{
	return was == is ? 1 : (s64)big64(is) < 0 ? 3 : 2;
}

static __always_inline void forward(struct state *state, header_t *header, u32 size, u32 packets)
{
	struct router *router = &state->router;
#ifdef IXCP
	u32 zero = 0;
	struct config *configured = bpf_map_lookup_elem(&config, &zero);
	struct xcp_stated stated = ixcp_read(header, size, packets);
	u32 link = configured ? configured->link : 0;

	if (!link || ixcp_is_none(header))
		return;
	bpf_spin_lock(&state->lock);
	ixcp_forward(&router->xcp, link, &stated, header);
	bpf_spin_unlock(&state->lock);
#else
	struct xcp_stated stated = xcp_read(header, size, packets);

	if (!stated.rtt.m) {
		xcp_pass(header);
		return;
	}
	bpf_spin_lock(&state->lock);
	xcp_forward(&router->xcp, &stated, header);
	bpf_spin_unlock(&state->lock);
#endif
}

static __always_inline u32 mark(struct __sk_buff *skb, struct state *state, struct segment *segment,
				struct counted *counted, u32 size)
{
	u32 at = option_at(skb, segment, EXID, sizeof(header_t));
	u32 was[sizeof(header_t) / 4], is[sizeof(header_t) / 4], changed = 0;
	s64 difference;

	if (!at || bpf_skb_load_bytes(skb, at, &was, sizeof(was)))
		return 0;
	__builtin_memcpy(&is, &was, sizeof(is));
	forward(state, (header_t *)&is, size, skb->gso_segs);
	for (u32 i = 0; i < sizeof(is) / 4; i++)
		changed |= is[i] ^ was[i];
	if (changed) {
		difference = bpf_csum_diff(was, sizeof(was), is, sizeof(is), 0);
		bpf_l4_csum_replace(skb, segment->tcp + 16, 0, difference, 0);
		bpf_skb_store_bytes(skb, at, &is, sizeof(is), 0);
	}
	return kind_of(XCP((header_t *)&was)->feedback, XCP((header_t *)&is)->feedback);
}

#endif
