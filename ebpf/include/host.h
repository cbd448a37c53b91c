/* What the congestion controls share: the window that the kernel holds beside the protocol's own,
 * Reno where no feedback comes, and pacing. */
#ifndef CLEARPIPE_HOST_H
#define CLEARPIPE_HOST_H

#include "fixed.h"
#include "switch.h"

/* What `load` may set; one per protocol and kernel. */
struct config {
	u32 initial_window; /* packets; 0 leaves the kernel's */
	u32 fallback_rtts; /* without feedback, after which a sender is Reno */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct config);
} config SEC(".maps");

/* What happened so far to all flows, on each processor; the loader's table names them. */
enum { FLOWS, ENDED, FALLBACKS, RETURNS, HOST_COUNTERS };

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, HOST_COUNTERS);
	__type(key, u32);
	__type(value, u64);
} host SEC(".maps");

static __always_inline void count_host(u32 counter)
{
	u64 *value = bpf_map_lookup_elem(&host, &counter);

	if (value)
		__sync_fetch_and_add(value, 1);
}

/* Reno's state, and whether the protocol or Reno holds the window. */
struct fallback {
	u64 heard_us; /* when feedback came last, or the first ACK; later by idle times since */
	u64 acked_us; /* when the last ACK came */
	u32 credit; /* ACKed packets that have not yet made a whole one */
	u8 ever; /* did feedback come? */
	u8 reno;
	u8 blind; /* does the feedback not know of the queue that lost a packet? */
	u8 begun; /* is it counted among the flows? */
	u8 idle; /* was nothing under way any more at the last ACK? */
};

/* A flow's first, and its last. */
static __always_inline void begin(struct fallback *fallback)
{
	if (!fallback->begun)
		count_host(FLOWS);
	__builtin_memset(fallback, 0, sizeof(*fallback));
	fallback->begun = 1;
}

static __always_inline void end(struct fallback *fallback)
{
	if (fallback->begun)
		count_host(ENDED);
	fallback->begun = 0;
}

static __always_inline struct tcp_sock *tcp_of(struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

static __always_inline u32 srtt_of(const struct tcp_sock *tp)
{
	return tp->srtt_us >> 3;
}

static __always_inline void start_window(struct sock *sk)
{
	struct tcp_sock *tp = tcp_of(sk);
	u32 zero = 0;
	struct config *configured = bpf_map_lookup_elem(&config, &zero);

	if (configured && configured->initial_window)
		tp->snd_cwnd = min64(configured->initial_window, MAX_CWND);
	if (sk->sk_pacing_status == 0)
		sk->sk_pacing_status = SK_PACING_NEEDED;
}

/* Does the sender use its window? One that does not shall not open it on and on. Paced packets
 * follow a window that grows by a factor per RTT as late as that: of one that has data, and leave
 * of its receiver to send more than its window, 16 (MLCP's is 14). */
static __always_inline int uses_window(const struct tcp_sock *tp)
{
	int held = tp->app_limited || (u64)tp->snd_cwnd * tp->mss_cache >= tp->snd_wnd;

	return tp->snd_cwnd < (held ? 2U : 16U) * tp->max_packets_out;
}

/* Does the kernel repair a loss, or answer ECN, for which the window has been cut? */
static __always_inline int in_recovery(const struct tcp_sock *tp)
{
	u32 state = BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_state);

	return state == TCP_CA_CWR || state == TCP_CA_RECOVERY;
}

/* The window that the kernel holds: the protocol's, rounded down. The kernel spaces it by
 * tcp_pacing_ca_ratio, and by tcp_pacing_ss_ratio below half of ssthresh, which no explicit
 * protocol starts slowly up to. */
static __always_inline void give_window(struct tcp_sock *tp, u64 cwnd)
{
	u32 whole = sane_cwnd(cwnd) >> 32;

	tp->snd_cwnd = whole < tp->snd_cwnd_clamp ? whole : tp->snd_cwnd_clamp;
	if (tp->snd_ssthresh >= TCP_INFINITE_SSTHRESH)
		tp->snd_ssthresh = 2;
}

/* What the kernel did to the window meanwhile (recovery, timeout, idling) holds for the
 * protocol. */
static __always_inline u64 take_window(const struct tcp_sock *tp, u64 cwnd)
{
	return cwnd >> 32 == tp->snd_cwnd ? cwnd : (u64)tp->snd_cwnd << 32;
}

static __always_inline u32 half_of(const struct tcp_sock *tp)
{
	u32 half = tp->snd_cwnd >> 1;

	return half > 2 ? half : 2;
}

/* Reno's answer to a loss or ECN where the kernel leaves the window to cong_control: there it sets
 * ssthresh only. It asks for that once per recovery, and has noted the window to go back to
 * before. */
static __always_inline u32 cut_in_half(struct tcp_sock *tp)
{
	u32 half = half_of(tp);

	if (tp->snd_cwnd > half)
		tp->snd_cwnd = half;
	return half;
}

/* How long a sender waits for a signal before it does without [us]. */
static __always_inline u64 patience_of(const struct tcp_sock *tp)
{
	u32 zero = 0;
	struct config *configured = bpf_map_lookup_elem(&config, &zero);
	u32 rtts = configured && configured->fallback_rtts ? configured->fallback_rtts : 8;

	return (u64)rtts * max64(srtt_of(tp), 1000);
}

/* A sender with nothing under way waits for no signal. */
static __always_inline void leave_out_idle_time(const struct tcp_sock *tp,
						struct fallback *fallback)
{
	u64 since = tp->tcp_mstamp - fallback->acked_us, rtt = srtt_of(tp);

	if (fallback->idle && fallback->heard_us && since > rtt)
		fallback->heard_us += since - rtt;
	fallback->idle = !tp->packets_out;
	fallback->acked_us = tp->tcp_mstamp;
}

/* True when the protocol has been without feedback for too long, or is switched off, and Reno moves
 * the window. */
static __always_inline int falls_back(struct tcp_sock *tp, struct fallback *fallback, int heard)
{
	int now = is_off();

	leave_out_idle_time(tp, fallback);
	if (!now && (heard || fallback->heard_us == 0)) {
		fallback->heard_us = tp->tcp_mstamp;
		fallback->ever |= heard;
		if (fallback->reno && !fallback->blind)
			count_host(RETURNS);
		fallback->reno = 0;
		return 0;
	}
	if (!fallback->reno &&
	    (now || tp->tcp_mstamp - fallback->heard_us > patience_of(tp))) {
		if (!fallback->blind)
			count_host(FALLBACKS);
		fallback->reno = 1;
		fallback->credit = 0;
		if (fallback->ever)
			tp->snd_ssthresh = tp->snd_cwnd > 2 ? tp->snd_cwnd : 2;
#ifdef DECOUPLED
		/* The loss was one that cut nothing. */
		if (in_recovery(tp))
			tp->snd_ssthresh = cut_in_half(tp);
#endif
	}
	return fallback->reno;
}

/* A loss while codes say that the path is nearly idle: the queue that lost it is none of the
 * protocol's routers', so it is answered as Reno, and Reno has the window until a code above the
 * lowest comes back. That code shows that a router at the bottleneck marks (again). Decoupled hosts
 * are for paths that lose packets at random, so losses say nothing there. */
static __always_inline void lost(struct fallback *fallback, int nearly_idle)
{
#ifndef DECOUPLED
	/* While it is Reno without codes, or switched off, the last one is old. */
	if (nearly_idle && !fallback->blind && !fallback->reno && !is_off()) {
		count_host(FALLBACKS);
		fallback->blind = 1;
		fallback->credit = 0;
	}
#endif
}

/* Has Reno the window, after feedback that says `nearly_idle`, or not, or none? */
static __always_inline int is_blind(struct fallback *fallback, int heard, int nearly_idle)
{
	if (heard && !nearly_idle) {
		if (fallback->blind)
			count_host(RETURNS);
		fallback->blind = 0;
	}
	return fallback->blind;
}

/* RFC 5681, 3.1. The kernel does not ask cong_avoid in recovery, but does ask cong_control. */
static __always_inline void reno(struct tcp_sock *tp, struct fallback *fallback, u32 acked)
{
	u32 cwnd = tp->snd_cwnd, clamp = tp->snd_cwnd_clamp;

	if (cwnd >= 2 * tp->max_packets_out || in_recovery(tp))
		return;
	if (cwnd < tp->snd_ssthresh) {
		cwnd += acked;
	} else {
		fallback->credit += acked;
		if (fallback->credit >= cwnd) {
			fallback->credit = 0;
			cwnd++;
		}
	}
	cwnd = min64(cwnd, MAX_CWND);
	tp->snd_cwnd = cwnd < clamp ? cwnd : clamp;
}

static __always_inline u32 reno_ssthresh(struct sock *sk)
{
	return half_of(tcp_of(sk));
}

static __always_inline u32 reno_undo_cwnd(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_of(sk);

	return tp->snd_cwnd > tp->prior_cwnd ? tp->snd_cwnd : tp->prior_cwnd;
}

/* A loss that cuts nothing, unless Reno has the window. */
static __always_inline u32 own_ssthresh(struct sock *sk, int reno)
{
	u32 cwnd = tcp_of(sk)->snd_cwnd;

	if (reno)
		return cut_in_half(tcp_of(sk));
	return cwnd > 2 ? cwnd : 2;
}

/* Packets that came since the last call, those that were acknowledged selectively inside. */
static __always_inline u32 newly_delivered(const struct tcp_sock *tp, u32 *before)
{
	u32 acked = tp->delivered - *before;

	*before = tp->delivered;
	return acked;
}

static __always_inline u32 pacing_ratio(const struct sock *sk)
{
	return sk->__sk_common.skc_net.net->ipv4.sysctl_tcp_pacing_ca_ratio;
}

/* What the kernel does for congestion controls that leave recovery to it: tcp_pacing_ca_ratio per
 * cent of a window per RTT, without spacing at 0; and no more than SO_MAX_PACING_RATE. */
static __always_inline void pace(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_of(sk);
	u64 ratio = pacing_ratio(sk);
	u64 most = sk->sk_max_pacing_rate;

	if (!tp->srtt_us)
		return;
	/* srtt_us is eight times the RTT. */
	sk->sk_pacing_rate =
		ratio ? min64((u64)tp->snd_cwnd * tp->mss_cache * 80000 * ratio / tp->srtt_us, most) : most;
}

#endif
