/* MLCP's end hosts: the congestion control `mlcp`, and its header in a TCP option.
 *
 * Data bears the lowest load code, the sender's t_p and RTT; the receiver returns the header of the
 * highest load since its last ACK. After a timeout the window is one packet, as in the simulator,
 * and no loss besides moves it. One deviation: a loss while the code is the lowest makes it Reno
 * until another comes. Without an MLCP router on the path the code never is another, and nothing
 * else would ever close the window. Where routers have said that they measure, a lowest code
 * without that brings nothing (packet.h). */
#include "host.h"
#include "packet.h"
#include "mlcp_math.h"

#define EXID 0x4d4c
#define HEADER_BYTES 4

struct flow {
	struct mlcp_state mlcp;
	struct fallback fallback;
	u32 word; /* the sender's: the header of the highest load since the last ACK was processed */
	u32 echo; /* the receiver's: since its last ACK */
	u8 sends, writes, pending;
	u8 load; /* the code processed last */
	u8 distrust; /* echoes that are still not believed */
	u8 measured; /* the receiver's: do routers say that they measure? */
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct flow);
} flows SEC(".maps");

static __always_inline void put(u32 word, u8 *bytes)
{
	word = bpf_htonl(word);
	__builtin_memcpy(bytes, &word, sizeof(word));
}

static __always_inline u32 get(const u8 *bytes)
{
	u32 word;

	__builtin_memcpy(&word, bytes, sizeof(word));
	return bpf_ntohl(word);
}

static __always_inline void forward(struct bpf_sock_ops *ops, struct flow *flow, u8 *bytes)
{
	put(mlcp_word(MLCP_LOWEST, flow->mlcp.t_p, ops->srtt_us >> 3), bytes);
}

static __always_inline void take_data(struct flow *flow, const struct segment *segment,
				      const u8 *bytes)
{
	u32 word = get(bytes);

	if (!tells_load(&flow->measured, segment, mlcp_load(word) <= MLCP_LOWEST))
		return;
	if (!flow->pending || mlcp_load(word) >= mlcp_load(flow->echo))
		flow->echo = word;
	flow->pending = 1;
}

static __always_inline void echo(struct flow *flow, u8 *bytes)
{
	put(flow->echo, bytes);
	flow->pending = 0;
}

static __always_inline void take_echo(struct flow *flow, const u8 *bytes)
{
	u32 word = get(bytes);

	if (mlcp_load(word) && mlcp_load(word) >= mlcp_load(flow->word))
		flow->word = word;
}

static __always_inline int is_near(const u8 *bytes, u32 srtt_us)
{
	return mlcp_rtt_is_near(get(bytes), srtt_us);
}

#include "options.h"

SEC("struct_ops/init")
void BPF_PROG(cc_init, struct sock *sk)
{
	struct flow *flow = bpf_sk_storage_get(&flows, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);

	start_window(sk);
	if (!flow)
		return;
	__builtin_memset(&flow->mlcp, 0, sizeof(flow->mlcp));
	begin(&flow->fallback);
	flow->mlcp.t_p = MLCP_FIRST_T_P;
	flow->word = 0;
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

SEC("struct_ops/cong_avoid")
void BPF_PROG(cc_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_of(sk);
	struct flow *flow = bpf_sk_storage_get(&flows, sk, NULL, 0);
	u32 word;

	if (!flow)
		return;
	word = flow->word;
	flow->word = 0;
	if (word)
		flow->load = mlcp_load(word);
	if (falls_back(tp, &flow->fallback, word != 0) ||
	    is_blind(&flow->fallback, word != 0, flow->load == MLCP_LOWEST)) {
		reno(tp, &flow->fallback, acked);
		return;
	}
	flow->mlcp.cwnd = sane_cwnd(take_window(tp, flow->mlcp.cwnd));
	mlcp_on_ack(&flow->mlcp, tp->tcp_mstamp, srtt_of(tp), word, acked, uses_window(tp));
	give_window(tp, flow->mlcp.cwnd);
}

/* Decoupled: a loss cuts nothing, unless Reno has the window, or the code says that less than 16 %
 * of the path is used: then another queue than an MLCP router's is full. */
SEC("struct_ops/ssthresh")
u32 BPF_PROG(cc_ssthresh, struct sock *sk)
{
	struct flow *flow = bpf_sk_storage_get(&flows, sk, NULL, 0);
	u32 cwnd = tcp_of(sk)->snd_cwnd;

	if (flow)
		lost(&flow->fallback, flow->load == MLCP_LOWEST);
	if (!flow || flow->fallback.reno || flow->fallback.blind)
		return reno_ssthresh(sk);
	return cwnd > 2 ? cwnd : 2;
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
	.name = "mlcp",
};
