/* A connection. In memory it is the struct Tcp of crates/interface, field for field: each flow's is
 * lent to its module, not copied. What is not here, modules of this simulator cannot have.
 */
#ifndef CCLAB_LINUX_TCP_H
#define CCLAB_LINUX_TCP_H

#include <linux/kernel.h>
#include <linux/win_minmax.h>

struct tcp_congestion_ops;

/* sk_state */
enum {
	TCP_ESTABLISHED = 1, TCP_SYN_SENT, TCP_SYN_RECV, TCP_FIN_WAIT1, TCP_FIN_WAIT2,
	TCP_TIME_WAIT, TCP_CLOSE, TCP_CLOSE_WAIT, TCP_LAST_ACK, TCP_LISTEN, TCP_CLOSING,
	TCP_NEW_SYN_RECV,
};
#define TCPF_ESTABLISHED (1 << TCP_ESTABLISHED)
#define TCPF_CLOSE (1 << TCP_CLOSE)
#define TCPF_LISTEN (1 << TCP_LISTEN)

enum tcp_ca_state { TCP_CA_Open, TCP_CA_Disorder, TCP_CA_CWR, TCP_CA_Recovery, TCP_CA_Loss };
#define TCPF_CA_Open (1 << TCP_CA_Open)
#define TCPF_CA_Disorder (1 << TCP_CA_Disorder)
#define TCPF_CA_CWR (1 << TCP_CA_CWR)
#define TCPF_CA_Recovery (1 << TCP_CA_Recovery)
#define TCPF_CA_Loss (1 << TCP_CA_Loss)

/* sk_pacing_status */
enum sk_pacing { SK_PACING_NONE, SK_PACING_NEEDED, SK_PACING_FQ };

/* icsk_ack.pending */
enum {
	ICSK_ACK_SCHED = 1, ICSK_ACK_TIMER = 2, ICSK_ACK_PUSHED = 4, ICSK_ACK_PUSHED2 = 8,
	ICSK_ACK_NOW = 16, ICSK_ACK_NOMEM = 32,
};

/* ecn_flags */
#define TCP_ECN_OK 1
#define TCP_ECN_QUEUE_CWR 2
#define TCP_ECN_DEMAND_CWR 4
#define TCP_ECN_SEEN 8

struct sock {
	unsigned long sk_pacing_rate;
	unsigned long sk_max_pacing_rate;
	u32 sk_pacing_status;
	u32 sk_gso_max_size;
	u8 sk_pacing_shift;
	u8 sk_state;
	u8 cclab_sock_end[6];
};

/* Bytes that a module has for a flow; they are outside of the connection. */
struct cclab_private {
	u64 words[13];
};
#define icsk_ca_priv cclab_private->words
#define ICSK_CA_PRIV_SIZE sizeof(struct cclab_private)

struct inet_connection_sock {
	struct sock sk;
	u8 icsk_ca_state;
	struct {
		u8 pending;
	} icsk_ack;
	u8 cclab_before_rto[2];
	u32 icsk_rto;
	const struct tcp_congestion_ops *icsk_ca_ops;
	struct cclab_private *cclab_private;
};

struct tcp_options_received {
	u32 rcv_tsval;
	u32 rcv_tsecr;
	u32 saw_tstamp;
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u64 tcp_mstamp;
	u64 tcp_clock_cache;
	u64 tcp_wstamp_ns;
	u64 delivered_mstamp;
	u64 first_tx_mstamp;
	u64 cclab_ticks;
	u32 snd_cwnd;
	u32 snd_cwnd_cnt;
	u32 snd_cwnd_clamp;
	u32 snd_cwnd_stamp;
	u32 snd_ssthresh;
	u32 prior_cwnd;
	u32 prior_ssthresh;
	u32 packets_out;
	u32 sacked_out;
	u32 lost_out;
	u32 retrans_out;
	u32 max_packets_out;
	u32 is_cwnd_limited;
	u32 delivered;
	u32 delivered_ce;
	u32 lost;
	u32 app_limited;
	u32 srtt_us;
	u32 mdev_us;
	struct minmax rtt_min;
	u32 lsndtime;
	u32 mss_cache;
	u32 snd_una;
	u32 snd_nxt;
	u32 high_seq;
	u32 undo_marker;
	u32 prr_delivered;
	u32 prr_out;
	u32 rcv_nxt;
	u32 ecn_flags;
	struct tcp_options_received rx_opt;
	u64 cclab_dice;
};

static inline struct tcp_sock *tcp_sk(const struct sock *sk) { return (struct tcp_sock *)sk; }
static inline struct inet_connection_sock *inet_csk(const struct sock *sk)
{
	return (struct inet_connection_sock *)sk;
}
static inline void *inet_csk_ca(const struct sock *sk)
{
	return inet_csk(sk)->cclab_private;
}

#endif
