/* What must not be: at compile time, and when it happens. */
#ifndef CCLAB_LINUX_BUG_H
#define CCLAB_LINUX_BUG_H

#include <linux/printk.h>

/* Ends the run with `what`, the name of the file and that of the hook. */
void cclab_fatal(const char *what) __attribute__((noreturn, cold));

#define BUILD_BUG_ON_MSG(condition, message)                                   \
	do {                                                                   \
		extern void __PASTE(cclab_bug_, __LINE__)(void)                \
			__attribute__((error(message)));                       \
		if (condition)                                                 \
			__PASTE(cclab_bug_, __LINE__)();                       \
	} while (0)
#define BUILD_BUG_ON(condition) BUILD_BUG_ON_MSG(condition, "BUILD_BUG_ON: " #condition)
#define BUILD_BUG() BUILD_BUG_ON(1)
#define BUILD_BUG_ON_NOT_POWER_OF_2(n) BUILD_BUG_ON((n) == 0 || ((n) & ((n) - 1)))
#define BUILD_BUG_ON_ZERO(condition) ((int)sizeof(struct { int : (-!!(condition)); }))
#define static_assert(condition, message...) _Static_assert(condition, "" message)

#define BUG() cclab_fatal("BUG at line " __stringify(__LINE__))
#define BUG_ON(condition)                                                      \
	do {                                                                   \
		if (unlikely(condition))                                       \
			cclab_fatal("BUG_ON(" #condition ") at line "          \
				    __stringify(__LINE__));                    \
	} while (0)

#define WARN(condition, format...)                                             \
	({                                                                     \
		bool cclab_so = !!(condition);                                 \
		if (unlikely(cclab_so))                                        \
			printk(KERN_WARNING format);                           \
		cclab_so;                                                      \
	})
#define WARN_ON(condition)                                                     \
	WARN(condition, "WARN_ON(%s) at line %d\n", #condition, __LINE__)
#define WARN_ONCE(condition, format...)                                        \
	({                                                                     \
		static bool cclab_told;                                        \
		bool cclab_is = !!(condition);                                 \
		if (unlikely(cclab_is) && !cclab_told) {                       \
			cclab_told = true;                                     \
			printk(KERN_WARNING format);                           \
		}                                                              \
		cclab_is;                                                      \
	})
#define WARN_ON_ONCE(condition)                                                \
	WARN_ONCE(condition, "WARN_ON(%s) at line %d\n", #condition, __LINE__)

#endif
