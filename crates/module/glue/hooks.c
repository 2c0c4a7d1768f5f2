/* How the simulator reaches a module: what it registers, and its hooks. */

#include "cclab.h"

/* Who asks for the time or random numbers outside of a hook has those of this flow. */
static struct tcp_sock nobody;
const u64 *cclab_ticks = &nobody.cclab_ticks;

/* Where crates/module/src writes whose hook it calls. */
cclab_exported const u64 **cclab_clock(void)
{
	return &cclab_ticks;
}

static struct tcp_congestion_ops *registered;
static int registrations;
static const char *lacking = "";

cclab_exported struct cclab_host cclab_host;

int tcp_register_congestion_control(struct tcp_congestion_ops *ops)
{
	registered = ops;
	registrations++;
	/* The conditions of Linux's tcp_validate_congestion_control. */
	if (!ops->ssthresh)
		lacking = "ssthresh";
	else if (!ops->undo_cwnd)
		lacking = "undo_cwnd";
	else if (!ops->cong_avoid && !ops->cong_control)
		lacking = "cong_avoid or cong_control";
	else
		return 0;
	return -EINVAL;
}

void tcp_unregister_congestion_control(struct tcp_congestion_ops *ops)
{
}

void cclab_fatal(const char *what)
{
	if (cclab_host.fatal)
		cclab_host.fatal(what);
	__builtin_trap();
}

/* Begins the module. Gives what its function answers and in `told` what it registered last, how often
 * it registered, and the hook that Linux demands and that was not there.
 */
struct told {
	const struct tcp_congestion_ops *ops;
	const char *lacking;
	int registrations;
};

__attribute__((weak)) int cclab_module_init(void);
cclab_exported int cclab_begin(struct told *told)
{
	int said = cclab_module_init ? cclab_module_init() : 0;

	*told = (struct told){ registered, lacking, registrations };
	return said;
}

__attribute__((weak)) void cclab_module_exit(void);
cclab_exported void cclab_end(void)
{
	cclab_ticks = &nobody.cclab_ticks;
	if (cclab_module_exit)
		cclab_module_exit();
}

/* The hooks of `ops`, as `Hooks` of src/hook.rs has them: NULL is one that it does not have. */
struct hooks {
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*set_state)(struct sock *sk, u8 new_state);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event event);
	void (*in_ack_event)(struct sock *sk, u32 flags);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	u32 (*min_tso_segs)(struct sock *sk);
	void (*cong_control)(struct sock *sk, u32 ack, int flag, const struct rate_sample *sample);
	u32 (*undo_cwnd)(struct sock *sk);
	u32 (*sndbuf_expand)(struct sock *sk);
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
};
cclab_exported void cclab_hooks(const struct tcp_congestion_ops *ops, struct hooks *hooks)
{
	*hooks = (struct hooks){
		ops->ssthresh, ops->cong_avoid, ops->set_state, ops->cwnd_event,
		ops->in_ack_event, ops->pkts_acked, ops->min_tso_segs, ops->cong_control,
		ops->undo_cwnd, ops->sndbuf_expand, ops->init, ops->release,
	};
}

cclab_exported const char *cclab_name(const struct tcp_congestion_ops *ops, u32 *flags)
{
	*flags = ops->flags;
	return ops->name;
}

/* Whether a receiver with `ops` echoes the mark of each packet: told of marks, it asks the stack to
 * echo, and told of none, to cease.
 */
cclab_exported bool cclab_echoes(const struct tcp_congestion_ops *ops)
{
	struct cclab_private private = { 0 };
	struct tcp_sock flow = {
		.inet_conn.sk.sk_state = TCP_ESTABLISHED,
		.inet_conn.icsk_ca_ops = ops,
		.inet_conn.cclab_private = &private,
		.ecn_flags = TCP_ECN_OK,
		.snd_cwnd = TCP_INIT_CWND,
		.snd_cwnd_clamp = ~0u,
		.snd_ssthresh = TCP_INFINITE_SSTHRESH,
		.mss_cache = 1448,
	};
	struct sock *sk = &flow.inet_conn.sk;
	bool asks, ceases;

	if (!ops->cwnd_event)
		return false;
	cclab_ticks = &flow.cclab_ticks;
	if (ops->init)
		ops->init(sk);
	ops = flow.inet_conn.icsk_ca_ops;
	if (ops->cwnd_event)
		ops->cwnd_event(sk, CA_EVENT_ECN_IS_CE);
	asks = flow.ecn_flags & TCP_ECN_DEMAND_CWR;
	if (ops->cwnd_event)
		ops->cwnd_event(sk, CA_EVENT_ECN_NO_CE);
	ceases = !(flow.ecn_flags & TCP_ECN_DEMAND_CWR);
	if (ops->release)
		ops->release(sk);
	cclab_ticks = &nobody.cclab_ticks;
	return asks && ceases;
}

/* The columns of the state that it tells traces, up to one without a name; NULL: it tells none. */
extern const struct cclab_column cclab_columns[] __attribute__((weak));
cclab_exported const struct cclab_column *cclab_traced(void)
{
	return cclab_columns;
}

/* What the stack does without the module, if that is what the module asks for. */
cclab_exported void (*cclab_reno_cong_avoid(void))(struct sock *, u32, u32)
{
	return tcp_reno_cong_avoid;
}
