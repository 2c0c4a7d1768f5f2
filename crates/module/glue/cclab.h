/* What the parts of this folder share, and what crates/module/src calls. */
#ifndef CCLAB_GLUE_H
#define CCLAB_GLUE_H

#include <net/tcp.h>

#define cclab_exported __attribute__((visibility("default")))

/* The flow whose hook runs. */
static inline struct tcp_sock *cclab_flow(void)
{
	return container_of(cclab_ticks, struct tcp_sock, cclab_ticks);
}

/* What crates/module/src gives: the name of the user's file, and what ends the run and prints. */
extern struct cclab_host {
	const char *file;
	void (*fatal)(const char *what);
	void (*print)(const char *file, const char *text, size_t length);
} cclab_host;

#endif
