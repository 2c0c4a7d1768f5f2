// Asks for what modules have of headers and stack, and has the window depend on the answers.

#include <linux/module.h>
#include <linux/math64.h>
#include <linux/random.h>
#include <linux/win_minmax.h>
#include <net/tcp.h>

static int beta __read_mostly = 700;
module_param(beta, int, 0644);

struct asks {
	u32 mix;
	u32 acks;
	struct minmax fastest;
};

static void take(struct asks *own, u64 value)
{
	own->mix = (own->mix ^ (u32)value ^ (u32)(value >> 32)) * 16777619U;
}

static void asks_init(struct sock *sk)
{
	struct asks *own = inet_csk_ca(sk);

	own->mix = 2166136261U;
	minmax_reset(&own->fastest, tcp_jiffies32, ~0U);
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
}

static void asks_acked(struct sock *sk, const struct ack_sample *sample)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct asks *own = inet_csk_ca(sk);

	take(own, sample->rtt_us);
	take(own, sample->pkts_acked);
	take(own, sample->in_flight);
	take(own, jiffies);
	take(own, ktime_get_ns());
	take(own, tcp_min_rtt(tp));
	take(own, tp->srtt_us ^ tp->mdev_us);
	if (sample->rtt_us > 0)
		minmax_running_min(&own->fastest, msecs_to_jiffies(500), tcp_jiffies32,
				   sample->rtt_us);
	take(own, minmax_get(&own->fastest));
}

static void asks_in_ack(struct sock *sk, u32 flags)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct asks *own = inet_csk_ca(sk);

	take(own, flags);
	take(own, tp->delivered ^ tp->delivered_ce << 8 ^ tp->lost << 16);
	take(own, tcp_packets_in_flight(tp));
	take(own, (u64)tp->snd_una << 32 | tp->snd_nxt);
}

static u32 asks_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct asks *own = inet_csk_ca(sk);

	take(own, tcp_current_ssthresh(sk));
	return max_t(u32, tcp_snd_cwnd(tp) * beta / 1024 + own->mix % 3, 2);
}

static void asks_state(struct sock *sk, u8 state)
{
	take(inet_csk_ca(sk), inet_csk(sk)->icsk_ca_state * 8 + state);
}

static void asks_event(struct sock *sk, enum tcp_ca_event event)
{
	take(inet_csk_ca(sk), event);
}

static void asks_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct asks *own = inet_csk_ca(sk);
	u64 rate = mul_u64_u64_div_u64((u64)tcp_snd_cwnd(tp) * tp->mss_cache, USEC_PER_SEC * 8,
				       max(tp->srtt_us, 1U));

	take(own, ack);
	take(own, div64_u64(rate, own->mix % 97 + 1));
	take(own, int_sqrt(rate));
	sk->sk_pacing_rate = min_t(u64, rate * 5 / 4, sk->sk_max_pacing_rate);
	if (++own->acks % 4096 == 0)
		tcp_enter_cwr(sk);
	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tcp_snd_cwnd(tp) - get_random_u32_below(7), acked);
}

static u32 asks_segs(struct sock *sk)
{
	return sk->sk_pacing_rate < 1000000 ? 1 : 2;
}

static u32 asks_windows(struct sock *sk)
{
	return 3;
}

static struct tcp_congestion_ops asks __read_mostly = {
	.name = "asks",
	.owner = THIS_MODULE,
	.init = asks_init,
	.pkts_acked = asks_acked,
	.in_ack_event = asks_in_ack,
	.ssthresh = asks_ssthresh,
	.set_state = asks_state,
	.cwnd_event = asks_event,
	.cong_avoid = asks_avoid,
	.undo_cwnd = tcp_reno_undo_cwnd,
	.min_tso_segs = asks_segs,
	.sndbuf_expand = asks_windows,
};

static int __init asks_register(void)
{
	return tcp_register_congestion_control(&asks);
}

static void __exit asks_unregister(void)
{
	tcp_unregister_congestion_control(&asks);
}

module_init(asks_register);
module_exit(asks_unregister);
MODULE_LICENSE("GPL");
