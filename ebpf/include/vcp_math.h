/* VCP's end host in integers: crates/cc/src/explicit/load/vcp.rs with its default parameters.
 *
 * Bound, tested against that file: one ACK moves the window by the same amount within 8 units (of
 * 2^-32 packets), a millionth of the movement, and 2^-31 of the window. Where it comes from: MI,
 * the quotient srtt/t_rho and the logarithm lose 1 unit each and q32_mul 2 per step, the series
 * 4.3e-8; AI, q32_div's 2^-20; MD, its factor is rounded to 2^-33 of the window. Errors of
 * successive ACKs add up, so after n ACKs the windows differ by at most the sum of n such bounds;
 * MI keeps an error's ratio to the window. */
#ifndef CLEARPIPE_VCP_MATH_H
#define CLEARPIPE_VCP_MATH_H

#include "fixed.h"

enum { VCP_NONE = 0, VCP_LOW = 1, VCP_HIGH = 2, VCP_OVERLOAD = 3 };

#define VCP_T_RHO_US 200000U
#define VCP_T_D_US 200000U
/* ln(1 + xi), xi = kappa*(1 - 0.8)/0.8 = 0.0625 (eq. 5). */
#define VCP_LN_MI Q32(0.06062462181643484)
/* srtt/t_rho counts up to this in MI (S.1). */
#define VCP_MI_LIMIT Q32(2.5)
/* The ends of the AI scaling limiter over t_d: 20 ms and 500 ms (S.2). */
#define VCP_AI_LOW Q32(0.1)
#define VCP_AI_HIGH Q32(2.5)
#define VCP_ALPHA 1
#define VCP_BETA Q32(0.875)

enum vcp_phase { VCP_FREE = 0, VCP_FROZEN = 1, VCP_ADDITIVE = 2 };

struct vcp_state {
	u64 cwnd; /* packets, Q32 */
	u64 until_us; /* the end of the phase, unless it is free */
	u32 phase;
};

/* (1 + xi)^(srtt/t_rho) - 1 (eq. 6). */
static __always_inline u64 vcp_growth(u64 ln_mi, u32 srtt_us)
{
	return q32_expm1(q32_mul(ln_mi, min64(q32_ratio(srtt_us, VCP_T_RHO_US), VCP_MI_LIMIT)));
}

/* alpha*(srtt/t_d)^2 (eq. 8), limited. */
static __always_inline u64 vcp_alpha_s(u32 srtt_us)
{
	return VCP_ALPHA * limited_square(q32_ratio(srtt_us, VCP_T_D_US), VCP_AI_LOW, VCP_AI_HIGH);
}

/* Freeze and the additive increase after it run out with time. */
static __always_inline void vcp_pass_time(struct vcp_state *vcp, u64 now_us, u32 srtt_us)
{
	if (vcp->phase == VCP_FROZEN && now_us >= vcp->until_us) {
		vcp->phase = VCP_ADDITIVE;
		vcp->until_us += srtt_us ? srtt_us : VCP_T_RHO_US;
	}
	if (vcp->phase == VCP_ADDITIVE && now_us >= vcp->until_us)
		vcp->phase = VCP_FREE;
}

static __always_inline void vcp_decrease(struct vcp_state *vcp, u64 now_us, u64 beta)
{
	vcp->cwnd = sane_cwnd(q32_scale(vcp->cwnd, beta));
	vcp->phase = VCP_FROZEN;
	vcp->until_us = now_us + VCP_T_RHO_US;
}

/* An ACK for `acked` packets brings a code. The paper's receiver answers every packet, so an ACK of
 * several counts as so many. `grow` is false for a sender that does not use its window. */
static __always_inline void vcp_on_ack(struct vcp_state *vcp, u64 now_us, u32 srtt_us, u32 code,
				       u32 acked, int grow)
{
	u64 more = 0;

	vcp_pass_time(vcp, now_us, srtt_us);
	if (vcp->phase == VCP_FROZEN || (vcp->phase == VCP_FREE && code == VCP_NONE))
		return;
	if (vcp->phase == VCP_FREE && code == VCP_OVERLOAD) {
		vcp_decrease(vcp, now_us, VCP_BETA);
		return;
	}
	if (!grow)
		return;
	if (vcp->phase == VCP_FREE && code == VCP_LOW)
		more = vcp_growth(VCP_LN_MI, srtt_us);
	else
		more = q32_div(vcp_alpha_s(srtt_us), vcp->cwnd);
	vcp->cwnd = sane_cwnd(vcp->cwnd + more * min64(acked, 65535));
}

#endif
