/* VCP's end hosts: the congestion control `vcp`, and what its packets carry.
 *
 * Data leaves with 01 in the IP header's two ECN bits, which routers raise. The receiver returns
 * the highest code since its last ACK in TCP's CWR and ECE (so that data of the other way has its
 * own IP bits), and in the IP bits too where the ACK bears no data, as the paper has it. A
 * connection that has negotiated ECN, because the peer asked for it, is Reno with ECN: the same
 * bits are TCP's there, and routers' highest code is its congestion mark. Packets may be large
 * (GSO): all segments of one carry the same. With DECOUPLED (vcp_decoupled.bpf.c) losses are
 * repaired and cut nothing but at timeouts, or where it is Reno.
 *
 * Deviations: without DECOUPLED a loss at low load makes it Reno until a higher code comes; where
 * routers have said that they measure, a lowest code without that brings nothing (packet.h). */
#include "host.h"
#include "packet.h"
#include "vcp_math.h"

struct flow {
	struct vcp_state vcp;
	struct fallback fallback;
	u32 code; /* the sender's: the highest that came back since the last ACK was processed */
	u32 echo; /* the receiver's: the highest since its last ACK */
	u32 delivered;
	u8 last; /* the code processed last */
	u8 sends; /* its socket runs `vcp`, and the ECN bits are ours */
	u8 measured; /* the receiver's: do routers say that they measure? */
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct flow);
} flows SEC(".maps");

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
	if (!flow || !parse(skb, ip, &segment) || (segment.flags & (TCP_SYN | TCP_RST)))
		return TC_ACT_UNSPEC;
	if (segment.payload && flow->sends)
		set_ecn(skb, &segment, VCP_LOW);
	if (flow->echo && (segment.flags & TCP_ACK)) {
		if (!segment.payload)
			set_ecn(skb, &segment, flow->echo);
		set_echo(skb, &segment, flow->echo);
		flow->echo = VCP_NONE;
	}
	return TC_ACT_UNSPEC;
}

static __always_inline int arrive(struct __sk_buff *skb, u32 ip)
{
	struct segment segment;
	struct bpf_sock *sk;
	struct flow *flow;
	u32 code, echo;

	if (is_off() || !parse(skb, ip, &segment) || (segment.flags & (TCP_SYN | TCP_RST)))
		return TC_ACT_UNSPEC;
	code = segment.payload ? segment.tos & 3 : VCP_NONE;
	echo = echo_of(&segment);
	if (!code && !echo)
		return TC_ACT_UNSPEC;
	sk = receiving_socket(skb, &segment);
	if (!sk)
		return TC_ACT_UNSPEC;
	if (negotiated_ecn(sk)) {
		bpf_sk_release(sk);
		return TC_ACT_UNSPEC;
	}
	flow = bpf_sk_storage_get(&flows, sk, NULL, code ? BPF_SK_STORAGE_GET_F_CREATE : 0);
	if (flow) {
		if (code && tells_load(&flow->measured, &segment, code == VCP_LOW) && code > flow->echo)
			flow->echo = code;
		if (echo > flow->code)
			flow->code = echo;
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
	__builtin_memset(&flow->vcp, 0, sizeof(flow->vcp));
	begin(&flow->fallback);
	flow->code = VCP_NONE;
	flow->last = VCP_NONE;
	flow->delivered = tcp_of(sk)->delivered;
	flow->sends = !ecn_is_tcps(tcp_of(sk));
}

static __always_inline void act(struct tcp_sock *tp, struct flow *flow, u32 acked)
{
	u32 code;

	if (!flow->sends) {
		reno(tp, &flow->fallback, acked);
		return;
	}
	code = flow->code;
	flow->code = VCP_NONE;
	if (code)
		flow->last = code;
	if (falls_back(tp, &flow->fallback, code != VCP_NONE) ||
	    is_blind(&flow->fallback, code != VCP_NONE, code == VCP_LOW)) {
		reno(tp, &flow->fallback, acked);
		return;
	}
	flow->vcp.cwnd = sane_cwnd(take_window(tp, flow->vcp.cwnd));
	vcp_on_ack(&flow->vcp, tp->tcp_mstamp, srtt_of(tp), code, acked, uses_window(tp));
	give_window(tp, flow->vcp.cwnd);
}

SEC("struct_ops/ssthresh")
u32 BPF_PROG(cc_ssthresh, struct sock *sk)
{
	struct flow *flow = bpf_sk_storage_get(&flows, sk, NULL, 0);

#ifdef DECOUPLED
	return own_ssthresh(sk, !flow || !flow->sends || flow->fallback.reno);
#else
	if (flow)
		lost(&flow->fallback, flow->last == VCP_LOW);
	return reno_ssthresh(sk);
#endif
}

#define CC_NAME "vcp"
#include "hooks.h"
