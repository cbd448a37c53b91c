/* What a router with a load factor measures, in integers: LoadMeter of
 * crates/cc/src/explicit/load/factor.rs; and what VCP's and DPCP's routers make of it: vcp.rs and
 * dpcp/mod.rs beside it. Parameters are the papers' defaults.
 *
 * Bound, tested against those files: rho within a unit (2^-20) and a microsecond of the period
 * (5e-6 of 200 ms) of theirs from 1 Mb/s on, so that codes differ only where a load factor is that
 * near to an edge. Timers are looked at when a packet comes: a period is as long as it really
 * was. */
#ifndef CLEARPIPE_LOAD_ROUTER_H
#define CLEARPIPE_LOAD_ROUTER_H

#include "fixed.h"
#include "dpcp_math.h"

#define LOAD_T_Q_NS 10000000ULL
#define LOAD_T_RHO_NS 200000000ULL
/* Load factors are in 2^-20. */
#define RHO(x) ((u64)((x) * 1048576.0 + 0.5))
/* A period that nothing came in for so long [us] counts as this long. */
#define LOAD_LONGEST_US 100000000ULL
#define LOAD_MOST_BYTES (1ULL << 35)

struct load_meter {
	u64 q; /* the persistent queue [bytes/256] */
	u64 counted; /* what of the arrivals earlier periods had [bytes] */
	u64 next_sample; /* [ns]; 0 before the first packet */
	u64 period_start; /* [ns] */
	u64 period; /* the length of the running one [ns] */
	u64 rho; /* of the last period [2^-20] */
	u64 periods;
};

static __always_inline int load_is_due(const struct load_meter *meter, u64 now)
{
	return now >= meter->next_sample || now - meter->period_start >= meter->period;
}

static __always_inline void load_sample(struct load_meter *meter, u64 now, u64 waiting)
{
	/* What was not sampled meanwhile was idle. */
	u64 missed = (now - meter->next_sample) / LOAD_T_Q_NS;

#pragma unroll
	for (int i = 0; i < 32; i++)
		if ((u64)i < missed)
			meter->q -= meter->q >> 3;
	/* q = 0.875*q + 0.125*sample */
	meter->q = meter->q - (meter->q >> 3) + (min64(waiting, LOAD_MOST_BYTES) << 5);
	meter->next_sample = now + LOAD_T_Q_NS;
}

/* What differs between protocols: the length of the first period [ns], and kappa_q in quarters. */
struct load_rule {
	u64 period;
	u32 kappa_q;
};

/* Takes the sample that is due and ends the period that is due; true when the factor is new.
 * `capacity` is in bytes/s, `arrived` counts all bytes that have come so far, `waiting` is the
 * queue [bytes]. */
static __always_inline int load_measure(struct load_meter *meter, struct load_rule rule,
					u64 capacity, u64 now, u64 arrived, u64 waiting)
{
	u64 length_us, target, load;

	if (!meter->next_sample) {
		meter->next_sample = now + LOAD_T_Q_NS;
		meter->period_start = now;
		meter->period = rule.period;
		meter->counted = arrived;
		return 0;
	}
	if (now >= meter->next_sample)
		load_sample(meter, now, waiting);
	if (now - meter->period_start < meter->period)
		return 0;
	/* rho = (lambda + kappa_q*q)/(0.98*C*t), both in bytes/256: 0.98*256/10^6 = 784/3125/1000. */
	length_us = min64((now - meter->period_start) / 1000, LOAD_LONGEST_US);
	target = capacity * length_us / 3125 * 784 / 1000;
	load = (min64(arrived - meter->counted, LOAD_MOST_BYTES) << 8) + (meter->q * rule.kappa_q >> 2);
	meter->rho = target ? (min64(load, 1ULL << 43) << 20) / target : 0;
	meter->counted = arrived;
	meter->period_start = now;
	meter->periods++;
	return 1;
}

/* VCP's and DPCP's: 200 ms and 0.5. */
static const struct load_rule load_vcp = { .period = LOAD_T_RHO_NS, .kappa_q = 2 };

/* VCP's code (R.3). */
static __always_inline u32 vcp_router_code(u64 rho)
{
	return rho < RHO(0.8) ? VCP_LOW : rho < RHO(1.0) ? VCP_HIGH : VCP_OVERLOAD;
}

/* What a data packet that carries `theirs` leaves with (R.4). 0 is a host that knows no load. */
static __always_inline u32 vcp_router_mark(u32 code, u32 theirs)
{
	return !theirs ? VCP_NONE : code > theirs ? code : theirs;
}

/* DPCP's level of a load factor (table I): the zone, which is the MSP's code, and the level within
 * it, the LSP's; both 1 to 3. */
struct dpcp_level {
	u32 zone, level;
};

static __always_inline struct dpcp_level dpcp_router_level(u64 rho)
{
	struct dpcp_level found;
	u32 i = (rho >= RHO(0.2)) + (rho >= RHO(0.4)) + (rho >= RHO(0.8)) + (rho >= RHO(0.85)) +
		(rho >= RHO(0.95)) + (rho >= RHO(1.0)) + (rho >= RHO(1.05)) + (rho >= RHO(1.4));

	found.zone = i / 3 + 1;
	found.level = i % 3 + 1;
	return found;
}

/* What the MSP has told of its flow: nothing, or that the path so far is in a lower, a higher or
 * the same zone. */
enum { DPCP_UNKNOWN = 0, DPCP_LOWER, DPCP_HIGHER, DPCP_EQUAL };
#define DPCP_FLAGS 4096

/* Algorithm 2: what a data packet that carries `theirs` leaves with. */
static __always_inline u32 dpcp_router_mark(struct dpcp_level own, u8 *flag, u32 part, u32 theirs)
{
	if (!theirs)
		return VCP_NONE;
	if (part == DPCP_MSP) {
		*flag = own.zone > theirs ? DPCP_LOWER : own.zone < theirs ? DPCP_HIGHER : DPCP_EQUAL;
		return own.zone > theirs ? own.zone : theirs;
	}
	if (*flag == DPCP_LOWER)
		return own.level;
	if (*flag == DPCP_EQUAL && own.level > theirs)
		return own.level;
	return theirs;
}

#endif
