/* DPCP's end hosts in integers: crates/cc/src/explicit/load/dpcp/{order,host}.rs with their default
 * parameters.
 *
 * Bound, tested against those files: VCP's. */
#ifndef CLEARPIPE_DPCP_MATH_H
#define CLEARPIPE_DPCP_MATH_H

#include "vcp_math.h"

/* Codes are VCP's: 1 to 3, 0 for none. */
enum dpcp_part { DPCP_MSP = 0, DPCP_LSP = 1 };
enum dpcp_mode { DPCP_PAIRS = 0, DPCP_VCP = 1, DPCP_RESUMING = 2, DPCP_SETTLED = 3 };

#define DPCP_DOWNGRADE_AFTER 3
#define DPCP_RESUME_RTTS 10
#define DPCP_RELAPSES 3

struct dpcp_state {
	struct vcp_state vcp;
	u64 remembered; /* the window before the cut that the LSP will correct; 0 if none will */
	u64 vcp_until_us; /* end of the mode DPCP_VCP */
	u32 mode;
	u32 msp, lsp; /* the load factor as far as it is known */
	u32 last, in_row; /* the last ACK's part, and how many came in a row */
	u32 downgrades, exceptions;
};

static __always_inline void dpcp_start(struct dpcp_state *dpcp)
{
	__builtin_memset(dpcp, 0, sizeof(*dpcp));
	dpcp->msp = 1;
	dpcp->lsp = 1;
	dpcp->last = DPCP_LSP;
}

/* What a router makes of a packet, by one unsigned comparison of the numbers on the wire. */
static __always_inline u32 dpcp_part(u32 seq, u32 ack)
{
	return seq > ack ? DPCP_MSP : DPCP_LSP;
}

/* How far apart two numbers are, going round. */
static __always_inline u32 dpcp_distance(u32 a, u32 b)
{
	return a - b < b - a ? a - b : b - a;
}

/* Were the numbers switched? For a host that has sent what lies from `from` to `to` and waits for
 * `expected`. Ties are sent as they are. */
static __always_inline int dpcp_switched(u32 seq, u32 ack, u32 from, u32 to, u32 expected)
{
	int as_is = ack - from <= to - from;
	int switched = seq - from <= to - from;

	if (as_is != switched)
		return switched;
	return dpcp_distance(seq, expected) > dpcp_distance(ack, expected);
}

/* ln(1 + kappa*(1 - edge)/edge) at the upper edges 0.2, 0.4, 0.8, 0.85, 0.95 and 1 of the levels
 * below overload (table I); kappa = 0.25. */
static __always_inline u64 dpcp_ln_mi(u32 level)
{
	switch (level) {
	case 0:
		return Q32(0.6931471805599453);
	case 1:
		return Q32(0.3184537311185346);
	case 2:
		return VCP_LN_MI;
	case 3:
		return Q32(0.04317217186520878);
	case 4:
		return Q32(0.0130720815673527);
	default:
		return 0;
	}
}

/* 0.875, 0.6, 0.43 by the LSP. */
static __always_inline u64 dpcp_md(u32 lsp)
{
	return lsp == 1 ? Q32(0.875) : lsp == 2 ? Q32(0.6) : Q32(0.43);
}

static __always_inline void dpcp_downgrade(struct dpcp_state *dpcp, u64 now_us, u32 srtt_us)
{
	if (dpcp->downgrades >= DPCP_RELAPSES) {
		dpcp->mode = DPCP_SETTLED;
	} else {
		dpcp->mode = DPCP_VCP;
		dpcp->vcp_until_us =
			now_us + (u64)DPCP_RESUME_RTTS * (srtt_us ? srtt_us : VCP_T_RHO_US);
	}
	dpcp->downgrades++;
}

/* Puts an ACK's part into the load factor (sections III-C and D). */
static __always_inline void dpcp_take(struct dpcp_state *dpcp, u64 now_us, u32 srtt_us, u32 part,
				      u32 code)
{
	int again;

	if (dpcp->mode == DPCP_RESUMING && part == DPCP_LSP) {
		dpcp->mode = DPCP_PAIRS;
		dpcp->last = DPCP_MSP;
		dpcp->in_row = 1;
	}
	if (dpcp->mode != DPCP_PAIRS) {
		if (part == DPCP_MSP)
			dpcp->msp = code;
		return;
	}
	again = part == dpcp->last;
	dpcp->in_row = again ? dpcp->in_row + 1 : 1;
	dpcp->last = part;
	if (part == DPCP_MSP) {
		if (!again || code > dpcp->msp)
			dpcp->msp = code;
		dpcp->lsp = 3;
	} else {
		dpcp->lsp = again ? 3 : code;
	}
	if (!again)
		return;
	dpcp->exceptions++;
	dpcp->remembered = 0;
	if (dpcp->in_row >= DPCP_DOWNGRADE_AFTER) {
		dpcp_downgrade(dpcp, now_us, srtt_us);
		if (part == DPCP_MSP)
			dpcp->msp = code;
	}
}

/* Moves the window (section III-A); code 0 is an ACK that tells nothing. */
static __always_inline void dpcp_react(struct dpcp_state *dpcp, u64 now_us, u32 srtt_us, u32 part,
				       u32 code, u32 acked, int grow)
{
	struct vcp_state *vcp = &dpcp->vcp;
	int pairs = dpcp->mode == DPCP_PAIRS, lsp = code && part == DPCP_LSP;
	u64 more = 0;

	if (vcp->phase == VCP_FROZEN) {
		if (lsp && pairs && dpcp->remembered) {
			vcp->cwnd = sane_cwnd(q32_scale(dpcp->remembered, dpcp_md(dpcp->lsp)));
			dpcp->remembered = 0;
		}
		return;
	}
	if (vcp->phase == VCP_FREE) {
		if (!code || (lsp && (dpcp->msp == 3 || !pairs)))
			return;
		if (dpcp->msp == 3) {
			dpcp->remembered = pairs ? vcp->cwnd : 0;
			vcp_decrease(vcp, now_us, pairs ? dpcp_md(3) : VCP_BETA);
			return;
		}
		if (pairs)
			more = vcp_growth(dpcp_ln_mi(3 * (dpcp->msp - 1) + dpcp->lsp - 1), srtt_us) +
			       q32_div(vcp_alpha_s(srtt_us), vcp->cwnd);
		else if (dpcp->msp == 1)
			more = vcp_growth(VCP_LN_MI, srtt_us);
	}
	if (!more)
		more = q32_div(vcp_alpha_s(srtt_us), vcp->cwnd);
	if (grow)
		vcp->cwnd = sane_cwnd(vcp->cwnd + more * min64(acked, 65535));
}

/* An ACK: part and code (0 for none). */
static __always_inline void dpcp_on_ack(struct dpcp_state *dpcp, u64 now_us, u32 srtt_us, u32 part,
					u32 code, u32 acked, int grow)
{
	if (dpcp->vcp.phase == VCP_FROZEN && now_us >= dpcp->vcp.until_us)
		dpcp->remembered = 0;
	vcp_pass_time(&dpcp->vcp, now_us, srtt_us);
	if (dpcp->mode == DPCP_VCP && now_us >= dpcp->vcp_until_us)
		dpcp->mode = DPCP_RESUMING;
	if (code)
		dpcp_take(dpcp, now_us, srtt_us, part, code);
	dpcp_react(dpcp, now_us, srtt_us, part, code, acked, grow);
}

#endif
