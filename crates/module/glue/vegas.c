/* What Linux's module vegas exports to others, of which yeah is one. A file that has these functions
 * itself keeps its own.
 */

#include "cclab.h"

#define exported __attribute__((weak))
#define NO_RTT 0x7fffffff

/* What vegas keeps of a flow, where its users expect it. */
struct kept {
	u32 round_end; /* of the sequence numbers */
	u32 round_begin;
	u32 round_cwnd;
	u8 active;
	u16 rtts;     /* samples in this round */
	u32 rtt;      /* the smallest of this round, in microseconds plus one */
	u32 base_rtt; /* the smallest of all */
};

static void begin_round(struct sock *sk)
{
	struct kept *kept = inet_csk_ca(sk);

	kept->active = 1;
	kept->round_end = tcp_sk(sk)->snd_nxt;
	kept->rtts = 0;
	kept->rtt = NO_RTT;
}

exported void tcp_vegas_init(struct sock *sk)
{
	struct kept *kept = inet_csk_ca(sk);

	kept->base_rtt = NO_RTT;
	begin_round(sk);
}

exported void tcp_vegas_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	struct kept *kept = inet_csk_ca(sk);
	u32 rtt = sample->rtt_us + 1;

	if (sample->rtt_us < 0)
		return;
	kept->base_rtt = min(kept->base_rtt, rtt);
	kept->rtt = min(kept->rtt, rtt);
	kept->rtts++;
}

exported void tcp_vegas_state(struct sock *sk, u8 state)
{
	struct kept *kept = inet_csk_ca(sk);

	if (state == TCP_CA_Open)
		begin_round(sk);
	else
		kept->active = 0;
}

exported void tcp_vegas_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_TX_START || event == CA_EVENT_CWND_RESTART)
		tcp_vegas_init(sk);
}

exported size_t tcp_vegas_get_info(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info)
{
	const struct kept *kept = inet_csk_ca(sk);

	if (!(ext >> (INET_DIAG_VEGASINFO - 1) & 1))
		return 0;
	*attr = INET_DIAG_VEGASINFO;
	info->vegas = (struct tcpvegas_info){
		.tcpv_enabled = kept->active,
		.tcpv_rttcnt = kept->rtts,
		.tcpv_rtt = kept->base_rtt,
		.tcpv_minrtt = kept->rtt,
	};
	return sizeof(info->vegas);
}
