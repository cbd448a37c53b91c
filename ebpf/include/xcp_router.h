/* XCP's and iXCP's routers in integers: crates/cc/src/explicit/xcp/xcp.rs, ixcp.rs and what the two
 * share, controlled.rs, with their default parameters but `max_rtt`. Katabi, Handley, Rohrs,
 * SIGCOMM 2002, section 3.5 and appendix A; Zan, Yang, section III and appendix.
 *
 *   phi = alpha*d*(C - y) - beta*Q                 change of all windows, each mean RTT d (eq. 1)
 *   h = max(0, gamma*y*d - |phi|)                  traffic that is shuffled (eq. 2)
 *   xi_p = (h + max(phi, 0))/(d*sum(rtt*s/cwnd))   over the packets of an interval (eq. 6)
 *   xi_n = (h + max(-phi, 0))/(d*sum(s))           (eq. 9)
 *   feedback = rtt*(xi_p*rtt*s/cwnd - xi_n*s)      of a packet of s bytes (eqs. 3, 4, 7)
 *
 * iXCP hands phi out so to all packets (spare), and h among those only that name this link as their
 * bottleneck (shuffle), where y in eq. 2 and the sums are of those, too.
 *
 * Units: microseconds and bytes; rates of feedback, and what is left of them, are fixed-point
 * numbers of 44 fractional bits, up to 1 Tb/s. Bound, tested against those files: feedback within
 * 1e-3 or a unit of the wire (2^-16 bytes), and within 1e-4 over an interval. Timers are looked
 * at when a packet comes: an interval is as long as it really was. */
#ifndef CLEARPIPE_XCP_ROUTER_H
#define CLEARPIPE_XCP_ROUTER_H

#include "real.h"
#include "xcp_math.h"

#define XCP_ALPHA REAL(0.8, -1) /* 0.4 */
#define XCP_BETA REAL(0.904, -2) /* 0.226 */
#define XCP_GAMMA REAL(0.8, -3) /* 0.1 */
/* The first interval, the shortest one, and the shortest window of the persistent queue (R1). */
#define XCP_FIRST_NS 50000000ULL
#define XCP_SHORTEST_NS 1000000ULL
#define XCP_QUEUE_NS 2000000ULL
/* Longer RTTs count as this in d (`max_rtt`, 10 s): whatever headers say, no interval is longer. */
#define XCP_MAX_RTT real_of(10000000)

#define XCP_RATE_BITS 44
#define XCP_WIRE_BITS 16
/* More than the wire's, so that an offer of nearly nothing is not one of nothing. */
#define XCP_FINE_BITS 8
#define XCP_NO_QUEUE (~0ULL)

/* What is measured of the link's arrivals. Sums are of the running interval. What each packet
 * writes is at the beginning, and in other cache lines than the times that each reads: two
 * processors on one router would else wait for each other twice as long. */
struct xcp_meter {
	struct real sum_rtt_by_cwnd, sum_rtt2_by_cwnd; /* rtt*s/cwnd [us], rtt^2*s/cwnd [us^2] */
	u64 apart[8];
	u64 counted; /* what of all arrivals earlier intervals had [bytes] */
	u64 lowest_queue; /* that an arrival of the running queue window met [bytes] */
	u64 interval_start, interval_end, window_end; /* [ns]; 0 before the first packet */
	struct real capacity, y; /* C, and y of the last interval [bytes/us] */
	struct real length; /* of it [us] */
	struct real input_traffic; /* in it [bytes] */
	struct real d; /* [us] */
	u64 persistent_queue; /* Q [bytes] */
	u64 intervals;
};

/* What is handed out in an interval to the packets of one class (appendix A). */
struct xcp_shares {
	struct real xi_p, xi_n; /* 0 when their residue is spent */
	s64 residue_pos, residue_neg; /* what may still be given, must still be taken */
};

/* What a packet gets and gives, both over its RTT. */
struct xcp_offer {
	s64 pos, neg;
};

struct xcp_router {
	struct xcp_shares shares;
	struct xcp_meter meter;
};

struct ixcp_router {
	struct xcp_shares spare, shuffle;
	/* Of packets that name this link: s [bytes], rtt*s/cwnd [us]. */
	u64 input_traffic_shuffle;
	struct real sum_rtt_by_cwnd_shuffle;
	struct xcp_meter meter;
};

/* What a packet states: rtt [us], 0 if nothing (D1, D3), and rtt*s/cwnd. A large one (GSO) is
 * several with one header. */
struct xcp_stated {
	struct real rtt, rtt_by_cwnd, size;
	u32 bytes, packets; /* all of them */
};

/* Eqs. (6) and (9): pos and neg [bytes] for the packets that summed to these. */
static __always_inline struct xcp_shares xcp_shares(struct real pos, struct real neg, struct real d,
						    struct real sum_rtt_by_cwnd,
						    struct real input_traffic)
{
	struct real pos_by_d = real_div(pos, d), neg_by_d = real_div(neg, d);

	return (struct xcp_shares){
		.xi_p = real_div(pos_by_d, sum_rtt_by_cwnd),
		.xi_n = real_div(neg_by_d, input_traffic),
		.residue_pos = real_fixed(pos_by_d, XCP_RATE_BITS),
		.residue_neg = real_fixed(neg_by_d, XCP_RATE_BITS),
	};
}

/* Eq. (1): max(phi, 0) and max(-phi, 0), from what it adds and what it takes. */
struct xcp_phi {
	struct real pos, neg;
};

static __always_inline struct xcp_phi xcp_phi(const struct xcp_meter *meter)
{
	struct real per_rate = real_mul(XCP_ALPHA, meter->d);
	struct real adds = real_mul(per_rate, meter->capacity);
	struct real takes = real_plus(real_mul(per_rate, meter->y),
				      real_mul(XCP_BETA, real_of(meter->persistent_queue)));

	return (struct xcp_phi){ real_minus(adds, takes), real_minus(takes, adds) };
}

/* Eq. (2), of which one of phi's parts is 0. */
static __always_inline struct real xcp_h(struct real y, struct real d, struct xcp_phi phi)
{
	return real_minus(real_mul(XCP_GAMMA, real_mul(y, d)), real_plus(phi.pos, phi.neg));
}

/* Appendix A, "on estimation-control timeout". */
static __always_inline void xcp_decide(struct xcp_router *router)
{
	const struct xcp_meter *meter = &router->meter;
	struct xcp_phi phi = xcp_phi(meter);
	struct real h = xcp_h(meter->y, meter->d, phi);

	router->shares = xcp_shares(real_plus(phi.pos, h), real_plus(phi.neg, h), meter->d,
				    meter->sum_rtt_by_cwnd, meter->input_traffic);
}

static __always_inline void ixcp_decide(struct ixcp_router *router)
{
	const struct xcp_meter *meter = &router->meter;
	struct real own = real_of(router->input_traffic_shuffle);
	struct xcp_phi phi = xcp_phi(meter);
	struct real h = xcp_h(real_div(own, meter->length), meter->d, phi);

	router->spare = xcp_shares(phi.pos, phi.neg, meter->d, meter->sum_rtt_by_cwnd,
				   meter->input_traffic);
	router->shuffle = xcp_shares(h, h, meter->d, router->sum_rtt_by_cwnd_shuffle, own);
	router->input_traffic_shuffle = 0;
	router->sum_rtt_by_cwnd_shuffle.m = 0;
}

/* Eqs. (4) and (7), and no more than is left (D8). */
static __always_inline struct xcp_offer xcp_offer(const struct xcp_shares *shares,
						  const struct xcp_stated *stated)
{
	struct real pos = real_mul(shares->xi_p, stated->rtt_by_cwnd);
	struct real neg = real_mul(shares->xi_n, stated->size);
	s64 most_pos = shares->residue_pos > 0 ? shares->residue_pos : 0;
	s64 most_neg = shares->residue_neg > 0 ? shares->residue_neg : 0;

	return (struct xcp_offer){
		min64(real_fixed(pos, XCP_RATE_BITS), most_pos),
		min64(real_fixed(neg, XCP_RATE_BITS), most_neg),
	};
}

static __always_inline s64 xcp_spend(s64 residue, s64 paid)
{
	return residue < -(s64)REAL_MOST ? residue : residue - paid;
}

/* A packet took and gave so much. What is spent ends its feedback. */
static __always_inline void xcp_pay(struct xcp_shares *shares, struct xcp_offer paid)
{
	shares->residue_pos = xcp_spend(shares->residue_pos, paid.pos);
	shares->residue_neg = xcp_spend(shares->residue_neg, paid.neg);
	if (shares->residue_pos <= 0)
		shares->xi_p.m = 0;
	if (shares->residue_neg <= 0)
		shares->xi_n.m = 0;
}

/* Eq. (3): `ours` over the RTT as H_feedback of each of the packets, in 2^-8 units of the wire. */
static __always_inline s64 xcp_feedback(s64 ours, const struct xcp_stated *stated)
{
	u64 size = ours < 0 ? -ours : ours;

	size = real_fixed(real_mul(real_of(size), stated->rtt),
			  XCP_WIRE_BITS + XCP_FINE_BITS - XCP_RATE_BITS);
	if (stated->packets > 1)
		size /= stated->packets;
	return ours < 0 ? -(s64)size : (s64)size;
}

/* In units of the wire: down, up, and to the nearest. */
static __always_inline s64 xcp_floor(s64 fine)
{
	return fine >> XCP_FINE_BITS;
}

static __always_inline s64 xcp_ceil(s64 fine)
{
	return xcp_floor(fine + (1 << XCP_FINE_BITS) - 1);
}

static __always_inline s64 xcp_round(s64 fine)
{
	return xcp_floor(fine + (1 << (XCP_FINE_BITS - 1)));
}

/* What packets cost that keep `held`, where this router's feedback is `ours`, the larger: a router
 * before this one, or the sender, asks for less (appendix A). */
static __always_inline struct xcp_offer xcp_charge(s64 held, s64 ours,
						   const struct xcp_stated *stated)
{
	u64 size = min64(held < 0 ? -(u64)held : (u64)held, XCP_FEEDBACK_LIMIT);
	s64 over_rtt = real_fixed(real_div(real_of(size * stated->packets), stated->rtt),
				  XCP_RATE_BITS - XCP_WIRE_BITS);

	if (held > 0)
		return (struct xcp_offer){ over_rtt, ours > over_rtt ? ours - over_rtt : 0 };
	return (struct xcp_offer){ 0, (ours > 0 ? ours : 0) + over_rtt };
}

/* XCP's appendix A, "on packet departure": the feedback with which packets leave that hold
 * `held`. */
static __always_inline s64 xcp_answer(struct xcp_router *router, const struct xcp_stated *stated,
				      s64 held)
{
	struct xcp_offer offer = xcp_offer(&router->shares, stated);
	s64 ours = offer.pos - offer.neg, feedback = xcp_feedback(ours, stated);
	int keeps = held < xcp_ceil(feedback);

	if (keeps)
		offer = xcp_charge(held, ours, stated);
	xcp_pay(&router->shares, offer);
	return keeps ? held : xcp_round(feedback);
}

/* `whole` in the ratio of a to b; all of it to the second where both are 0 (R2). */
static __always_inline s64 ixcp_first(s64 whole, s64 a, s64 b)
{
	struct real ratio = real_div(real_of(a), real_of(a + b));

	return a + b > 0 ? min64(real_fixed(real_mul(real_of(whole), ratio), 0), whole) : 0;
}

/* iXCP's, "on each packet departure": true when the feedback becomes this router's, and with it
 * nextBottleneckId. `own` packets name this link as their bottleneck. */
static __always_inline int ixcp_answer(struct ixcp_router *router, const struct xcp_stated *stated,
				       int own, s64 *held)
{
	struct xcp_offer spare = xcp_offer(&router->spare, stated);
	struct xcp_offer shuffle = own ? xcp_offer(&router->shuffle, stated) :
					 (struct xcp_offer){ 0, 0 };
	s64 ours = spare.pos + shuffle.pos - spare.neg - shuffle.neg;
	s64 feedback = xcp_feedback(ours, stated);
	int lowers = xcp_floor(feedback) < *held;

	if (lowers) {
		*held = xcp_round(feedback);
	} else {
		struct xcp_offer whole = xcp_charge(*held, ours, stated);
		s64 pos = own ? ixcp_first(whole.pos, spare.pos, shuffle.pos) : whole.pos;
		s64 neg = own ? ixcp_first(whole.neg, spare.neg, shuffle.neg) : whole.neg;

		spare = (struct xcp_offer){ pos, neg };
		shuffle = (struct xcp_offer){ whole.pos - pos, whole.neg - neg };
	}
	xcp_pay(&router->spare, spare);
	xcp_pay(&router->shuffle, shuffle);
	return lowers;
}

static __always_inline struct xcp_stated xcp_stated(struct real rtt, u32 cwnd, u32 bytes,
						    u32 packets)
{
	struct xcp_stated stated = { .bytes = bytes, .packets = packets ? packets : 1 };

	if (!rtt.m || !cwnd)
		return stated;
	stated.rtt = rtt;
	stated.size = real_of(bytes);
	stated.rtt_by_cwnd = real_div(real_mul(rtt, stated.size), real_of(cwnd));
	return stated;
}

static __always_inline struct xcp_stated xcp_read(const struct xcp_header *header, u32 bytes,
						  u32 packets)
{
	return xcp_stated(real_of(big32(header->rtt)), big32(header->cwnd), bytes, packets);
}

/* iXCP's H_rtt is a single [s]; those from 1 ns to 10^4 s are RTTs, in the order of their bits. */
static __always_inline struct xcp_stated ixcp_read(const struct ixcp_header *header, u32 bytes,
						   u32 packets)
{
	u32 field = big32(header->xcp.rtt);
	u64 millionth = (u64)((field & 0x7fffff) | 0x800000) * 1000000;
	struct real rtt = { 0, 0 };

	if (field > 0x3089705f && field <= 0x461c4000)
		rtt = real_shifted(millionth, (s64)(field >> 23) - 150);
	return xcp_stated(rtt, big32(header->xcp.cwnd), bytes, packets);
}

/* Is it no header, as its H_rtt is no number? */
static __always_inline int ixcp_is_none(const struct ixcp_header *header)
{
	return (big32(header->xcp.rtt) & 0x7fffffff) > 0x7f800000;
}

/* A packet that states nothing gets no increase (D1). */
static __always_inline void xcp_grant_nothing(struct xcp_header *header)
{
	if ((s64)big64(header->feedback) > 0)
		header->feedback = 0;
}

/* XCP counts routers in an offer to speak XCP (D7). */
static __always_inline void xcp_pass(struct xcp_header *header)
{
	if (header->cwnd)
		xcp_grant_nothing(header);
	else if (header->rtt != 0xffffffff)
		header->rtt = big32(big32(header->rtt) + 1);
}

static __always_inline void xcp_sample(struct xcp_meter *meter, const struct xcp_stated *stated)
{
	meter->sum_rtt_by_cwnd = real_plus(meter->sum_rtt_by_cwnd, stated->rtt_by_cwnd);
	meter->sum_rtt2_by_cwnd = real_plus(meter->sum_rtt2_by_cwnd,
					    real_mul(real_min(stated->rtt, XCP_MAX_RTT),
						     stated->rtt_by_cwnd));
}

/* Packets that state something arrive and depart: their header is as it leaves. */
static __always_inline void xcp_forward(struct xcp_router *router, const struct xcp_stated *stated,
					struct xcp_header *header)
{
	xcp_sample(&router->meter, stated);
	header->feedback = big64((u64)xcp_answer(router, stated, (s64)big64(header->feedback)));
}

/* Any packets of iXCP do, at the link of this number. */
static __always_inline void ixcp_forward(struct ixcp_router *router, u32 link,
					 const struct xcp_stated *stated, struct ixcp_header *header)
{
	int own = header->bottleneck == big32(link);
	s64 feedback = (s64)big64(header->xcp.feedback);

	if (own)
		router->input_traffic_shuffle += stated->bytes;
	if (!stated->rtt.m) {
		xcp_grant_nothing(&header->xcp);
		return;
	}
	xcp_sample(&router->meter, stated);
	if (own)
		router->sum_rtt_by_cwnd_shuffle =
			real_plus(router->sum_rtt_by_cwnd_shuffle, stated->rtt_by_cwnd);
	if (ixcp_answer(router, stated, own, &feedback)) {
		header->xcp.feedback = big64((u64)feedback);
		header->next_bottleneck = big32(link);
	}
}

/* Any packet meets this queue [bytes]. */
static __always_inline int xcp_is_lowest(const struct xcp_meter *meter, u64 waiting)
{
	return waiting < meter->lowest_queue;
}

static __always_inline int xcp_is_due(const struct xcp_meter *meter, u64 now)
{
	return now >= meter->window_end || now >= meter->interval_end;
}

/* us to ns, rounded up. */
static __always_inline u64 xcp_ns(struct real us)
{
	return (real_fixed(real_mul(us, real_of(1000)), 10) + 1023) >> 10;
}

/* The persistent queue is what did not drain within a propagation delay (section 3.5.1). Where
 * nothing came for longer than that, there is none. */
static __always_inline void xcp_end_queue_window(struct xcp_meter *meter, u64 now, u64 waiting)
{
	struct real queueing = real_div(real_of(waiting), meter->capacity);
	u64 length = max64(xcp_ns(real_minus(meter->d, queueing)), XCP_QUEUE_NS);

	meter->persistent_queue = meter->lowest_queue;
	if (meter->lowest_queue == XCP_NO_QUEUE || now - meter->window_end >= length)
		meter->persistent_queue = 0;
	meter->lowest_queue = XCP_NO_QUEUE;
	meter->window_end = now + length;
}

/* What is due when a packet comes; true when an interval has ended, which xcp_restart is to follow.
 * `capacity` is in bytes/s, `arrived` counts all bytes that have come so far, `waiting` is the
 * queue [bytes]. The queue's window goes first (D5). */
static __always_inline int xcp_measure(struct xcp_meter *meter, u64 capacity, u64 now, u64 arrived,
				       u64 waiting)
{
	if (!meter->interval_end) {
		meter->counted = arrived;
		meter->lowest_queue = XCP_NO_QUEUE;
		meter->interval_start = now;
		meter->interval_end = meter->window_end = now + XCP_FIRST_NS;
		meter->capacity = real_div(real_of(capacity), real_of(1000000));
		meter->d = real_of(XCP_FIRST_NS / 1000);
		return 0;
	}
	if (now >= meter->window_end)
		xcp_end_queue_window(meter, now, waiting);
	if (now < meter->interval_end)
		return 0;
	meter->length = real_div(real_of(now - meter->interval_start), real_of(1000));
	meter->input_traffic = real_of(arrived - meter->counted);
	meter->y = real_div(meter->input_traffic, meter->length);
	meter->counted = arrived;
	/* Without an RTT d stays. */
	if (meter->sum_rtt_by_cwnd.m)
		meter->d = real_div(meter->sum_rtt2_by_cwnd, meter->sum_rtt_by_cwnd);
	meter->intervals++;
	return 1;
}

static __always_inline void xcp_restart(struct xcp_meter *meter, u64 now)
{
	meter->sum_rtt_by_cwnd.m = meter->sum_rtt2_by_cwnd.m = 0;
	meter->interval_start = now;
	meter->interval_end = now + max64(xcp_ns(meter->d), XCP_SHORTEST_NS);
}

#endif
