/* The smaller, the larger and what lies between. */
#ifndef CCLAB_LINUX_MINMAX_H
#define CCLAB_LINUX_MINMAX_H

#include <linux/types.h>

#define cclab_choose(a, sign, b, x, y)                                         \
	({                                                                     \
		__auto_type x = (a);                                           \
		__auto_type y = (b);                                           \
		x sign y ? x : y;                                              \
	})
#define min(a, b) cclab_choose(a, <, b, __UNIQUE_ID(cclab_x), __UNIQUE_ID(cclab_y))
#define max(a, b) cclab_choose(a, >, b, __UNIQUE_ID(cclab_x), __UNIQUE_ID(cclab_y))
#define min_t(type, a, b) min((type)(a), (type)(b))
#define max_t(type, a, b) max((type)(a), (type)(b))
#define umin(a, b) min((u64)(a), (u64)(b))
#define umax(a, b) max((u64)(a), (u64)(b))
#define min3(a, b, c) min(min(a, b), c)
#define max3(a, b, c) max(max(a, b), c)
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define MIN_T(type, a, b) MIN((type)(a), (type)(b))
#define MAX_T(type, a, b) MAX((type)(a), (type)(b))

#define cclab_choose_set(a, b, x, y)                                           \
	({                                                                     \
		__auto_type x = (a);                                           \
		__auto_type y = (b);                                           \
		x == 0 ? y : (y == 0 ? x : MIN(x, y));                         \
	})
#define min_not_zero(a, b) \
	cclab_choose_set(a, b, __UNIQUE_ID(cclab_x), __UNIQUE_ID(cclab_y))

#define clamp(value, low, high) min(max(value, low), high)
#define clamp_t(type, value, low, high) min_t(type, max_t(type, value, low), high)
#define clamp_val(value, low, high) clamp_t(__typeof__(value), value, low, high)
#define in_range(value, start, length) ((u64)(value) - (u64)(start) < (u64)(length))

#define swap(a, b)                                                             \
	do {                                                                   \
		__typeof__(a) cclab_kept = (a);                                \
		(a) = (b);                                                     \
		(b) = cclab_kept;                                              \
	} while (0)

#endif
