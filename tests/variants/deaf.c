// deaf: sends at 40 Mbit/s whatever is lost or marked. What a congestion control must not do.

#include <linux/module.h>
#include <net/tcp.h>

static void deaf_init(struct sock *sk)
{
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
}

static u32 deaf_ssthresh(struct sock *sk)
{
	return TCP_INFINITE_SSTHRESH;
}

static void deaf_cong_control(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	sk->sk_pacing_rate = 40000000 / 8;
	tcp_snd_cwnd_set(tcp_sk(sk), 4000);
}

static u32 deaf_undo_cwnd(struct sock *sk)
{
	return tcp_snd_cwnd(tcp_sk(sk));
}

static struct tcp_congestion_ops deaf_ops __read_mostly = {
	.name		= "deaf",
	.owner		= THIS_MODULE,
	.init		= deaf_init,
	.ssthresh	= deaf_ssthresh,
	.cong_control	= deaf_cong_control,
	.undo_cwnd	= deaf_undo_cwnd,
};

static int __init deaf_register(void)
{
	return tcp_register_congestion_control(&deaf_ops);
}

static void __exit deaf_unregister(void)
{
	tcp_unregister_congestion_control(&deaf_ops);
}

module_init(deaf_register);
module_exit(deaf_unregister);

MODULE_LICENSE("GPL");
