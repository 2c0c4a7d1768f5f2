/*
 * Registers the modules of users' files, each under the name that the command line gives it:
 *
 *     cclab_cc=MODULE:NAME,MODULE:NAME
 *
 * A kernel may have modules that a run does not ask for: they register nothing. Each is compiled with
 * cclab_register_MODULE for tcp_register_congestion_control.
 */

#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/printk.h>
#include <linux/string.h>
#include <net/tcp.h>

static const char *cclab_asked = "";

static int __init cclab_take(char *asked)
{
	cclab_asked = asked;
	return 1;
}
__setup("cclab_cc=", cclab_take);

static int cclab_register(const char *module, struct tcp_congestion_ops *ops)
{
	const char *at = cclab_asked;
	size_t length = strlen(module);

	while (strncmp(at, module, length) || at[length] != ':') {
		at = strchr(at, ',');
		if (!at)
			return 0;
		at++;
	}
	at += length + 1;
	length = strcspn(at, ",");
	if (length >= sizeof(ops->name))
		panic("cclab: the module %s has a name of %zu characters", module, length);
	memcpy(ops->name, at, length);
	ops->name[length] = '\0';
	if (tcp_register_congestion_control(ops))
		panic("cclab: the module %s cannot register %s: the kernel has one, or it lacks a hook",
		      module, ops->name);
	return 0;
}

/* A kernel that fails says where at a level that `quiet` keeps to itself. */
static int __init cclab_talk(void)
{
	if (*cclab_asked)
		console_loglevel = CONSOLE_LOGLEVEL_DEFAULT;
	return 0;
}
late_initcall(cclab_talk);

#define CCLAB_MODULE(module)                                            \
	int cclab_register_##module(struct tcp_congestion_ops *ops);    \
	int cclab_register_##module(struct tcp_congestion_ops *ops)     \
	{                                                               \
		return cclab_register(#module, ops);                    \
	}

