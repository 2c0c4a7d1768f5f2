/* What Linux's stack does for its congestion controls, for the flow whose hook runs. */

#include <net/tcp.h>
#include <linux/random.h>

#include "cclab.h"

u32 tcp_slow_start(struct tcp_sock *tp, u32 acked)
{
	u32 grown = min(tp->snd_cwnd + acked, tp->snd_ssthresh);
	u32 used = grown - tp->snd_cwnd;

	tp->snd_cwnd = min(grown, tp->snd_cwnd_clamp);
	return acked - used;
}

void tcp_cong_avoid_ai(struct tcp_sock *tp, u32 w, u32 acked)
{
	u32 steps = 0;

	/* What was counted under a larger `w` is worth one segment, no more. */
	if (tp->snd_cwnd_cnt >= w) {
		tp->snd_cwnd_cnt = 0;
		steps = 1;
	}
	tp->snd_cwnd_cnt += acked;
	if (tp->snd_cwnd_cnt >= w) {
		steps += tp->snd_cwnd_cnt / w;
		tp->snd_cwnd_cnt %= w;
	}
	tp->snd_cwnd = min(tp->snd_cwnd + steps, tp->snd_cwnd_clamp);
}

u32 tcp_reno_ssthresh(struct sock *sk)
{
	return max(tcp_sk(sk)->snd_cwnd >> 1, 2U);
}

u32 tcp_reno_undo_cwnd(struct sock *sk)
{
	return max(tcp_sk(sk)->snd_cwnd, tcp_sk(sk)->prior_cwnd);
}

void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
}

struct tcp_congestion_ops tcp_reno = {
	.name = "reno",
	.flags = TCP_CONG_NON_RESTRICTED,
	.ssthresh = tcp_reno_ssthresh,
	.cong_avoid = tcp_reno_cong_avoid,
	.undo_cwnd = tcp_reno_undo_cwnd,
};

void tcp_enter_cwr(struct sock *sk)
{
	struct inet_connection_sock *icsk = inet_csk(sk);
	const struct tcp_congestion_ops *ops = icsk->icsk_ca_ops;
	struct tcp_sock *tp = tcp_sk(sk);

	tp->prior_ssthresh = 0;
	if (icsk->icsk_ca_state >= TCP_CA_CWR)
		return;
	tp->undo_marker = 0;
	tp->high_seq = tp->snd_nxt;
	tp->snd_cwnd_cnt = 0;
	tp->prior_cwnd = tp->snd_cwnd;
	tp->prr_delivered = 0;
	tp->prr_out = 0;
	tp->snd_ssthresh = ops->ssthresh(sk);
	if (tp->ecn_flags & TCP_ECN_OK)
		tp->ecn_flags |= TCP_ECN_QUEUE_CWR;
	if (ops->set_state)
		ops->set_state(sk, TCP_CA_CWR);
	icsk->icsk_ca_state = TCP_CA_CWR;
}

u64 cclab_clock_ns(void)
{
	return cclab_flow()->tcp_clock_cache;
}

/* SplitMix64 (Steele, Lea and Flood 2014), as Tcp::random_u32 of crates/interface has it. */
u32 get_random_u32(void)
{
	u64 z = cclab_flow()->cclab_dice += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return (z ^ (z >> 31)) >> 32;
}

u32 get_random_u32_below(u32 ceiling)
{
	return (u64)get_random_u32() * ceiling >> 32;
}

void get_random_bytes(void *to, size_t count)
{
	u8 *bytes = to;

	while (count--)
		*bytes++ = get_random_u32();
}

/* A running extreme by Kathleen Nichols: the best sample of the window, the best after it, the best
 * after that. `sign` is 1 for the largest, -1 for the smallest.
 */
static bool reaches(int sign, u32 value, u32 best)
{
	return sign > 0 ? value >= best : value <= best;
}

static u32 extreme(struct minmax *m, int sign, u32 window, u32 t, u32 value)
{
	struct minmax_sample *s = m->s;
	struct minmax_sample fresh = { t, value };
	u32 age;

	if (reaches(sign, value, s[0].v) || t - s[2].t > window)
		return minmax_reset(m, t, value);
	if (reaches(sign, value, s[1].v))
		s[1] = s[2] = fresh;
	else if (reaches(sign, value, s[2].v))
		s[2] = fresh;

	age = t - s[0].t;
	if (age > window) {
		/* The best is too old: its followers move up, the second of them likewise. */
		int gone = t - s[1].t > window ? 2 : 1;

		while (gone--) {
			s[0] = s[1];
			s[1] = s[2];
			s[2] = fresh;
		}
	} else if (s[1].t == s[0].t && age > window / 4) {
		s[1] = s[2] = fresh;
	} else if (s[2].t == s[1].t && age > window / 2) {
		s[2] = fresh;
	}
	return s[0].v;
}

u32 minmax_running_max(struct minmax *m, u32 window, u32 t, u32 value)
{
	return extreme(m, 1, window, t, value);
}

u32 minmax_running_min(struct minmax *m, u32 window, u32 t, u32 value)
{
	return extreme(m, -1, window, t, value);
}

u64 mul_u64_u64_div_u64(u64 a, u64 b, u64 by)
{
	return (u64)((unsigned __int128)a * b / by);
}

/* Digit by digit in base two. */
static u64 root(u64 x)
{
	u64 found = 0;

	for (int bit = 31; bit >= 0; bit--) {
		u64 tried = found | 1ULL << bit;

		if (tried * tried <= x)
			found = tried;
	}
	return found;
}

unsigned long int_sqrt(unsigned long x)
{
	return root(x);
}

u32 int_sqrt64(u64 x)
{
	return root(x);
}
