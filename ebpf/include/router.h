/* A router on a stock kernel: a program at the egress of the bottleneck's device,
 * before its queueing discipline (TBF or HTB, of the same rate). Arrivals are counted here,
 * whatever becomes of them, on each processor by itself; who finds a timer due sums them up. The
 * queue is the root qdisc's backlog. IPv4 and IPv6. The file that includes this defines struct
 * router before, which is what it keeps, and afterwards the functions that are declared below.
 * Different from the simulator:
 * - Timers are looked at when a packet comes. In an idle time the queue is taken as empty.
 * - The code is written before the queue and not behind it, so it is older by the time in the
 *   queue.
 * - ACKs are not served before data, unless the qdisc is told to. */
#ifndef CLEARPIPE_ROUTER_H
#define CLEARPIPE_ROUTER_H

#include "packet.h"
#include "mlcp_router.h"
#include "switch.h"

#define MAX_CPUS 1024

struct config {
	u64 capacity; /* bytes/s */
	u64 link; /* its number, of 32 bits and not 0 */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct config);
} config SEC(".maps");

/* Who ends a period takes the lock, and whose packets draw on one account take it each time. */
struct state {
	struct bpf_spin_lock lock;
	u32 passed; /* has a packet passed while it was switched off? */
	struct router router;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct state);
} state SEC(".maps");

/* What status shows of all: the last load factor in 1/1000, and periods. */
enum { RHO_MILLI, PERIODS, GAUGES };

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, GAUGES);
	__type(key, u32);
	__type(value, u64);
} gauges SEC(".maps");

/* And of each processor: packets by what they left with (nothing, low load, high load, overload),
 * all bytes, and what a protocol's packets say of their RTTs. */
struct counted {
	u64 packets[4];
	struct mlcp_sums sums;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct counted);
} counters SEC(".maps");

/* Its timers: is one due; what is then done, under the lock, which is true after a period. `sums`
 * are of all that has come so far, `waiting` is the queue [bytes]. */
static __always_inline int is_due(const struct router *router, u64 now);
static __always_inline int measure(struct router *router, u64 capacity, u64 now,
				   const struct mlcp_sums *sums, u64 waiting);
/* What came while it was switched off is not in `sums`: the running period begins now. */
static __always_inline void begin_period(struct router *router, u64 now,
					 const struct mlcp_sums *sums);
/* For status: the last load factor [2^-20], and how many periods have ended. */
static __always_inline u64 rho_of(const struct router *router);
static __always_inline u64 periods_of(const struct router *router);
/* Any packet arrives. */
static __always_inline void arrive(struct __sk_buff *skb, struct state *state);
/* Writes into a data segment of `size` bytes on the wire; the number that it is counted under. */
static __always_inline u32 mark(struct __sk_buff *skb, struct state *state, struct segment *segment,
				struct counted *counted, u32 size);

extern void *bpf_cast_to_kern_ctx(void *) __ksym;

static __always_inline u32 backlog(struct __sk_buff *skb)
{
	struct sk_buff *kernel = bpf_cast_to_kern_ctx(skb);

	return kernel->dev->qdisc->qstats.backlog;
}

static long add_processor(u32 processor, struct mlcp_sums *sum)
{
	u32 zero = 0;
	struct counted *one = bpf_map_lookup_percpu_elem(&counters, &zero, processor);

	if (!one)
		return 1;
	sum->bytes += one->sums.bytes;
	sum->rtts += one->sums.rtts;
	sum->rtt_us += one->sums.rtt_us;
	return 0;
}

static __always_inline void set_gauge(u32 gauge, u64 value)
{
	u64 *at = bpf_map_lookup_elem(&gauges, &gauge);

	if (at)
		*at = value;
}

static __always_inline void look_at_timers(struct __sk_buff *skb, struct state *state, u64 now)
{
	u32 zero = 0, waiting = backlog(skb);
	struct config *configured = bpf_map_lookup_elem(&config, &zero);
	struct mlcp_sums sums = {};
	u64 rho, periods;
	int new = 0;

	if (!configured)
		return;
	bpf_loop(MAX_CPUS, add_processor, &sums, 0);
	bpf_spin_lock(&state->lock);
	/* Another processor may have been quicker, and have summed up more. */
	if (is_due(&state->router, now))
		new = measure(&state->router, configured->capacity, now, &sums, waiting);
	rho = rho_of(&state->router);
	periods = periods_of(&state->router);
	bpf_spin_unlock(&state->lock);
	if (new) {
		set_gauge(RHO_MILLI, rho * 1000 >> 20);
		set_gauge(PERIODS, periods);
	}
}

/* The time without measurement would else count as idle, and a full link as free. */
static __always_inline void switch_on(struct state *state, u64 now)
{
	struct mlcp_sums sums = {};

	bpf_loop(MAX_CPUS, add_processor, &sums, 0);
	bpf_spin_lock(&state->lock);
	if (state->passed)
		begin_period(&state->router, now, &sums);
	state->passed = 0;
	bpf_spin_unlock(&state->lock);
}

static __always_inline int pass(struct __sk_buff *skb, u32 ip)
{
	struct segment segment = {};
	u32 zero = 0, code = 0, size = skb->len - ip;
	struct state *state_of = bpf_map_lookup_elem(&state, &zero);
	struct counted *counted = bpf_map_lookup_elem(&counters, &zero);
	u64 now = bpf_ktime_get_ns();

	if (!state_of || !counted)
		return TC_ACT_UNSPEC;
	if (is_off()) {
		if (!state_of->passed)
			state_of->passed = 1;
		return TC_ACT_UNSPEC;
	}
	if (state_of->passed)
		switch_on(state_of, now);
	if (is_due(&state_of->router, now))
		look_at_timers(skb, state_of, now);
	arrive(skb, state_of);
	if (parse(skb, ip, &segment)) {
		/* A large packet (GSO) will leave as several with headers of their own. */
		if (skb->gso_segs > 1)
			size += (skb->gso_segs - 1) * (segment.tcp - ip + segment.tcp_len);
		if (segment.payload)
			code = mark(skb, state_of, &segment, counted, size) & 3;
	}
	counted->sums.bytes += size;
	counted->packets[code]++;
	return TC_ACT_UNSPEC;
}

SEC("tc")
int egress_ether(struct __sk_buff *skb)
{
	return pass(skb, 14);
}

SEC("tc")
int egress_raw(struct __sk_buff *skb)
{
	return pass(skb, 0);
}

#endif
