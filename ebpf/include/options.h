/* A protocol's header in an experimental TCP option (kind 253, ExID: RFC 6994), as sock_ops writes
 * it and TC reads it. The file that includes this defines before:
 * - EXID and HEADER_BYTES, a multiple of four;
 * - struct flow with `sends`, `writes`, `pending` and `distrust`, and the map `flows`;
 * - forward(), echo(): put HEADER_BYTES for a data segment or an ACK;
 * - take_data(), take_echo(): read them; is_near(): is the RTT in an echo within 16 times the
 *   sender's now?
 *
 * sock_ops sees a received option only where TCP does not merge segments, so both ends read at
 * TC. */
#ifndef CLEARPIPE_OPTIONS_H
#define CLEARPIPE_OPTIONS_H

#include "packet.h"
#include "switch.h"

#define KIND_EXPERIMENT 253
#ifndef OPTION_BYTES
#define OPTION_BYTES (4 + HEADER_BYTES)
#endif
#define BPF_WRITE_HDR_CURRENT_MSS 1

enum { WRITES_NOTHING = 0, WRITES_FORWARD = 1, WRITES_ECHO = 2 };

struct option {
	u8 kind, length;
	u16 exid;
	u8 header[HEADER_BYTES];
} __attribute__((packed));

/* Reads the header of a segment; false without one. */
static __always_inline int find_option(struct __sk_buff *skb, const struct segment *segment,
				       u8 header[HEADER_BYTES])
{
	u32 at = segment->tcp + 20, end = segment->tcp + segment->tcp_len;
	struct option option;
	u8 next[2];

	/* NOP NOP timestamps, NOP NOP SACK, and another three. */
	for (int i = 0; i < 10; i++) {
		if (at + 2 > end || bpf_skb_load_bytes(skb, at, next, 2))
			return 0;
		if (next[0] == 0)
			return 0;
		if (next[0] == 1) {
			at++;
			continue;
		}
		if (next[0] == KIND_EXPERIMENT && next[1] == OPTION_BYTES && at + OPTION_BYTES <= end) {
			if (bpf_skb_load_bytes(skb, at, &option, sizeof(option)))
				return 0;
			if (option.exid == bpf_htons(EXID)) {
				__builtin_memcpy(header, option.header, HEADER_BYTES);
				return 1;
			}
		}
		if (next[1] < 2)
			return 0;
		at += next[1];
	}
	return 0;
}

/* Echoes that are not believed after one that cannot be right. */
#define DISTRUST 16

/* An echo returns the RTT that this sender wrote one RTT ago. One that is far from the RTT now is
 * taken for garbage, and what seems right among it may be so, too. Where the path's RTT has jumped
 * by more than that factor, echoes are the sender's own and disbelieved none the less, until 16 in
 * a row are near again. Without echoes that it believes a sender is Reno. */
static __always_inline int believes(struct flow *flow, struct bpf_sock *sk, const u8 *header)
{
	const struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);

	if (!tp)
		return 0;
	if (!is_near(header, srtt_of(tp)))
		flow->distrust = DISTRUST;
	else if (flow->distrust)
		flow->distrust--;
	return !flow->distrust;
}

static __always_inline int arrive(struct __sk_buff *skb, u32 ip)
{
	u8 header[HEADER_BYTES];
	struct segment segment;
	struct bpf_sock *sk;
	struct flow *flow;

	if (is_off() || !parse(skb, ip, &segment) || (segment.flags & (TCP_SYN | TCP_RST)) ||
	    !find_option(skb, &segment, header))
		return TC_ACT_UNSPEC;
	sk = receiving_socket(skb, &segment);
	if (!sk)
		return TC_ACT_UNSPEC;
	flow = bpf_sk_storage_get(&flows, sk, NULL,
				  segment.payload ? BPF_SK_STORAGE_GET_F_CREATE : 0);
	if (flow && segment.payload)
		take_data(flow, &segment, header);
	else if (flow && flow->sends && believes(flow, sk, header))
		take_echo(flow, header);
	bpf_sk_release(sk);
	return TC_ACT_UNSPEC;
}

SEC("tc")
int ingress_ether(struct __sk_buff *skb)
{
	return arrive(skb, 14);
}

SEC("tc")
int ingress_raw(struct __sk_buff *skb)
{
	return arrive(skb, 0);
}

/* How much room the next segment needs. */
static __always_inline void reserve(struct bpf_sock_ops *ops, struct flow *flow)
{
	/* Without a segment TCP asks how large data may be. */
	if (ops->args[0] == BPF_WRITE_HDR_CURRENT_MSS) {
		if (flow->sends)
			bpf_reserve_hdr_opt(ops, OPTION_BYTES, 0);
		return;
	}
	flow->writes = WRITES_NOTHING;
	if ((ops->skb_tcp_flags & (TCP_SYN | TCP_RST)) || is_off())
		return;
	if (ops->skb_len) {
		if (flow->sends && !bpf_reserve_hdr_opt(ops, OPTION_BYTES, 0))
			flow->writes = WRITES_FORWARD;
	} else if (flow->pending && !bpf_reserve_hdr_opt(ops, OPTION_BYTES, 0)) {
		/* Where SACK blocks take the room, it waits for the next ACK. */
		flow->writes = WRITES_ECHO;
	}
}

SEC("sockops")
int options(struct bpf_sock_ops *ops)
{
	struct option option = { .kind = KIND_EXPERIMENT, .length = OPTION_BYTES };
	struct bpf_sock *sk;
	struct flow *flow;

	switch (ops->op) {
	case BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB:
	case BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB:
		bpf_sock_ops_cb_flags_set(ops, ops->bpf_sock_ops_cb_flags |
						       BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG);
		return 1;
	case BPF_SOCK_OPS_HDR_OPT_LEN_CB:
	case BPF_SOCK_OPS_WRITE_HDR_OPT_CB:
		break;
	default:
		return 1;
	}
	sk = ops->sk;
	if (!sk)
		return 1;
	flow = bpf_sk_storage_get(&flows, sk, NULL, 0);
	if (!flow)
		return 1;
	if (ops->op == BPF_SOCK_OPS_HDR_OPT_LEN_CB) {
		reserve(ops, flow);
		return 1;
	}
	option.exid = bpf_htons(EXID);
	if (flow->writes == WRITES_FORWARD)
		forward(ops, flow, option.header);
	else if (flow->writes == WRITES_ECHO)
		echo(flow, option.header);
	else
		return 1;
	bpf_store_hdr_opt(ops, &option, sizeof(option), 0);
	return 1;
}

#endif
