/* What the kernel calls of VCP's and DPCP's senders; the file that includes this defines their
 * flows, act() for ACKs, cc_init, cc_ssthresh and CC_NAME. */
SEC("struct_ops/release")
void BPF_PROG(cc_release, struct sock *sk)
{
	struct flow *flow = bpf_sk_storage_get(&flows, sk, NULL, 0);

	if (!flow)
		return;
	flow->sends = 0;
	end(&flow->fallback);
}

#ifdef DECOUPLED
/* In recovery too, and nobody else paces. */
SEC("struct_ops/cong_control")
void BPF_PROG(cc_cong_control, struct sock *sk)
{
	struct flow *flow = bpf_sk_storage_get(&flows, sk, NULL, 0);

	if (!flow)
		return;
	act(tcp_of(sk), flow, newly_delivered(tcp_of(sk), &flow->delivered));
	pace(sk);
}
#else
SEC("struct_ops/cong_avoid")
void BPF_PROG(cc_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct flow *flow = bpf_sk_storage_get(&flows, sk, NULL, 0);

	if (flow)
		act(tcp_of(sk), flow, acked);
}
#endif

/* VCP's pacing of large RTTs (`pace_large_rtt`), where the kernel is not to space: this is asked
 * before it sends, and after it has set its own rate. The answer is how many packets a large one
 * has at least: the kernel's own, and one in a gap. */
SEC("struct_ops/min_tso_segs")
u32 BPF_PROG(cc_min_tso_segs, struct sock *sk)
{
	const struct tcp_sock *tp = tcp_of(sk);
	u32 srtt = srtt_of(tp), cwnd = tp->snd_cwnd, slots = 2;
	u32 least = sk->__sk_common.skc_net.net->ipv4.sysctl_tcp_min_tso_segs;

	if (srtt <= VCP_T_RHO_US || cwnd < 2 || cwnd > 64 || pacing_ratio(sk))
		return least;
	for (int i = 0; i < 5; i++)
		if (slots < cwnd)
			slots *= 2;
	if (srtt / slots <= VCP_T_RHO_US / 2)
		return least;
	sk->sk_pacing_rate = min64((u64)tp->mss_cache * slots * 1000000 / srtt, sk->sk_max_pacing_rate);
	return 1;
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
#ifdef DECOUPLED
	.cong_control = (void *)cc_cong_control,
	.name = CC_NAME "_decoupled",
#else
	.cong_avoid = (void *)cc_cong_avoid,
	.name = CC_NAME,
#endif
	.ssthresh = (void *)cc_ssthresh,
	.undo_cwnd = (void *)cc_undo_cwnd,
	.min_tso_segs = (void *)cc_min_tso_segs,
};
