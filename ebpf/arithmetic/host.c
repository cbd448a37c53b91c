/* The inline functions of ebpf/include as functions to call. */
#include <string.h>
#include "dpcp_math.h"
#include "load_router.h"
#include "mlcp_math.h"
#include "mlcp_router.h"
#include "xcp_math.h"
#include "xcp_router.h"

void host_vcp(struct vcp_state *vcp, u64 now_us, u32 srtt_us, u32 code, u32 acked)
{
	vcp_on_ack(vcp, now_us, srtt_us, code, acked, 1);
}

void host_dpcp_start(struct dpcp_state *dpcp)
{
	dpcp_start(dpcp);
}

void host_dpcp(struct dpcp_state *dpcp, u64 now_us, u32 srtt_us, u32 part, u32 code, u32 acked)
{
	dpcp_on_ack(dpcp, now_us, srtt_us, part, code, acked, 1);
}

u32 host_dpcp_switched(u32 seq, u32 ack, u32 from, u32 to, u32 expected)
{
	return dpcp_switched(seq, ack, from, to, expected);
}

u32 host_dpcp_part(u32 seq, u32 ack)
{
	return dpcp_part(seq, ack);
}

void host_mlcp(struct mlcp_state *mlcp, u64 now_us, u32 srtt_us, u32 word, u32 acked)
{
	mlcp_on_ack(mlcp, now_us, srtt_us, word, acked, 1);
}

u32 host_mlcp_word(u32 load, u32 t_p, u32 rtt_us)
{
	return mlcp_word(load, t_p, rtt_us);
}

void host_xcp(struct xcp_state *xcp, s64 feedback, u32 packet)
{
	xcp_on_feedback(xcp, feedback, packet);
}

void host_xcp_bound(struct xcp_state *xcp, struct xcp_round *round, u64 before, u32 una, u32 nxt)
{
	xcp_bound(xcp, round, before, una, nxt);
}

void host_xcp_header(u8 *bytes, u32 rtt_us, u64 cwnd, s64 feedback)
{
	struct xcp_state xcp = { .cwnd = cwnd };
	struct xcp_header header;

	xcp_put(&header, &xcp, rtt_us, feedback);
	memcpy(bytes, &header, sizeof(header));
}

void host_ixcp_header(u8 *bytes, u32 rtt_us, u64 cwnd, s64 feedback, u32 bottleneck)
{
	struct xcp_state xcp = { .cwnd = cwnd };
	struct ixcp_header header;

	xcp_put(&header.xcp, &xcp, rtt_us, feedback);
	header.xcp.rtt = big32(ixcp_rtt_field(rtt_us));
	header.bottleneck = big32(bottleneck);
	header.next_bottleneck = 0;
	memcpy(bytes, &header, sizeof(header));
}

/* A packet at a router; `now` and `arrived` as the BPF programs have them. True when the load
 * factor is new. */
int host_load_measure(struct load_meter *meter, u64 capacity, u64 now, u64 arrived, u64 waiting)
{
	return load_is_due(meter, now) &&
	       load_measure(meter, load_vcp, capacity, now, arrived, waiting);
}

int host_mlcp_measure(struct mlcp_gauge *gauge, u64 capacity, u64 now, const struct mlcp_sums *sums,
		      u64 waiting)
{
	return mlcp_is_due(gauge, now) && mlcp_measure(gauge, capacity, now, sums, waiting);
}

u32 host_mlcp_router(const struct mlcp_gauge *gauge, u32 word)
{
	return mlcp_router_mark(gauge->load, gauge->told, word);
}

u32 host_vcp_router(u64 rho, u32 theirs)
{
	return vcp_router_mark(vcp_router_code(rho), theirs);
}

u32 host_dpcp_router(u64 rho, u8 *flag, u32 part, u32 theirs)
{
	return dpcp_router_mark(dpcp_router_level(rho), flag, part, theirs);
}

int host_mlcp_near(u32 word, u32 srtt_us)
{
	return mlcp_rtt_is_near(word, srtt_us);
}

int host_xcp_near(u32 rtt_us, u32 srtt_us)
{
	return xcp_rtt_is_near(rtt_us, srtt_us);
}

int host_ixcp_near(u32 rtt_us, u32 srtt_us)
{
	return ixcp_rtt_is_near(ixcp_rtt_field(rtt_us), srtt_us);
}

/* A router of XCP or iXCP: a packet comes at `now`; true when an interval has ended. */
int host_xcp_measure(struct xcp_router *router, u64 capacity, u64 now, u64 arrived, u64 waiting)
{
	int ended = xcp_is_due(&router->meter, now) &&
		    xcp_measure(&router->meter, capacity, now, arrived, waiting);

	if (ended) {
		xcp_decide(router);
		xcp_restart(&router->meter, now);
	}
	return ended;
}

int host_ixcp_measure(struct ixcp_router *router, u64 capacity, u64 now, u64 arrived, u64 waiting)
{
	int ended = xcp_is_due(&router->meter, now) &&
		    xcp_measure(&router->meter, capacity, now, arrived, waiting);

	if (ended) {
		ixcp_decide(router);
		xcp_restart(&router->meter, now);
	}
	return ended;
}

/* Then it meets the queue, and its header leaves as this. */
void host_xcp_forward(struct xcp_router *router, u64 waiting, u8 *bytes, u32 size, u32 packets)
{
	struct xcp_header header;
	struct xcp_stated stated;

	memcpy(&header, bytes, sizeof(header));
	stated = xcp_read(&header, size, packets);
	if (xcp_is_lowest(&router->meter, waiting))
		router->meter.lowest_queue = waiting;
	if (stated.rtt.m)
		xcp_forward(router, &stated, &header);
	else
		xcp_pass(&header);
	memcpy(bytes, &header, sizeof(header));
}

void host_ixcp_forward(struct ixcp_router *router, u64 waiting, u8 *bytes, u32 size, u32 packets,
		       u32 link)
{
	struct ixcp_header header;
	struct xcp_stated stated;

	memcpy(&header, bytes, sizeof(header));
	stated = ixcp_read(&header, size, packets);
	if (xcp_is_lowest(&router->meter, waiting))
		router->meter.lowest_queue = waiting;
	if (!ixcp_is_none(&header))
		ixcp_forward(router, link, &stated, &header);
	memcpy(bytes, &header, sizeof(header));
}
