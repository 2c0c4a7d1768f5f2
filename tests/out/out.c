// out: Reno that gives up a quarter of its window at a loss, not half of it.
//
// A congestion control of the Linux kernel. `cclab run study.toml` compiles this file for the
// simulator, `cclab run study.toml --backend linux` into a kernel; a kernel's own tree builds it
// as it is. Change what you like: whatever you change, its runs are new ones.

#include <linux/module.h>
#include <net/tcp.h>

// What remains of the window at a loss, in parts of 1024: the kernel has no fractions. Studies
// set it: cc_params = { beta = 900 }.
static int beta __read_mostly = 768;
module_param(beta, int, 0644);
MODULE_PARM_DESC(beta, "what remains of the window at a loss, in parts of 1024");

// Data was lost, or marked. The answer is the window, in segments, that the stack comes down to
// while it repairs the loss, and from which it goes on; after a timeout it begins anew from one.
static u32 out_ssthresh(struct sock *sk)
{
	u32 cwnd = tcp_snd_cwnd(tcp_sk(sk));

	return max_t(u32, cwnd * beta / 1024, 2); // fewer than two could wait for a delayed ACK
}

// An acknowledgement of `acked` segments, with nothing amiss: the window may grow.
static void out_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return; // what was not used shows nothing of the path

	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked); // doubles each round trip, up to ssthresh

	// What is left counts towards a segment for each window acknowledged: one a round trip.
	if (acked)
		tcp_cong_avoid_ai(tp, tcp_snd_cwnd(tp), acked);
}

// More hooks that a module may have: init, pkts_acked (round-trip times), cong_control (window
// and pacing rate at each acknowledgement), set_state, cwnd_event, in_ack_event.
static struct tcp_congestion_ops out_ops __read_mostly = {
	.name		= "out", // what tables and sockets call it, up to 15 characters
	.owner		= THIS_MODULE,
	.ssthresh	= out_ssthresh,
	.cong_avoid	= out_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd, // the loss was none: the window of before
};

static int __init out_register(void)
{
	if (beta < 1 || beta > 1023)
		return -EINVAL; // the run is refused with these parameters

	return tcp_register_congestion_control(&out_ops);
}

static void __exit out_unregister(void)
{
	tcp_unregister_congestion_control(&out_ops);
}

module_init(out_register);
module_exit(out_unregister);

MODULE_LICENSE("GPL"); // what the kernel asks of modules that call it; the text is yours
MODULE_DESCRIPTION("Reno with a gentler decrease");
