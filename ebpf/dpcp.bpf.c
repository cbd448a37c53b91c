/* DPCP's end hosts: the congestion control `dpcp`, and what its packets carry.
 *
 * As VCP, and the order of TCP's two numbers says which of a pair a packet is: the sender switches
 * them where it must, the receiver switches them back before TCP sees them, and answers in the same
 * order. A switch leaves the TCP checksum as it is. Both ends need these programs, so a sender
 * switches nothing before it has heard a code, and a receiver nothing before it has switched
 * something back. Deviations from the paper and from the simulator:
 * - A tie (equal numbers) is sent as it is, and so is an LSP.
 * - An ACK that answers both of a pair returns the one that the last ACK did not. With one ACK per
 *   packet (`quickack 1` on the receiver's route) every packet gets its own, as in the paper.
 * - Codes come back in ACKs without data only: data's order is its own.
 * - Stateful firewalls drop switched packets. Few are sent before one has come through, three times
 *   at most, and then none; meanwhile it is VCP. What is sent again is not among them. If none
 *   comes through any more for as long as makes a sender Reno, it begins anew.
 * - A loss at low load makes it Reno until a higher zone comes.
 * - A lowest code counts as in vcp.bpf.c.
 * With DECOUPLED (dpcp_decoupled.bpf.c) losses are repaired and cut nothing, not even at timeouts,
 * but where it is Reno. */
#include "host.h"
#include "packet.h"
#include "dpcp_math.h"

#define EVENTS 16
/* Packets switched to see whether they come through, and how often. */
#define PROBES 4
#define ROUNDS 3
/* ACKs switched for one switched packet of the peer's; every second packet is. */
#define ANSWERS 16

struct flow {
	struct dpcp_state dpcp;
	struct fallback fallback;
	/* What came back and is not processed yet: part << 2 | code. The ingress program writes `head`,
	 * the congestion control `tail`. */
	u32 head, tail;
	u8 events[EVENTS];
	/* The sender's. */
	u8 sends, turn, proven;
	u8 passes; /* have switched packets come through? */
	u8 probes, rounds; /* if not: how many may still leave, and how often so many did */
	u32 probe_end; /* the number behind the last of them */
	u32 sent_end; /* the number behind all data so far */
	u8 tried, came; /* was something switched, and did a switched ACK come, since ... */
	u64 came_us; /* ... this time? */
	u32 ordered_from; /* the first number of data in an order of its own */
	u32 delivered;
	u8 zone; /* the MSP's code that came back last */
	/* The receiver's: codes not answered yet, the part answered last, and how many ACKs it may switch
	 * until the peer has switched something again. */
	u8 echo[2], answered, switches;
	u8 measured; /* do routers say that they measure? */
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct flow);
} flows SEC(".maps");

/* What happened so far on all flows; the order is that of `clearpipe-bpf status`. */
enum { SWITCHED, UNDONE, EXCEPTIONS, DOWNGRADES, COUNTERS };

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, COUNTERS);
	__type(key, u32);
	__type(value, u64);
} counters SEC(".maps");

static __always_inline void count(u32 counter, u64 more)
{
	u64 *value = bpf_map_lookup_elem(&counters, &counter);

	if (value && more)
		__sync_fetch_and_add(value, more);
}

static __always_inline void switch_numbers(struct __sk_buff *skb, const struct segment *segment)
{
	u32 numbers[2] = { bpf_htonl(segment->ack), bpf_htonl(segment->seq) };

	bpf_skb_store_bytes(skb, segment->tcp + 4, numbers, sizeof(numbers), 0);
}

/* True when the numbers were switched for it. */
static __always_inline int order(struct __sk_buff *skb, const struct segment *segment, u32 part)
{
	if (dpcp_part(segment->seq, segment->ack) == part || segment->seq == segment->ack)
		return 0;
	switch_numbers(skb, segment);
	count(SWITCHED, 1);
	return 1;
}

static __always_inline void leave_data(struct __sk_buff *skb, struct segment *segment,
				       struct flow *flow)
{
	u32 mode = flow->dpcp.mode, part = DPCP_MSP;
	u32 again = flow->sent_end - segment->seq - 1 < 1U << 31;

	set_ecn(skb, segment, VCP_LOW);
	if (!again)
		flow->sent_end = segment->seq + segment->payload;
	if (!flow->proven || (segment->flags & TCP_FIN) ||
	    (!flow->passes && (again || !flow->probes)))
		return;
	if (mode == DPCP_PAIRS || mode == DPCP_RESUMING) {
		part = flow->turn ? DPCP_LSP : DPCP_MSP;
		/* The peer switches ACKs when it has undone a switch, and must for a packet that is as it
		 * was: so the first that tries the path is switched, the second is not. */
		if (!flow->passes)
			part = dpcp_part(segment->seq, segment->ack) ^ !flow->turn;
		flow->turn = !flow->turn;
	} else {
		flow->turn = 0;
	}
	if (!order(skb, segment, part))
		return;
	flow->tried = 1;
	if (!flow->passes) {
		flow->probes--;
		flow->probe_end = segment->seq + segment->payload;
	}
}

static __always_inline void leave_ack(struct __sk_buff *skb, struct segment *segment,
				      struct flow *flow)
{
	u32 part, code;

	if (flow->echo[DPCP_MSP] && flow->echo[DPCP_LSP])
		part = flow->answered == DPCP_MSP ? DPCP_LSP : DPCP_MSP;
	else
		part = flow->echo[DPCP_MSP] ? DPCP_MSP : DPCP_LSP;
	code = flow->echo[part & 1];
	if (!code)
		return;
	flow->echo[DPCP_MSP] = 0;
	flow->echo[DPCP_LSP] = 0;
	flow->answered = part;
	set_ecn(skb, segment, code);
	set_echo(skb, segment, code);
	if (flow->switches && !(segment->flags & TCP_FIN) && order(skb, segment, part))
		flow->switches--;
}

static __always_inline int leave(struct __sk_buff *skb, u32 ip)
{
	struct segment segment;
	struct bpf_sock *sk = skb->sk;
	struct flow *flow;

	if (!sk || is_off())
		return TC_ACT_UNSPEC;
	sk = bpf_sk_fullsock(sk);
	if (!sk)
		return TC_ACT_UNSPEC;
	flow = bpf_sk_storage_get(&flows, sk, NULL, 0);
	if (!flow || !parse(skb, ip, &segment) || (segment.flags & (TCP_SYN | TCP_RST)) ||
	    !(segment.flags & TCP_ACK))
		return TC_ACT_UNSPEC;
	if (segment.payload) {
		if (flow->sends && !flow->fallback.reno)
			leave_data(skb, &segment, flow);
		else if (flow->sends)
			set_ecn(skb, &segment, VCP_LOW);
	} else {
		leave_ack(skb, &segment, flow);
	}
	return TC_ACT_UNSPEC;
}

/* True when the numbers of the segment that TCP will see are not those of the wire. */
static __always_inline int undo(struct __sk_buff *skb, const struct segment *segment,
				struct bpf_sock *sk)
{
	const struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
	u32 una, behind;

	if (!tp || segment->seq == segment->ack || (segment->flags & TCP_FIN))
		return 0;
	una = tp->snd_una;
	/* An old ACK may name what is acknowledged already. */
	behind = min64(tp->bytes_acked, 1U << 30);
	if (!dpcp_switched(segment->seq, segment->ack, una - behind, tp->snd_nxt, tp->rcv_nxt))
		return 0;
	switch_numbers(skb, segment);
	return 1;
}

static __always_inline u32 sent_up_to(struct bpf_sock *sk)
{
	const struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);

	return tp ? tp->snd_nxt : 0;
}

static __always_inline int arrive(struct __sk_buff *skb, u32 ip)
{
	struct segment segment;
	struct bpf_sock *sk;
	struct flow *flow;
	u32 code, echo, part, head, acked;
	int undone;

	if (!parse(skb, ip, &segment) || (segment.flags & (TCP_SYN | TCP_RST)) ||
	    !(segment.flags & TCP_ACK))
		return TC_ACT_UNSPEC;
	code = segment.payload ? segment.tos & 3 : VCP_NONE;
	echo = segment.payload ? VCP_NONE : echo_of(&segment);
	sk = receiving_socket(skb, &segment);
	if (!sk)
		return TC_ACT_UNSPEC;
	if (negotiated_ecn(sk)) {
		bpf_sk_release(sk);
		return TC_ACT_UNSPEC;
	}
	/* A segment whose code was wiped out on the way may be switched none the less. */
	flow = bpf_sk_storage_get(&flows, sk, NULL, code ? BPF_SK_STORAGE_GET_F_CREATE : 0);
	if (!flow || (!code && !echo && !flow->switches && !flow->proven)) {
		bpf_sk_release(sk);
		return TC_ACT_UNSPEC;
	}
	undone = undo(skb, &segment, sk);
	count(UNDONE, undone);
	part = dpcp_part(segment.seq, segment.ack);
	if (code) {
		if (undone)
			flow->switches = ANSWERS;
		if (tells_load(&flow->measured, &segment, code == VCP_LOW) && code > flow->echo[part & 1])
			flow->echo[part & 1] = code;
	} else if (echo && flow->sends) {
		acked = undone ? segment.seq : segment.ack;
		if (!flow->proven)
			flow->probes = PROBES;
		flow->proven = 1;
		flow->came |= undone;
		if (undone && !flow->passes) {
			flow->passes = 1;
			flow->ordered_from = sent_up_to(sk);
			/* The first LSP to come back begins the pairs. */
			flow->turn = 1;
		}
		if (!flow->passes && !flow->probes && flow->rounds < ROUNDS &&
		    acked - flow->probe_end < 1U << 31) {
			flow->probes = PROBES;
			flow->rounds++;
		}
		/* The order of what left before says nothing. */
		if (!flow->passes || acked - flow->ordered_from - 1 >= 1U << 31)
			part = DPCP_MSP;
		if (part == DPCP_MSP)
			flow->zone = echo;
		head = flow->head;
		if (head - flow->tail < EVENTS) {
			flow->events[head % EVENTS] = part << 2 | echo;
			flow->head = head + 1;
		}
	}
	bpf_sk_release(sk);
	return TC_ACT_UNSPEC;
}

#include "directions.h"

SEC("struct_ops/init")
void BPF_PROG(cc_init, struct sock *sk)
{
	struct flow *flow = bpf_sk_storage_get(&flows, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);

	start_window(sk);
	if (!flow)
		return;
	dpcp_start(&flow->dpcp);
	/* VCP until the first LSP comes back. */
	flow->dpcp.mode = DPCP_RESUMING;
	begin(&flow->fallback);
	flow->tail = flow->head;
	flow->zone = VCP_NONE;
	flow->delivered = tcp_of(sk)->delivered;
	flow->turn = 0;
	flow->proven = 0;
	flow->passes = 0;
	flow->rounds = 0;
	flow->sent_end = tcp_of(sk)->snd_nxt;
	/* Else Reno, as in vcp.bpf.c. */
	flow->sends = !ecn_is_tcps(tcp_of(sk));
}

struct ack {
	struct flow *flow;
	u64 now_us;
	u32 srtt_us, acked;
	int grow;
};

/* One event. A loop of the kernel's, as the verifier looks at its body once. */
static long process(u32 i, struct ack *ack)
{
	struct flow *flow = ack->flow;
	u32 event, share;

	if (flow->head == flow->tail)
		return 1;
	event = flow->events[flow->tail % EVENTS];
	flow->tail++;
	/* One packet each; the last has those that no code came for. */
	share = flow->head == flow->tail ? ack->acked : ack->acked ? 1 : 0;
	ack->acked -= share;
	dpcp_on_ack(&flow->dpcp, ack->now_us, ack->srtt_us, event >> 2 & 1, event & 3, share,
		    ack->grow);
	return 0;
}

/* The window before this ACK: the kernel's, unless losses are to cut nothing. */
static __always_inline u64 window_of(const struct tcp_sock *tp, const struct flow *flow)
{
	u64 own = flow->dpcp.vcp.cwnd;

#ifdef DECOUPLED
	if (own)
		return own;
#endif
	return take_window(tp, own);
}

/* Do switched packets still come through? A new path may have a firewall. */
static __always_inline void look_for_switched(const struct tcp_sock *tp, struct flow *flow)
{
	if (!flow->passes || flow->came || !flow->tried) {
		flow->came_us = tp->tcp_mstamp;
		flow->came = 0;
		flow->tried = 0;
	} else if (tp->tcp_mstamp - flow->came_us > patience_of(tp)) {
		flow->passes = 0;
		flow->probes = 0;
		flow->rounds = 0;
		flow->probe_end = tp->snd_nxt;
	}
}

static __always_inline void act(struct tcp_sock *tp, struct flow *flow, u32 acked)
{
	struct ack now = { .now_us = tp->tcp_mstamp, .srtt_us = srtt_of(tp), .acked = acked };
	u32 events, exceptions, downgrades;

	if (!flow->sends) {
		reno(tp, &flow->fallback, acked);
		return;
	}
	look_for_switched(tp, flow);
	now.flow = flow;
	now.grow = uses_window(tp);
	exceptions = flow->dpcp.exceptions;
	downgrades = flow->dpcp.downgrades;
	events = flow->head - flow->tail;
	if (falls_back(tp, &flow->fallback, events != 0) ||
	    is_blind(&flow->fallback, events != 0, flow->zone <= VCP_LOW)) {
		reno(tp, &flow->fallback, acked);
		/* When codes come again they find Reno's window, and those of before are old. */
		flow->tail = flow->head;
		flow->dpcp.vcp.cwnd = 0;
		flow->dpcp.remembered = 0;
		return;
	}
	flow->dpcp.vcp.cwnd = sane_cwnd(window_of(tp, flow));
	if (events)
		bpf_loop(EVENTS, process, &now, 0);
	else
		dpcp_on_ack(&flow->dpcp, now.now_us, now.srtt_us, DPCP_MSP, VCP_NONE, acked, now.grow);
	count(EXCEPTIONS, flow->dpcp.exceptions - exceptions);
	count(DOWNGRADES, flow->dpcp.downgrades - downgrades);
	give_window(tp, flow->dpcp.vcp.cwnd);
}

SEC("struct_ops/ssthresh")
u32 BPF_PROG(cc_ssthresh, struct sock *sk)
{
	struct flow *flow = bpf_sk_storage_get(&flows, sk, NULL, 0);

	/* A loss between an MSP and its LSP ends the pair. */
	if (flow) {
		flow->dpcp.remembered = 0;
		lost(&flow->fallback, flow->zone == VCP_LOW);
	}
#ifdef DECOUPLED
	return own_ssthresh(sk, !flow || !flow->sends || flow->fallback.reno);
#else
	return reno_ssthresh(sk);
#endif
}

#define CC_NAME "dpcp"
#include "hooks.h"
