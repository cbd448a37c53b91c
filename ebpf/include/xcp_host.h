/* The end hosts of XCP and, with IXCP defined, of iXCP. */
#include "host.h"
#include "packet.h"
#include "xcp_math.h"

#ifdef IXCP
typedef struct ixcp_header header_t;
#define XCP(header) (&(header)->xcp)
#else
typedef struct xcp_header header_t;
#define XCP(header) (header)
#endif

#define HEADER_BYTES sizeof(header_t)
#define OPTION_BYTES (4 + HEADER_BYTES)

struct flow {
	struct xcp_state xcp;
	struct xcp_round round;
	struct fallback fallback;
	/* The sender's: what came back and is not processed yet. */
	s64 feedback;
	u32 packet; /* s, with all headers [bytes] */
	u32 ip_header; /* of that, the IP header's */
	u32 bottleneck; /* as on the wire */
	/* The receiver's: the sum since its last ACK, the last header, did an untouched one come? */
	s64 sum;
	header_t last;
	u8 untouched;
	u8 sends, writes, pending, heard;
	u8 distrust; /* echoes that are still not believed */
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct flow);
} flows SEC(".maps");

static __always_inline void forward(struct bpf_sock_ops *ops, struct flow *flow, u8 *bytes)
{
	header_t header = {};
	struct xcp_state now = flow->xcp;
	u32 srtt_us = ops->srtt_us >> 3;

	/* Before the first ACK and in recovery the window is the kernel's. */
	if (!flow->packet)
		flow->packet = flow->ip_header + 20 + ops->mss_cache; /* timestamps come with the first ACK */
	if (now.cwnd / ((u64)flow->packet << 16) != ops->snd_cwnd)
		now.cwnd = min64(ops->snd_cwnd, MAX_CWND) * flow->packet << 16;

	xcp_put(XCP(&header), &now, srtt_us, XCP_LARGEST);
#ifdef IXCP
	header.xcp.rtt = big32(ixcp_rtt_field(srtt_us));
	header.bottleneck = flow->bottleneck;
#endif
	__builtin_memcpy(bytes, &header, sizeof(header));
}

static __always_inline void take_data(struct flow *flow, const struct segment *segment,
				      const u8 *bytes)
{
	header_t header;
	s64 feedback;

	__builtin_memcpy(&header, bytes, sizeof(header));
	feedback = big64(XCP(&header)->feedback);
	if (feedback == XCP_LARGEST)
		flow->untouched = 1;
	else
		__sync_fetch_and_add(&flow->sum, xcp_clamp(feedback));
	flow->last = header;
	flow->pending = 1;
}

static __always_inline void echo(struct flow *flow, u8 *bytes)
{
	header_t header = flow->last;
	s64 sum = __sync_lock_test_and_set(&flow->sum, 0);

	XCP(&header)->feedback = big64((u64)(flow->untouched ? XCP_LARGEST : sum));
	flow->untouched = 0;
	flow->pending = 0;
	__builtin_memcpy(bytes, &header, sizeof(header));
}

static __always_inline void take_echo(struct flow *flow, const u8 *bytes)
{
	header_t header;
	s64 feedback;

	__builtin_memcpy(&header, bytes, sizeof(header));
	feedback = big64(XCP(&header)->feedback);
#ifdef IXCP
	flow->bottleneck = header.next_bottleneck;
#endif
	if (feedback == XCP_LARGEST)
		return;
	__sync_fetch_and_add(&flow->feedback, xcp_clamp(feedback));
	flow->heard = 1;
}

static __always_inline int is_near(const u8 *bytes, u32 srtt_us)
{
	header_t header;

	__builtin_memcpy(&header, bytes, sizeof(header));
#ifdef IXCP
	return ixcp_rtt_is_near(big32(header.xcp.rtt), srtt_us);
#else
	return xcp_rtt_is_near(big32(header.rtt), srtt_us);
#endif
}

#include "options.h"

SEC("struct_ops/init")
void BPF_PROG(cc_init, struct sock *sk)
{
	struct flow *flow = bpf_sk_storage_get(&flows, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);

	start_window(sk);
	if (!flow)
		return;
	begin(&flow->fallback);
	flow->xcp.cwnd = 0;
	/* 40 for IPv6, but 20 for a socket of IPv6 whose peer has an address of IPv4. */
	flow->ip_header = tcp_of(sk)->inet_conn.icsk_af_ops->net_header_len;
	flow->round.begun = 0;
	flow->feedback = 0;
	flow->bottleneck = 0;
	flow->heard = 0;
	flow->distrust = 0;
	flow->sends = 1;
}

SEC("struct_ops/release")
void BPF_PROG(cc_release, struct sock *sk)
{
	struct flow *flow = bpf_sk_storage_get(&flows, sk, NULL, 0);

	if (!flow)
		return;
	flow->sends = 0;
	end(&flow->fallback);
}

/* The kernel counts packets, XCP bytes: where the two do not say the same, the kernel has moved the
 * window (recovery, timeout, idling), and its word holds. */
static __always_inline void take_bytes(const struct tcp_sock *tp, struct flow *flow)
{
	u64 unit;

	/* IP header, TCP header with timestamps, payload; our option is inside mss_cache. */
	flow->packet = flow->ip_header + tp->tcp_header_len + tp->mss_cache;
	unit = (u64)flow->packet << 16;
	if (flow->xcp.cwnd / unit != tp->snd_cwnd)
		flow->xcp.cwnd = min64(tp->snd_cwnd, MAX_CWND) * unit;
}

SEC("struct_ops/cong_avoid")
void BPF_PROG(cc_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_of(sk);
	struct flow *flow = bpf_sk_storage_get(&flows, sk, NULL, 0);
	s64 feedback;
	u64 before;
	int heard;

	if (!flow)
		return;
	heard = flow->heard;
	flow->heard = 0;
	if (falls_back(tp, &flow->fallback, heard)) {
		reno(tp, &flow->fallback, acked);
		take_bytes(tp, flow);
		return;
	}
	take_bytes(tp, flow);
	feedback = __sync_lock_test_and_set(&flow->feedback, 0);
	before = flow->xcp.cwnd;
	if (feedback < 0 || uses_window(tp))
		xcp_on_feedback(&flow->xcp, feedback, flow->packet);
	xcp_bound(&flow->xcp, &flow->round, before, tp->snd_una, tp->snd_nxt);
	give_window(tp, (flow->xcp.cwnd / ((u64)flow->packet << 16)) << 32);
}

SEC("struct_ops/ssthresh")
u32 BPF_PROG(cc_ssthresh, struct sock *sk)
{
	return reno_ssthresh(sk);
}

SEC("struct_ops/undo_cwnd")
u32 BPF_PROG(cc_undo_cwnd, struct sock *sk)
{
	return reno_undo_cwnd(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops cc = {
	.init = (void *)cc_init,
	.release = (void *)cc_release,
	.cong_avoid = (void *)cc_cong_avoid,
	.ssthresh = (void *)cc_ssthresh,
	.undo_cwnd = (void *)cc_undo_cwnd,
	.name = CC_NAME,
};
