/* VCP's router on a stock kernel: a program at the egress of the bottleneck's device, before its
 * queueing discipline (TBF or HTB, of the same rate). Arrivals are counted here, whatever becomes
 * of them; the queue is the root qdisc's backlog. crates/cc/src/explicit/load/vcp.rs and factor.rs,
 * but for these:
 * - Timers are looked at when a packet comes. In an idle time the queue is taken as empty.
 * - The code is written before the queue and not behind it, so it is older by the time in the
 *   queue.
 * - ACKs are not served before data, unless the qdisc is told to. */
#include "fixed.h"
#include "packet.h"

#define T_Q_NS 10000000ULL
#define T_RHO_NS 200000000ULL
/* gamma*t_rho [s]: 0.98*0.2, in 1/1000. */
#define GAMMA_T_RHO_MILLI 196ULL

struct config {
	u64 capacity; /* bytes/s */
};

struct state {
	struct bpf_spin_lock lock;
	u32 code;
	u64 lambda; /* bytes of the running period */
	u64 q; /* bytes, in 1/256 */
	u64 next_sample, period_end;
	/* What status shows: the last load factor in 1/1000, and packets by the code they left with. */
	u64 rho_milli, periods, packets[4];
};
_Static_assert(__builtin_offsetof(struct state, rho_milli) == 40, "the loader's ROUTER_COUNTERS");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct config);
} config SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct state);
} state SEC(".maps");

extern void *bpf_cast_to_kern_ctx(void *) __ksym;

static __always_inline u32 backlog(struct __sk_buff *skb)
{
	struct sk_buff *kernel = bpf_cast_to_kern_ctx(skb);

	return kernel->dev->qdisc->qstats.backlog;
}

static __always_inline void measure(struct state *state, u64 capacity, u64 now, u32 waiting)
{
	u64 idle;

	if (now >= state->next_sample) {
		/* q = 0.875*q + 0.125*sample; what was not sampled was idle. */
		idle = state->next_sample ? (now - state->next_sample) / T_Q_NS : 0;
#pragma unroll
		for (int i = 0; i < 32; i++)
			if ((u64)i < idle)
				state->q -= state->q >> 3;
		state->q = state->q - (state->q >> 3) + ((u64)waiting << 5);
		state->next_sample = now + T_Q_NS;
	}
	if (now >= state->period_end) {
		/* Over gamma*C*t_rho, and over the time that has really passed. */
		u64 length = state->period_end ? now - state->period_end + T_RHO_NS : T_RHO_NS;
		u64 target = capacity * GAMMA_T_RHO_MILLI / 1000 * (length / 1000) / (T_RHO_NS / 1000);
		u64 load = state->lambda + (state->q >> 9); /* kappa_q = 0.5 */

		state->rho_milli = target ? load * 1000 / target : 0;
		state->code = state->rho_milli < 800 ? 1 : state->rho_milli < 1000 ? 2 : 3;
		state->lambda = 0;
		state->periods++;
		state->period_end = now + T_RHO_NS;
	}
}

static __always_inline int pass(struct __sk_buff *skb, u32 ip)
{
	struct segment segment;
	u32 zero = 0, code, theirs, size, waiting = backlog(skb);
	struct config *configured = bpf_map_lookup_elem(&config, &zero);
	struct state *state_of = bpf_map_lookup_elem(&state, &zero);
	u64 now = bpf_ktime_get_ns();
	int tcp, data;

	if (!configured || !state_of)
		return TC_ACT_UNSPEC;
	tcp = parse(skb, ip, &segment);
	data = tcp && segment.payload && (segment.tos & 3);
	size = skb->len - ip;
	/* A large packet (GSO) will leave as several with headers of their own. */
	if (tcp && skb->gso_segs > 1)
		size += (skb->gso_segs - 1) * (sizeof(struct ipv4) + segment.tcp_len);
	theirs = data ? segment.tos & 3 : 0;
	bpf_spin_lock(&state_of->lock);
	measure(state_of, configured->capacity, now, waiting);
	state_of->lambda += size;
	code = state_of->code > theirs ? state_of->code : theirs;
	state_of->packets[data ? code & 3 : 0]++;
	bpf_spin_unlock(&state_of->lock);
	if (data)
		set_ecn(skb, &segment, code);
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
