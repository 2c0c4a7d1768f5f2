/* Congestion controls: what they are, what they are told, and what they may call. */
#ifndef CCLAB_NET_TCP_H
#define CCLAB_NET_TCP_H

#include <linux/tcp.h>
#include <linux/inet_diag.h>
#include <linux/module.h>

struct sk_buff;
struct net;

enum tcp_ca_event {
	CA_EVENT_TX_START,
	CA_EVENT_CWND_RESTART,
	CA_EVENT_COMPLETE_CWR,
	CA_EVENT_LOSS,
	CA_EVENT_ECN_NO_CE,
	CA_EVENT_ECN_IS_CE,
};

enum tcp_ca_ack_event_flags {
	CA_ACK_SLOWPATH = 1,
	CA_ACK_WIN_UPDATE = 2,
	CA_ACK_ECE = 4,
};

#define TCP_CA_NAME_MAX 16
#define TCP_CONG_NON_RESTRICTED 1
#define TCP_CONG_NEEDS_ECN 2

struct ack_sample {
	u32 pkts_acked;
	s32 rtt_us;
	u32 in_flight;
};

struct rate_sample {
	u64 prior_mstamp;
	u32 prior_delivered;
	u32 prior_delivered_ce;
	s32 delivered;
	s32 delivered_ce;
	long interval_us;
	u32 snd_interval_us;
	u32 rcv_interval_us;
	long rtt_us;
	int losses;
	u32 acked_sacked;
	u32 prior_in_flight;
	u32 last_end_seq;
	bool is_app_limited;
	bool is_retrans;
	bool is_ack_delayed;
};

struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*set_state)(struct sock *sk, u8 new_state);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event ev);
	void (*in_ack_event)(struct sock *sk, u32 flags);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	u32 (*min_tso_segs)(struct sock *sk);
	void (*cong_control)(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs);
	u32 (*undo_cwnd)(struct sock *sk);
	u32 (*sndbuf_expand)(struct sock *sk);
	size_t (*get_info)(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info);
	char name[TCP_CA_NAME_MAX];
	struct module *owner;
	struct list_head list;
	u32 key;
	u32 flags;
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
};

int tcp_register_congestion_control(struct tcp_congestion_ops *ops);
void tcp_unregister_congestion_control(struct tcp_congestion_ops *ops);

#define TCP_INFINITE_SSTHRESH 0x7fffffff
#define TCP_INIT_CWND 10
#define TCP_MIN_MSS 88U
#define TCP_MSS_DEFAULT 536U
#define TCP_TS_HZ 1000
#define TCP_RTO_MAX ((unsigned int)(120 * HZ))
#define TCP_RTO_MIN ((unsigned int)(HZ / 5))
#define TCP_TIMEOUT_INIT ((unsigned int)HZ)
#define TCP_DELACK_MAX ((unsigned int)(HZ / 5))
#define TCP_DELACK_MIN ((unsigned int)(HZ / 25))
#define GSO_LEGACY_MAX_SIZE 65536u
#define GSO_MAX_SIZE (8 * 65536u)
/* That of a kernel with tunnels, on whose links headers are longest. */
#define MAX_TCP_HEADER 320

/* Sequence numbers: which of two is the earlier. */
static inline bool before(u32 a, u32 b) { return (s32)(a - b) < 0; }
#define after(b, a) before(a, b)
static inline bool between(u32 a, u32 b, u32 c) { return c - b >= a - b; }

static inline u32 tcp_snd_cwnd(const struct tcp_sock *tp) { return tp->snd_cwnd; }
static inline void tcp_snd_cwnd_set(struct tcp_sock *tp, u32 segments) { tp->snd_cwnd = segments; }
static inline unsigned int tcp_left_out(const struct tcp_sock *tp)
{
	return tp->sacked_out + tp->lost_out;
}
static inline unsigned int tcp_packets_in_flight(const struct tcp_sock *tp)
{
	return tp->packets_out - tcp_left_out(tp) + tp->retrans_out;
}
static inline bool tcp_in_slow_start(const struct tcp_sock *tp)
{
	return tp->snd_cwnd < tp->snd_ssthresh;
}
static inline bool tcp_in_initial_slowstart(const struct tcp_sock *tp)
{
	return tp->snd_ssthresh >= TCP_INFINITE_SSTHRESH;
}
static inline bool tcp_in_cwnd_reduction(const struct sock *sk)
{
	return (TCPF_CA_CWR | TCPF_CA_Recovery) >> inet_csk(sk)->icsk_ca_state & 1;
}
static inline bool tcp_is_cwnd_limited(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return tp->is_cwnd_limited ||
	       (tcp_in_slow_start(tp) && tp->snd_cwnd < 2 * tp->max_packets_out);
}
static inline u32 tcp_current_ssthresh(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 most = (tp->snd_cwnd >> 1) + (tp->snd_cwnd >> 2);

	return tcp_in_cwnd_reduction(sk) ? tp->snd_ssthresh : max(tp->snd_ssthresh, most);
}
static inline u32 tcp_min_rtt(const struct tcp_sock *tp) { return minmax_get(&tp->rtt_min); }
static inline bool tcp_ca_needs_ecn(const struct sock *sk)
{
	return inet_csk(sk)->icsk_ca_ops->flags & TCP_CONG_NEEDS_ECN;
}

u32 tcp_slow_start(struct tcp_sock *tp, u32 acked);
void tcp_cong_avoid_ai(struct tcp_sock *tp, u32 w, u32 acked);
u32 tcp_reno_ssthresh(struct sock *sk);
u32 tcp_reno_undo_cwnd(struct sock *sk);
void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked);
extern struct tcp_congestion_ops tcp_reno;
/* Begins a reduction as a mark does, unless one is under way. */
void tcp_enter_cwr(struct sock *sk);

/* Times: microseconds, unless a name says otherwise. */
static inline u64 tcp_clock_ns(void) { return cclab_clock_ns(); }
static inline u64 tcp_clock_us(void) { return cclab_clock_ns() / 1000; }
static inline u64 tcp_clock_ms(void) { return cclab_clock_ns() / 1000000; }
static inline u32 tcp_time_stamp_ms(const struct tcp_sock *tp) { return tp->tcp_mstamp / 1000; }
static inline u32 tcp_time_stamp_ts(const struct tcp_sock *tp) { return tp->tcp_mstamp / 1000; }
static inline u32 tcp_time_stamp(const struct tcp_sock *tp) { return tp->tcp_mstamp / 1000; }
static inline u32 tcp_stamp_us_delta(u64 later, u64 earlier)
{
	return max_t(s64, later - earlier, 0);
}

/* What belongs to the stack alone: marks and acknowledgements are its own affair here, nothing is
 * counted for SNMP, no path is chosen anew, and no BPF program answers.
 */
static inline struct net *sock_net(const struct sock *sk) { return (struct net *)sk; }
static inline void INET_ECN_xmit(struct sock *sk) { }
static inline void INET_ECN_dontxmit(struct sock *sk) { }
static inline void __tcp_send_ack(struct sock *sk, u32 rcv_nxt, u16 flags) { }
#define NET_INC_STATS(net, counter) ((void)(net))
#define NET_ADD_STATS(net, counter, by) ((void)(net), (void)(by))
#define TCP_PLB_SCALE 8
struct tcp_plb_state {
	u32 pause_until;
	u8 consec_cong_rounds;
};
static inline void tcp_plb_init(const struct sock *sk, struct tcp_plb_state *plb)
{
	*plb = (struct tcp_plb_state){ 0 };
}
static inline void tcp_plb_update_state(const struct sock *sk, struct tcp_plb_state *plb, int ratio) { }
static inline void tcp_plb_check_rehash(struct sock *sk, struct tcp_plb_state *plb) { }
static inline void tcp_plb_update_state_upon_rto(struct sock *sk, struct tcp_plb_state *plb) { }

#define BPF_SOCK_OPS_BASE_RTT 7
#define tcp_call_bpf(sk, op, count, words) (-1)
#define tcp_call_bpf_2arg(sk, op, a, b) (-1)
#define tcp_call_bpf_3arg(sk, op, a, b, c) (-1)

/* The inner state that a module tells traces: columns of its own struct, which `inet_csk_ca` gives it.
 * A kernel has none of this: a file that is for both asks #ifdef CCLAB_TRACED before.
 */
struct cclab_column {
	const char *name;
	const char *meaning;
	const char *const *words;
	u32 kind;
	u32 offset;
	u32 size;
	u32 is_signed;
};

#define cclab_field(field_) (((cclab_state *)0)->field_)
#define cclab_is_real(field_)                                                  \
	(__builtin_types_compatible_p(__typeof__(cclab_field(field_)), float) || \
	 __builtin_types_compatible_p(__typeof__(cclab_field(field_)), double))
/* Nothing, for a field that is a whole number. */
#define cclab_whole(field_)                                                    \
	(0 * sizeof(struct {                                                   \
		_Static_assert(!cclab_is_real(field_) &&                       \
			(sizeof(cclab_field(field_)) == 1 ||                   \
			 sizeof(cclab_field(field_)) == 2 ||                   \
			 sizeof(cclab_field(field_)) == 4 ||                   \
			 sizeof(cclab_field(field_)) == 8),                    \
			"a column is a field of whole numbers: " #field_);     \
		int nothing;                                                   \
	}))
#define cclab_column(kind_, name_, field_, meaning_, words_)                   \
	{ name_, meaning_, words_, kind_, __builtin_offsetof(cclab_state, field_), \
	  sizeof(cclab_field(field_)) + cclab_whole(field_),                   \
	  (__typeof__(cclab_field(field_)))-1 < (__typeof__(cclab_field(field_)))1 }

#define CCLAB_NUMBER(name, field, meaning) cclab_column(0, name, field, meaning, NULL)
#define CCLAB_COUNT(name, field, meaning) cclab_column(1, name, field, meaning, NULL)
#define CCLAB_FLAG(name, field, meaning) cclab_column(2, name, field, meaning, NULL)
/* A field whose numbers are places in a list of words, from 0. */
#define CCLAB_WORD(name, field, meaning, ...)                                  \
	cclab_column(3, name, field, meaning, ((const char *const[]){ __VA_ARGS__, NULL }))

#define CCLAB_TRACED(state_, ...)                                              \
	typedef state_ cclab_state;                                            \
	_Static_assert(sizeof(cclab_state) <= sizeof(struct cclab_private),    \
		       "a module has so many bytes for a flow");               \
	extern const struct cclab_column cclab_columns[];                      \
	const struct cclab_column cclab_columns[] = { __VA_ARGS__, { 0 } }

#endif
