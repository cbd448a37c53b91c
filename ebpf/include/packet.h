/* TCP packets at TC, over IPv4 and IPv6. Only parse(), set_ecn() and receiving_socket() know of the
 * two; what has IPv4 options, IPv6 extension headers, or is a fragment is no segment to them. */
#ifndef CLEARPIPE_PACKET_H
#define CLEARPIPE_PACKET_H

#include "kernel.h"

/* Routers that measure a load say so in data that bears a code, of VCP and DPCP only that which a
 * host writes: they set the last of the three bits that TCP reserves (RFC 9293, section 3.1), in
 * the byte of its data offset. The lowest code alone does not tell such a router from none. */
#define TCP_MEASURED 2

enum { TCP_FIN = 1, TCP_SYN = 2, TCP_RST = 4, TCP_ACK = 16, TCP_ECE = 64, TCP_CWR = 128 };

/* A TCP segment: where its parts are and what the programs ask of it. */
struct segment {
	u32 ip; /* offset of the IP header: 14 with an Ethernet header, 0 without (TUN) */
	u32 tcp; /* offset of the TCP header */
	u32 tcp_len; /* of the TCP header with options */
	u32 payload;
	u32 saddr, daddr; /* network order, as the ports; IPv6: the sums of their words */
	u16 sport, dport;
	u32 seq, ack;
	u8 tos; /* IPv6's traffic class */
	u8 flags;
	u8 v6;
	u8 measured; /* has a router of a load written its code? */
};

struct ipv6 {
	u8 version_class, class_flow;
	u16 flow, length;
	u8 next, hops;
	u32 saddr[4], daddr[4];
};

struct ipv4 {
	u8 version_ihl, tos;
	u16 length, id, fragment;
	u8 ttl, protocol;
	u16 check;
	u32 saddr, daddr;
};

struct tcp {
	u16 sport, dport;
	u32 seq, ack;
	u8 offset, flags;
	u16 window, check, urgent;
};

/* False for what is no whole TCP segment. */
static __always_inline int parse(struct __sk_buff *skb, u32 ip, struct segment *segment)
{
	struct tcp tcp;
	u32 headers, carried;

	if (skb->protocol == bpf_htons(ETH_P_IP)) {
		struct ipv4 ip4;

		if (bpf_skb_load_bytes(skb, ip, &ip4, sizeof(ip4)) || ip4.version_ihl != 0x45 ||
		    ip4.protocol != IPPROTO_TCP || (ip4.fragment & bpf_htons(0x3fff)))
			return 0;
		segment->v6 = 0;
		segment->tcp = ip + sizeof(ip4);
		segment->saddr = ip4.saddr;
		segment->daddr = ip4.daddr;
		segment->tos = ip4.tos;
		carried = bpf_ntohs(ip4.length) - sizeof(ip4);
	} else if (skb->protocol == bpf_htons(ETH_P_IPV6)) {
		struct ipv6 ip6;

		if (bpf_skb_load_bytes(skb, ip, &ip6, sizeof(ip6)) || ip6.version_class >> 4 != 6 ||
		    ip6.next != IPPROTO_TCP)
			return 0;
		segment->v6 = 1;
		segment->tcp = ip + sizeof(ip6);
		segment->saddr = ip6.saddr[0] + ip6.saddr[1] + ip6.saddr[2] + ip6.saddr[3];
		segment->daddr = ip6.daddr[0] + ip6.daddr[1] + ip6.daddr[2] + ip6.daddr[3];
		segment->tos = ip6.version_class << 4 | ip6.class_flow >> 4;
		carried = bpf_ntohs(ip6.length);
	} else {
		return 0;
	}
	if (bpf_skb_load_bytes(skb, segment->tcp, &tcp, sizeof(tcp)))
		return 0;
	segment->ip = ip;
	segment->tcp_len = (tcp.offset >> 4) * 4;
	headers = segment->tcp + segment->tcp_len;
	if (segment->tcp_len < sizeof(tcp) || headers > skb->len)
		return 0;
	/* Short packets may be padded, large ones have no length in the header. */
	segment->payload = skb->len - headers;
	if (skb->len <= 60 + ip) {
		if (carried < segment->tcp_len || carried > skb->len)
			return 0;
		segment->payload = carried - segment->tcp_len;
	}
	segment->sport = tcp.sport;
	segment->dport = tcp.dport;
	segment->seq = bpf_ntohl(tcp.seq);
	segment->ack = bpf_ntohl(tcp.ack);
	segment->flags = tcp.flags;
	segment->measured = (tcp.offset & TCP_MEASURED) != 0;
	return 1;
}

/* A number for a flow's one way. */
static __always_inline u32 flow_of(const struct segment *segment)
{
	u64 mixed = ((u64)segment->saddr << 32 | segment->daddr) ^
		    ((u64)segment->sport << 16 | segment->dport) * 0x9e3779b97f4a7c15ULL;

	/* The middle of a product has all of its factor. */
	return mixed * 0xd6e8feb86659fd93ULL >> 32;
}

/* Writes the two ECN bits. IPv6 has no checksum over them, but the device may have summed up. */
static __always_inline void set_ecn(struct __sk_buff *skb, struct segment *segment, u32 code)
{
	u8 tos = (segment->tos & 0xfc) | (code & 3), byte;

	if (tos == segment->tos)
		return;
	if (segment->v6) {
		/* The lower half of the traffic class, and the first bits of the flow label. */
		if (bpf_skb_load_bytes(skb, segment->ip + 1, &byte, 1))
			return;
		byte = (byte & 0xcf) | (code & 3) << 4;
		bpf_skb_store_bytes(skb, segment->ip + 1, &byte, 1, BPF_F_RECOMPUTE_CSUM);
	} else {
		bpf_l3_csum_replace(skb, segment->ip + 10, bpf_htons(segment->tos), bpf_htons(tos), 2);
		bpf_skb_store_bytes(skb, segment->ip + 1, &tos, 1, 0);
	}
	segment->tos = tos;
}

/* A router of a load has written its code. */
static __always_inline void set_measured(struct __sk_buff *skb, struct segment *segment)
{
	u8 bits;

	if (segment->measured || bpf_skb_load_bytes(skb, segment->tcp + 12, &bits, 1))
		return;
	bits |= TCP_MEASURED;
	bpf_l4_csum_replace(skb, segment->tcp + 16, 0, bpf_htons(TCP_MEASURED << 8), 2);
	bpf_skb_store_bytes(skb, segment->tcp + 12, &bits, 1, 0);
	segment->measured = 1;
}

/* Does a data packet's code tell of a load? Where routers have said that they measure and then do
 * so no more, the lowest code is only what the sender wrote: it is as none, and the sender becomes
 * Reno as without codes. A higher one is of a router in any case, perhaps of one that says nothing.
 * `measured` is what the receiver has heard of its flow. */
static __always_inline int tells_load(u8 *measured, const struct segment *segment, int lowest)
{
	if (segment->measured)
		*measured = 1;
	else if (!lowest)
		*measured = 0;
	return segment->measured || !*measured;
}

/* Where the header begins in the TCP option (kind 253) of a protocol with this ExID; 0 if there is
 * none of this length, or not at an even distance, as checksums want it. */
static __always_inline u32 option_at(struct __sk_buff *skb, const struct segment *segment,
				       u16 exid, u32 header)
{
	u8 bytes[68] = {};
	u32 at = 0, have = segment->tcp_len - sizeof(struct tcp);

	if (!have || have > 40 || bpf_skb_load_bytes(skb, segment->tcp + sizeof(struct tcp), bytes, have))
		return 0;
	for (int i = 0; i < 40 && at + 4 + header <= have; i++) {
		u8 kind = bytes[at & 63], length = bytes[(at & 63) + 1];

		if (kind == 0)
			return 0;
		if (kind == 253 && bytes[(at & 63) + 2] == exid >> 8 &&
		    bytes[(at & 63) + 3] == (exid & 255))
			return length == 4 + header && !(at & 1) ?
				       segment->tcp + sizeof(struct tcp) + at + 4 :
				       0;
		if (kind != 1 && length < 2)
			return 0;
		at += kind == 1 ? 1 : length;
	}
	return 0;
}

/* Writes a code into CWR (the higher bit) and ECE. */
static __always_inline void set_echo(struct __sk_buff *skb, struct segment *segment, u32 code)
{
	u8 flags = (segment->flags & 0x3f) | (code & 3) << 6;
	u16 was, is;

	if (flags == segment->flags)
		return;
	/* The checksum covers the word of data offset and flags; the offset stays. */
	was = bpf_htons(segment->flags);
	is = bpf_htons(flags);
	bpf_l4_csum_replace(skb, segment->tcp + 16, was, is, 2);
	bpf_skb_store_bytes(skb, segment->tcp + 13, &flags, 1, 0);
	segment->flags = flags;
}

static __always_inline u32 echo_of(const struct segment *segment)
{
	return segment->flags >> 6;
}

/* The socket that an arriving segment is for; NULL, or the caller releases it. */
static __always_inline struct bpf_sock *receiving_socket(struct __sk_buff *skb,
							 const struct segment *segment)
{
	struct bpf_sock_tuple tuple = {};
	struct bpf_sock *sk;

	/* Both addresses are the last of the IP header, in the tuple's order. */
	if (segment->v6) {
		if (bpf_skb_load_bytes(skb, segment->ip + 8, &tuple.ipv6, 32))
			return NULL;
		tuple.ipv6.sport = segment->sport;
		tuple.ipv6.dport = segment->dport;
		sk = bpf_sk_lookup_tcp(skb, &tuple, sizeof(tuple.ipv6), BPF_F_CURRENT_NETNS, 0);
	} else {
		tuple.ipv4.saddr = segment->saddr;
		tuple.ipv4.daddr = segment->daddr;
		tuple.ipv4.sport = segment->sport;
		tuple.ipv4.dport = segment->dport;
		sk = bpf_sk_lookup_tcp(skb, &tuple, sizeof(tuple.ipv4), BPF_F_CURRENT_NETNS, 0);
	}
	if (sk && sk->state == TCP_LISTEN) {
		bpf_sk_release(sk);
		return NULL;
	}
	return sk;
}

/* Do TCP's own ends use the ECN bits? Then they are not ours to use. */
static __always_inline int ecn_is_tcps(const struct tcp_sock *tp)
{
	return (tp->ecn_flags & TCP_ECN_MODES) != 0;
}

static __always_inline int negotiated_ecn(struct bpf_sock *sk)
{
	const struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);

	return !tp || ecn_is_tcps(tp);
}

#endif
