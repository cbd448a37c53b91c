/* XCP's and iXCP's end hosts in integers: crates/cc/src/explicit/xcp/xcp.rs and ixcp.rs with their
 * default parameters, and their headers.
 *
 * The window is kept in the wire's units, 2^-16 bytes, so the sum is the protocol's own: no error
 * against those files but H_cwnd's rounding to bytes, which is the wire's, and the limits (MAX_CWND
 * packets; +-2^30 bytes per feedback, and at most the window itself). */
#ifndef CLEARPIPE_XCP_MATH_H
#define CLEARPIPE_XCP_MATH_H

#include "fixed.h"

/* What an unlimited source asks for. Back untouched, no XCP router was on the path. */
#define XCP_LARGEST 0x7fffffffffffffffLL
#define XCP_FEEDBACK_LIMIT (1LL << 46)

/* The headers as crates/cc writes them; numbers are big-endian. */
struct xcp_header {
	u32 rtt; /* us; iXCP's is a single [s] */
	u32 cwnd; /* bytes */
	u64 feedback; /* 2^-16 bytes, signed */
} __attribute__((packed));

struct ixcp_header {
	struct xcp_header xcp;
	u32 bottleneck, next_bottleneck;
} __attribute__((packed));

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define big32(x) __builtin_bswap32(x)
#define big64(x) __builtin_bswap64(x)
#else
#define big32(x) (x)
#define big64(x) (x)
#endif

struct xcp_state {
	u64 cwnd; /* 2^-16 bytes */
};

/* How many times the window may grow in a round trip, whatever routers give. The papers know no
 * bound. One flow that takes an idle link at once needs its BDP over its first window: ten packets
 * reach 640 in one round trip, and 40960 in two. */
#define XCP_MOST_GROWTH 64

/* A round trip ends when what was sent at its beginning is acknowledged. */
struct xcp_round {
	u64 cwnd; /* at its beginning */
	u32 end; /* a sequence number */
	u32 begun;
};

static __always_inline s64 xcp_clamp(s64 feedback)
{
	if (feedback > XCP_FEEDBACK_LIMIT)
		return XCP_FEEDBACK_LIMIT;
	if (feedback < -XCP_FEEDBACK_LIMIT)
		return -XCP_FEEDBACK_LIMIT;
	return feedback;
}

/* cwnd = max(cwnd + feedback, s), section 3.3. No ACK more than doubles the window: ten may still
 * open it a thousandfold within an RTT, but ten of random feedback do not. */
static __always_inline void xcp_on_feedback(struct xcp_state *xcp, s64 feedback, u32 packet)
{
	s64 least = (s64)packet << 16, most = (s64)MAX_CWND * packet << 16;
	s64 cwnd = xcp->cwnd, more = xcp_clamp(feedback);

	cwnd += more < cwnd ? more : cwnd;
	xcp->cwnd = cwnd < least ? least : cwnd > most ? most : cwnd;
}

/* Holds the window to XCP_MOST_GROWTH times what it was when the round trip began. A window that
 * was smaller meanwhile counts, so that losses begin anew. */
static __always_inline void xcp_bound(struct xcp_state *xcp, struct xcp_round *round, u64 before,
				      u32 una, u32 nxt)
{
	if (!round->begun || una - round->end < 1U << 31 || before < round->cwnd) {
		round->cwnd = before;
		round->end = nxt;
		round->begun = 1;
	}
	/* A window is below 2^53. */
	if (xcp->cwnd > round->cwnd * XCP_MOST_GROWTH)
		xcp->cwnd = round->cwnd * XCP_MOST_GROWTH;
}

/* H_cwnd [bytes]. */
static __always_inline u32 xcp_cwnd_field(const struct xcp_state *xcp)
{
	u64 bytes = (xcp->cwnd + 0x8000) >> 16;

	return bytes > 0xffffffff ? 0xffffffff : bytes ? bytes : 1;
}

/* iXCP's H_rtt: seconds as the bits of an IEEE 754 single, rounded to nearest. rtt_us*2^shift/10^6
 * is a mantissa of 24 bits for the shift that makes it one. */
static __always_inline u32 ixcp_rtt_field(u32 rtt_us)
{
	u64 mantissa = 0;
	u32 exponent = 0;

	if (rtt_us == 0)
		return 0;
	if (rtt_us > MAX_RTT_US)
		rtt_us = MAX_RTT_US;
	/* From 2^-20 s (1 us) to 2^6 s; the mantissa is rtt*2^(23 - e). */
#pragma unroll
	for (int e = 5; e >= -20; e--) {
		u64 scaled = (u64)rtt_us << (23 - e);

		if (!mantissa && (scaled + 500000) / 1000000 >= 1ULL << 23) {
			mantissa = (scaled + 500000) / 1000000;
			exponent = e + 127;
		}
	}
	if (mantissa == 1ULL << 24) {
		mantissa >>= 1;
		exponent++;
	}
	return exponent << 23 | (mantissa & 0x7fffff);
}

/* Is the RTT of an echo, which is the sender's own, within 16 times the RTT now? 0 is that of the
 * first packets. */
static __always_inline int xcp_rtt_is_near(u32 rtt_us, u32 srtt_us)
{
	return !rtt_us || !srtt_us ||
	       (rtt_us <= 16ULL * srtt_us && srtt_us <= 16ULL * rtt_us);
}

/* The same of iXCP's field: singles above zero are in the order of their bits, and 16 is 4 in the
 * exponent. */
static __always_inline int ixcp_rtt_is_near(u32 field, u32 srtt_us)
{
	u32 own = ixcp_rtt_field(srtt_us);

	return !field || !own || field - (own - (4U << 23)) <= 8U << 23;
}

/* XCP's header of a window. */
static __always_inline void xcp_put(struct xcp_header *header, const struct xcp_state *xcp,
				    u32 rtt_us, s64 feedback)
{
	header->rtt = big32(rtt_us);
	header->cwnd = big32(xcp_cwnd_field(xcp));
	header->feedback = big64((u64)feedback);
}

#endif
