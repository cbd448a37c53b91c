/* What the programs need to know of the kernel, by name: offsets are taken from the running
 * kernel's BTF when they are loaded (CO-RE), so that neither its headers nor vmlinux.h are needed
 * to build. */
#ifndef CLEARPIPE_KERNEL_H
#define CLEARPIPE_KERNEL_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s64 s64;

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

#define AF_INET 2
#define ETH_P_IP 0x0800
#define ETH_P_IPV6 0x86dd
#define IPPROTO_TCP 6
#define TC_ACT_OK 0
#define TC_ACT_UNSPEC (-1)
#define TCP_LISTEN 10

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct netns_ipv4 {
	int sysctl_tcp_pacing_ca_ratio;
	u8 sysctl_tcp_min_tso_segs;
};

struct net {
	struct netns_ipv4 ipv4;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct sock_common {
	possible_net_t skc_net;
};

struct sock {
	struct sock_common __sk_common;
	u32 sk_pacing_status;
	unsigned long sk_pacing_rate;
	unsigned long sk_max_pacing_rate;
};

struct inet_sock {
	struct sock sk;
};

struct inet_connection_sock_af_ops {
	u16 net_header_len;
};

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	const struct inet_connection_sock_af_ops *icsk_af_ops;
	u8 icsk_ca_state : 5;
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u32 mss_cache;
	u32 snd_cwnd;
	u32 snd_cwnd_clamp;
	u32 snd_ssthresh;
	u8 ecn_flags;
	u64 tcp_mstamp;
	u32 rcv_nxt;
	u32 snd_nxt;
	u32 snd_una;
	u32 snd_wnd;
	u32 srtt_us;
	u32 packets_out;
	u32 max_packets_out;
	u32 delivered;
	u32 app_limited;
	u32 prior_cwnd;
	u64 bytes_acked;
	u16 tcp_header_len;
};

struct Qdisc;

struct gnet_stats_queue {
	u32 qlen;
	u32 backlog;
};

struct Qdisc {
	struct gnet_stats_queue qstats;
};

struct net_device {
	struct Qdisc *qdisc;
};

struct sk_buff {
	struct net_device *dev;
};

#pragma clang attribute pop

/* The members that are set; libbpf finds them by name. Without flags a congestion control is for
 * processes with CAP_NET_ADMIN; the loader allows it to others where it is asked to. */
struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	/* Linux 6.10 put two arguments before the last; programs read the first only. */
	void (*cong_control)(struct sock *sk, const void *sample);
	u32 (*undo_cwnd)(struct sock *sk);
	u32 (*min_tso_segs)(struct sock *sk);
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
	u32 flags;
	char name[16];
};

/* ECN or AccECN was negotiated. */
#define TCP_ECN_MODES (1 | 16)
#define TCP_INFINITE_SSTHRESH 0x7fffffff
/* States of a sender's recovery (icsk_ca_state). */
#define TCP_CA_CWR 2
#define TCP_CA_RECOVERY 3
#define SK_PACING_NEEDED 1

char program_license[] SEC("license") = "Dual MIT/GPL";

#endif
