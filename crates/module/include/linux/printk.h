/* Messages go to standard error, with the file's name before them. */
#ifndef CCLAB_LINUX_PRINTK_H
#define CCLAB_LINUX_PRINTK_H

#include <linux/types.h>

#define KERN_EMERG ""
#define KERN_ALERT ""
#define KERN_CRIT ""
#define KERN_ERR ""
#define KERN_WARNING ""
#define KERN_NOTICE ""
#define KERN_INFO ""
#define KERN_DEBUG ""
#define KERN_CONT ""
#define KBUILD_MODNAME "cclab"

#ifndef pr_fmt
#define pr_fmt(format) format
#endif

int cclab_print(const char *format, ...) __printf(1, 2);
int snprintf(char *to, size_t size, const char *format, ...) __printf(3, 4);
#define scnprintf snprintf

#define printk(format...) cclab_print(format)
#define pr_emerg(format, told...) printk(pr_fmt(format), ##told)
#define pr_alert(format, told...) printk(pr_fmt(format), ##told)
#define pr_crit(format, told...) printk(pr_fmt(format), ##told)
#define pr_err(format, told...) printk(pr_fmt(format), ##told)
#define pr_warn(format, told...) printk(pr_fmt(format), ##told)
#define pr_notice(format, told...) printk(pr_fmt(format), ##told)
#define pr_info(format, told...) printk(pr_fmt(format), ##told)
#define pr_cont(format, told...) printk(format, ##told)
#define no_printk(format, told...)                                             \
	do {                                                                   \
		if (0)                                                         \
			printk(format, ##told);                                \
	} while (0)
#define pr_debug(format, told...) no_printk(pr_fmt(format), ##told)
#define pr_devel(format, told...) no_printk(pr_fmt(format), ##told)

#define cclab_once(call)                                                       \
	do {                                                                   \
		static bool cclab_told;                                        \
		if (!cclab_told) {                                             \
			cclab_told = true;                                     \
			call;                                                  \
		}                                                              \
	} while (0)
#define printk_once(format...) cclab_once(printk(format))
#define pr_err_once(format...) cclab_once(pr_err(format))
#define pr_warn_once(format...) cclab_once(pr_warn(format))
#define pr_info_once(format...) cclab_once(pr_info(format))
#define pr_err_ratelimited(format...) pr_err(format)
#define pr_warn_ratelimited(format...) pr_warn(format)
#define pr_info_ratelimited(format...) pr_info(format)
#define net_dbg_ratelimited(format...) no_printk(format)
#define net_warn_ratelimited(format...) pr_warn(format)
#define net_info_ratelimited(format...) pr_info(format)

#endif
