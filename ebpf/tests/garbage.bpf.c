/* What a broken middlebox does to the packets of these protocols: for tests only, at the egress of
 * a device (clsact, which comes after the protocols' own programs). One section each:
 * - bits: random bits where codes are: ECN on data, ECN and CWR/ECE on ACKs.
 * - option: random bytes in the experimental option.
 * - firewall: drops segments whose sequence number is far from the flow's, as stateful ones do.
 * - strip: NOPs in place of the option, 00 in place of the codes.
 * - bleach: 00 in place of IP's codes only. */
#include "../include/packet.h"

/* -DETHER: the device has Ethernet headers. */
#ifdef ETHER
#define IP 14
#else
#define IP 0
#endif

#define TC_ACT_SHOT 2

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} touched SEC(".maps");

static __always_inline void count(void)
{
	u32 zero = 0;
	u64 *value = bpf_map_lookup_elem(&touched, &zero);

	if (value)
		__sync_fetch_and_add(value, 1);
}

/* The offset of the option and its length; false without one. */
static __always_inline int find(struct __sk_buff *skb, const struct segment *segment, u32 *at,
				u32 *length)
{
	u32 end = segment->tcp + segment->tcp_len;
	u8 next[2];

	*at = segment->tcp + 20;
	for (int i = 0; i < 10; i++) {
		if (*at + 2 > end || bpf_skb_load_bytes(skb, *at, next, 2) || next[0] == 0)
			return 0;
		if (next[0] == 253) {
			*length = next[1];
			return *length >= 8 && *length <= 28 && *at + *length <= end;
		}
		if (next[0] != 1 && next[1] < 2)
			return 0;
		*at += next[0] == 1 ? 1 : next[1];
	}
	return 0;
}

/* All options of these protocols lie at multiples of four. */
static __always_inline void put(struct __sk_buff *skb, const struct segment *segment, u32 at,
				u32 word)
{
	u32 was;

	if (bpf_skb_load_bytes(skb, at, &was, 4))
		return;
	bpf_l4_csum_replace(skb, segment->tcp + 16, was, word, 4);
	bpf_skb_store_bytes(skb, at, &word, 4, 0);
}

static __always_inline int is_ours(struct __sk_buff *skb, struct segment *segment)
{
	return parse(skb, IP, segment) && !(segment->flags & (TCP_SYN | TCP_RST));
}

SEC("bits")
int random_bits(struct __sk_buff *skb)
{
	struct segment segment;
	u32 random = bpf_get_prandom_u32();

	if (!is_ours(skb, &segment))
		return TC_ACT_UNSPEC;
	set_ecn(skb, &segment, random & 3);
	if (!segment.payload)
		set_echo(skb, &segment, random >> 2 & 3);
	count();
	return TC_ACT_UNSPEC;
}

SEC("option")
int random_option(struct __sk_buff *skb)
{
	struct segment segment;
	u32 at, length;

	if (!is_ours(skb, &segment) || !find(skb, &segment, &at, &length))
		return TC_ACT_UNSPEC;
	for (u32 i = 1; i < 7; i++)
		if (4 * i < length)
			put(skb, &segment, at + 4 * i, bpf_get_prandom_u32());
	count();
	return TC_ACT_UNSPEC;
}

struct ends {
	u32 saddr, daddr;
	u16 sport, dport;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, struct ends);
	__type(value, u32);
} expected SEC(".maps");

SEC("firewall")
int drop_switched(struct __sk_buff *skb)
{
	struct segment segment;
	struct ends flow = {};
	u32 *next, end;

	if (!parse(skb, IP, &segment))
		return TC_ACT_UNSPEC;
	flow.saddr = segment.saddr;
	flow.daddr = segment.daddr;
	flow.sport = segment.sport;
	flow.dport = segment.dport;
	end = segment.seq + segment.payload;
	next = bpf_map_lookup_elem(&expected, &flow);
	if (next && !(segment.flags & TCP_SYN) && *next - segment.seq + (1 << 21) > 1 << 22) {
		count();
		return TC_ACT_SHOT;
	}
	bpf_map_update_elem(&expected, &flow, &end, BPF_ANY);
	return TC_ACT_UNSPEC;
}

SEC("strip")
int strip_all(struct __sk_buff *skb)
{
	struct segment segment;
	u32 at, length;

	if (!is_ours(skb, &segment))
		return TC_ACT_UNSPEC;
	set_ecn(skb, &segment, 0);
	set_echo(skb, &segment, 0);
	if (find(skb, &segment, &at, &length))
		for (u32 i = 0; i < 7; i++)
			if (4 * i < length)
				put(skb, &segment, at + 4 * i, 0x01010101);
	count();
	return TC_ACT_UNSPEC;
}

SEC("bleach")
int bleach_codes(struct __sk_buff *skb)
{
	struct segment segment;

	if (!is_ours(skb, &segment))
		return TC_ACT_UNSPEC;
	set_ecn(skb, &segment, 0);
	count();
	return TC_ACT_UNSPEC;
}
