/* Clocks: those of the flow whose hook runs, in virtual time. */
#ifndef CCLAB_LINUX_JIFFIES_H
#define CCLAB_LINUX_JIFFIES_H

#include <linux/math64.h>

#define HZ 1000
#define CONFIG_HZ 1000
#define USER_HZ 100
#define MSEC_PER_SEC 1000L
#define USEC_PER_MSEC 1000L
#define NSEC_PER_USEC 1000L
#define NSEC_PER_MSEC 1000000L
#define USEC_PER_SEC 1000000L
#define NSEC_PER_SEC 1000000000L
#define MAX_JIFFY_OFFSET ((LONG_MAX >> 1) - 1)
#define INITIAL_JIFFIES 0UL

/* Where the ticks of the flow whose hook runs are: one thread calls all flows of a module. */
extern const u64 *cclab_ticks __attribute__((visibility("hidden")));
#define jiffies ((unsigned long)READ_ONCE(*cclab_ticks))
#define tcp_jiffies32 ((u32)jiffies)
u64 cclab_clock_ns(void);
#define get_jiffies_64() ((u64)jiffies)
#define jiffies_64 get_jiffies_64()

/* Which of two times is the later, even when the clock wraps between them. */
#define time_after(a, b) ((long)((b) - (a)) < 0)
#define time_before(a, b) time_after(b, a)
#define time_after_eq(a, b) ((long)((a) - (b)) >= 0)
#define time_before_eq(a, b) time_after_eq(b, a)
#define time_in_range(a, b, c) (time_after_eq(a, b) && time_before_eq(a, c))
#define time_after64(a, b) ((s64)((b) - (a)) < 0)
#define time_before64(a, b) time_after64(b, a)
#define time_after32(a, b) ((s32)((u32)(b) - (u32)(a)) < 0)
#define time_before32(a, b) time_after32(b, a)
#define time_is_before_jiffies(a) time_after(jiffies, a)
#define time_is_after_jiffies(a) time_before(jiffies, a)

/* A tick is a millisecond; what is not a whole number of ticks is rounded up. */
static inline unsigned long msecs_to_jiffies(const unsigned int ms)
{
	return (int)ms < 0 ? MAX_JIFFY_OFFSET : ms;
}

static inline unsigned long usecs_to_jiffies(const unsigned int us)
{
	return ((u64)us + 999) / 1000;
}

static inline unsigned long nsecs_to_jiffies(u64 ns) { return ns / 1000000; }
static inline u64 nsecs_to_jiffies64(u64 ns) { return ns / 1000000; }
static inline unsigned int jiffies_to_msecs(const unsigned long ticks) { return ticks; }
static inline unsigned int jiffies_to_usecs(const unsigned long ticks) { return ticks * 1000; }
static inline u64 jiffies_to_nsecs(const unsigned long ticks) { return (u64)ticks * 1000000; }

static inline ktime_t ktime_get(void) { return cclab_clock_ns(); }
static inline u64 ktime_get_ns(void) { return cclab_clock_ns(); }
static inline u64 ktime_get_raw_ns(void) { return cclab_clock_ns(); }
static inline u64 ktime_get_boottime_ns(void) { return cclab_clock_ns(); }
static inline u64 ktime_get_real_ns(void) { return cclab_clock_ns(); }
static inline u64 local_clock(void) { return cclab_clock_ns(); }
static inline u64 sched_clock(void) { return cclab_clock_ns(); }
static inline s64 ktime_to_ns(ktime_t t) { return t; }
static inline s64 ktime_to_us(ktime_t t) { return t / 1000; }
static inline s64 ktime_to_ms(ktime_t t) { return t / 1000000; }
static inline ktime_t ns_to_ktime(u64 ns) { return ns; }
static inline ktime_t ktime_add(ktime_t a, ktime_t b) { return a + b; }
static inline ktime_t ktime_sub(ktime_t a, ktime_t b) { return a - b; }
static inline ktime_t ktime_add_ns(ktime_t a, u64 ns) { return a + ns; }
static inline ktime_t ktime_add_us(ktime_t a, u64 us) { return a + us * 1000; }
static inline s64 ktime_us_delta(ktime_t a, ktime_t b) { return (a - b) / 1000; }
static inline s64 ktime_ms_delta(ktime_t a, ktime_t b) { return (a - b) / 1000000; }

#endif
