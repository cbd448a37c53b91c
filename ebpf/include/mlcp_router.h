/* MLCP's router in integers: crates/cc/src/explicit/load/mlcp.rs and mlcp/gauge.rs with their
 * default parameters.
 *
 * Bound, tested against those files: that of load_router.h, and t_c within 1e-6 of theirs, so that
 * codes differ only where the load factor is that near to an edge, and t_p where t_c is. */
#ifndef CLEARPIPE_MLCP_ROUTER_H
#define CLEARPIPE_MLCP_ROUTER_H

#include "load_router.h"
#include "mlcp_math.h"

/* T, and the t_p and T_c that a router starts with (R3). */
#define MLCP_T_NS 10000000ULL
#define MLCP_START_NS 200000000ULL
#define MLCP_PHI 50

static const struct load_rule load_mlcp = { .period = MLCP_START_NS, .kappa_q = 3 };

struct mlcp_gauge {
	struct load_meter meter;
	u64 rtts, rtt_us; /* what of all packets' RTTs earlier Ts had */
	u64 next_mean; /* [ns] */
	u64 t_d; /* the mean of the last T that had any, until T_c has taken it; 0: none [ns] */
	u64 t_c; /* [ns] */
	u32 t_p, told; /* codes of the running period, and of the last */
	u32 load;
	u32 pad;
};

/* What routers count of packets, all that have come so far. */
struct mlcp_sums {
	u64 bytes, rtts, rtt_us;
};

static __always_inline int mlcp_is_due(const struct mlcp_gauge *gauge, u64 now)
{
	return now >= gauge->next_mean || load_is_due(&gauge->meter, now);
}

/* T_c takes T_d (eq. 15): up by T/T_c of the distance, down by T*T_d/(phi*T_c^2) of it. */
static __always_inline void mlcp_take_mean(struct mlcp_gauge *gauge)
{
	u64 t_d = gauge->t_d, t_c = gauge->t_c, step;

	gauge->t_d = 0;
	if (!t_d || !t_c)
		return;
	if (t_d >= t_c) {
		step = t_c > MLCP_T_NS ? (t_d - t_c) * MLCP_T_NS / t_c : t_d - t_c;
		gauge->t_c = t_c + step;
	} else {
		/* Both quotients are at most T. */
		step = (t_c - t_d) * MLCP_T_NS / t_c * t_d / t_c / MLCP_PHI;
		gauge->t_c = t_c - min64(step, t_c - t_d);
	}
}

/* The smallest t_p that is not below T_c, else the largest. */
static __always_inline u32 mlcp_t_p_of(u64 t_c)
{
	u32 code = 0;

#pragma unroll
	for (u32 i = 0; i < 7; i++)
		code += mlcp_t_p_us(i) * 1000ULL < t_c;
	return code;
}

/* The code of a load factor (sections 2.1, 2.2 and 3.1.1). */
static __always_inline u32 mlcp_router_code(u64 rho)
{
	u32 level;

	if (rho < RHO(0.8))
		return MLCP_LOWEST + (rho >= RHO(0.16)) + (rho >= RHO(0.32)) + (rho >= RHO(0.48)) +
		       (rho >= RHO(0.64));
	if (rho < RHO(1.0))
		return rho < RHO(0.95) ? MLCP_AI : MLCP_II;
	/* (sigma - 1)*7/(1.2 - 1) */
	level = min64(rho - RHO(1.0), RHO(1.0)) * 35 >> 20;
	return MLCP_MD + (level < 7 ? level : 7);
}

/* As load_measure. */
static __always_inline int mlcp_measure(struct mlcp_gauge *gauge, u64 capacity, u64 now,
					const struct mlcp_sums *all, u64 waiting)
{
	u64 rtts = all->rtts - gauge->rtts;

	if (!gauge->next_mean) {
		gauge->next_mean = now + MLCP_T_NS;
		gauge->t_c = MLCP_START_NS;
		gauge->t_p = gauge->told = MLCP_FIRST_T_P;
		gauge->load = MLCP_LOWEST;
		gauge->rtts = all->rtts;
		gauge->rtt_us = all->rtt_us;
	} else if (now >= gauge->next_mean) {
		if (rtts) {
			gauge->t_d = (all->rtt_us - gauge->rtt_us) * 1000 / rtts;
			gauge->rtts = all->rtts;
			gauge->rtt_us = all->rtt_us;
		}
		gauge->next_mean = now + MLCP_T_NS;
	}
	if (!load_measure(&gauge->meter, load_mlcp, capacity, now, all->bytes, waiting))
		return 0;
	mlcp_take_mean(gauge);
	gauge->told = gauge->t_p;
	gauge->t_p = mlcp_t_p_of(gauge->t_c);
	gauge->meter.period = mlcp_t_p_us(gauge->t_p) * 1000ULL;
	gauge->load = mlcp_router_code(gauge->meter.rho);
	return 1;
}

/* What the header of a data packet leaves as. */
static __always_inline u32 mlcp_router_mark(u32 load, u32 told, u32 word)
{
	if (!mlcp_load(word) || load < mlcp_load(word))
		return word;
	return mlcp_word(load, told, word & MLCP_RTT_MAX);
}

#endif
