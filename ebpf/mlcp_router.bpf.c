/* MLCP's router: crates/cc/src/explicit/load/mlcp.rs in the kernel. */
#include "mlcp_router.h"

#define EXID 0x4d4c
#define HEADER_BYTES 4

struct router {
	struct mlcp_gauge gauge;
};

#include "router.h"

static __always_inline int is_due(const struct router *router, u64 now)
{
	return mlcp_is_due(&router->gauge, now);
}

static __always_inline int measure(struct router *router, u64 capacity, u64 now,
				   const struct mlcp_sums *sums, u64 waiting)
{
	/* Another processor may have summed up more, a moment ago. */
	if (sums->bytes < router->gauge.meter.counted || sums->rtts < router->gauge.rtts)
		return 0;
	return mlcp_measure(&router->gauge, capacity, now, sums, waiting);
}

static __always_inline void begin_period(struct router *router, u64 now,
					 const struct mlcp_sums *sums)
{
	router->gauge.meter.period_start = now;
	router->gauge.meter.counted = sums->bytes;
}

static __always_inline u64 rho_of(const struct router *router)
{
	return router->gauge.meter.rho;
}

static __always_inline u64 periods_of(const struct router *router)
{
	return router->gauge.meter.periods;
}

/* How a load is counted: 1 multiplicative, 2 additive and inverse increase, 3 decrease. */
static __always_inline u32 kind_of(u32 load)
{
	return !load ? 0 : load < MLCP_AI ? 1 : load < MLCP_MD ? 2 : 3;
}

static __always_inline void arrive(struct __sk_buff *skb, struct state *state)
{
}

static __always_inline u32 mark(struct __sk_buff *skb, struct state *state, struct segment *segment,
				struct counted *counted, u32 size)
{
	const struct mlcp_gauge *gauge = &state->router.gauge;
	u32 at = option_at(skb, segment, EXID, HEADER_BYTES), wire, word, left;

	if (!at || bpf_skb_load_bytes(skb, at, &wire, sizeof(wire)))
		return 0;
	word = bpf_ntohl(wire);
	if (word & MLCP_RTT_MAX) {
		counted->sums.rtts++;
		counted->sums.rtt_us += word & MLCP_RTT_MAX;
	}
	left = mlcp_router_mark(gauge->load, gauge->told, word);
	if (left != word) {
		left = bpf_htonl(left);
		bpf_l4_csum_replace(skb, segment->tcp + 16, wire, left, sizeof(left));
		bpf_skb_store_bytes(skb, at, &left, sizeof(left), 0);
		left = bpf_ntohl(left);
	}
	if (mlcp_load(left))
		set_measured(skb, segment);
	return kind_of(mlcp_load(left));
}
