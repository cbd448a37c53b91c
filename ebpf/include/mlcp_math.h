/* MLCP's end host in integers: crates/cc/src/explicit/load/mlcp.rs with its default
 * parameters, and the header's four bytes.
 *
 * Bound, tested against those files: one ACK moves the window by the same amount within 64 units
 * (of 2^-32 packets), 2e-6 of the movement and 2^-31 of the window. Up to five doublings in
 * q32_expm1 multiply the 2 units that q32_mul loses by up to 2 + 2e each, and the series' 4.3e-8 by
 * as much as they grow e; the root adds 2^-21. */
#ifndef CLEARPIPE_MLCP_MATH_H
#define CLEARPIPE_MLCP_MATH_H

#include "fixed.h"

/* The load codes: 0 not capable, 1 to 5 MI. */
enum { MLCP_LOWEST = 1, MLCP_AI = 6, MLCP_II = 7, MLCP_MD = 8 };

#define MLCP_MI_LIMIT Q32(2.5)
#define MLCP_FIRST_T_P 1
#define MLCP_RTT_BITS 25
#define MLCP_RTT_MAX ((1U << MLCP_RTT_BITS) - 1)

struct mlcp_state {
	u64 cwnd; /* packets, Q32 */
	u64 decreased_until_us;
	u32 t_p; /* code */
};

/* The header: four bits of load, three of t_p, then the RTT [us]. */
static __always_inline u32 mlcp_word(u32 load, u32 t_p, u32 rtt_us)
{
	return load << 28 | (t_p & 7) << MLCP_RTT_BITS |
	       (rtt_us < MLCP_RTT_MAX ? rtt_us : MLCP_RTT_MAX);
}

static __always_inline u32 mlcp_load(u32 word)
{
	return word >> 28;
}

static __always_inline u32 mlcp_t_p(u32 word)
{
	return word >> MLCP_RTT_BITS & 7;
}

/* Is the RTT of an echo, which is the sender's own, within 16 times the RTT now? 0 is that of the
 * first packets. */
static __always_inline int mlcp_rtt_is_near(u32 word, u32 srtt_us)
{
	u64 rtt = word & MLCP_RTT_MAX;

	if (srtt_us > MLCP_RTT_MAX)
		srtt_us = MLCP_RTT_MAX;
	return !rtt || !srtt_us || (rtt <= 16ULL * srtt_us && srtt_us <= 16 * rtt);
}

/* S of section 3.2.2 [us]: 80, 200, 400, ..., 1400 ms. */
static __always_inline u32 mlcp_t_p_us(u32 code)
{
	code &= 7;
	return code == 0 ? 80000 : code * 200000;
}

/* ln(1 + 0.35*(1 - edge)/edge) at the upper edges 0.16, 0.32, 0.48, 0.64, 0.80. */
static __always_inline u64 mlcp_ln_mi(u32 load)
{
	switch (load) {
	case 1:
		return Q32(1.042923382807521); /* ln 2.8375 */
	case 2:
		return Q32(0.5560379665875387); /* ln 1.74375 */
	case 3:
		return Q32(0.3214794520350716); /* ln 1.379166... */
	case 4:
		return Q32(0.1797139933868737); /* ln 1.196875 */
	default:
		return Q32(0.08388148398070203); /* ln 1.0875 */
	}
}

/* beta_k = 0.875 - k*0.2/7. */
static __always_inline u64 mlcp_beta(u32 level)
{
	return Q32(0.875) - level * Q32(0.2 / 7.0);
}

/* The root of a Q32 number from 1 to 2^21, in Q32: within 2^-20 of it. Newton's steps, from a power
 * of two that is at most 1.42 times the root; their relative error is then 0.06, 1.7e-3, 1.5e-6,
 * 1.1e-12. Few branches: the verifier follows every combination of them. */
static __always_inline u64 q32_sqrt(u64 x)
{
	/* The root of x*2^10 has 21 fractional bits. */
	u64 v = x << 10, rest = v, root;
	u32 bits = 0;

#pragma unroll
	for (int step = 32; step; step >>= 1) {
		u64 high = rest >> step;

		bits += high ? step : 0;
		rest = high ? high : rest;
	}
	root = 1ULL << (bits / 2 + 1);
#pragma unroll
	for (int i = 0; i < 6; i++)
		root = (root + v / root) / 2;
	return root << 11;
}

/* An ACK for `acked` packets brings a header. No movement without a load code. */
static __always_inline void mlcp_on_ack(struct mlcp_state *mlcp, u64 now_us, u32 srtt_us, u32 word,
					u32 acked, int grow)
{
	u32 load = mlcp_load(word), t_p_us;
	u64 x, more;

	if (load == 0)
		return;
	mlcp->t_p = mlcp_t_p(word);
	t_p_us = mlcp_t_p_us(mlcp->t_p);
	if (load >= MLCP_MD) {
		if (now_us < mlcp->decreased_until_us)
			return;
		mlcp->cwnd = sane_cwnd(q32_scale(mlcp->cwnd, mlcp_beta(load - MLCP_MD)));
		mlcp->decreased_until_us = now_us + t_p_us;
		return;
	}
	if (!grow)
		return;
	x = q32_ratio(srtt_us, t_p_us);
	if (load < MLCP_AI) {
		more = q32_expm1(q32_mul(mlcp_ln_mi(load), min64(x, MLCP_MI_LIMIT)));
	} else {
		x = min64(x, 63 * Q32_ONE); /* its square stays below 4096 */
		more = q32_div(q32_mul(x, x), mlcp->cwnd);
		if (load == MLCP_II)
			more = q32_div(more, q32_sqrt(mlcp->cwnd));
	}
	mlcp->cwnd = sane_cwnd(mlcp->cwnd + min64(more, MAX_CWND << 32) * min64(acked, 65535));
}

#endif
