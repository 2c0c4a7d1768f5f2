/* Divisions of 64 bits, powers of two, roots. */
#ifndef CCLAB_LINUX_MATH64_H
#define CCLAB_LINUX_MATH64_H

#include <linux/minmax.h>

/* Divides the u64 `n` in place by 32 bits; its value is the remainder. */
#define do_div(n, by)                                                          \
	({                                                                     \
		u32 cclab_by = (by);                                           \
		u32 cclab_left = (u64)(n) % cclab_by;                          \
		(n) = (u64)(n) / cclab_by;                                     \
		cclab_left;                                                    \
	})

static inline u64 div_u64(u64 n, u32 by) { return n / by; }
static inline s64 div_s64(s64 n, s32 by) { return n / by; }
static inline u64 div64_u64(u64 n, u64 by) { return n / by; }
static inline s64 div64_s64(s64 n, s64 by) { return n / by; }
#define div64_ul(n, by) div64_u64(n, by)
#define div64_long(n, by) div64_s64(n, by)

static inline u64 div_u64_rem(u64 n, u32 by, u32 *left)
{
	*left = n % by;
	return n / by;
}

static inline s64 div_s64_rem(s64 n, s32 by, s32 *left)
{
	*left = n % by;
	return n / by;
}

static inline u64 div64_u64_rem(u64 n, u64 by, u64 *left)
{
	*left = n % by;
	return n / by;
}

static inline u64 mul_u32_u32(u32 a, u32 b) { return (u64)a * b; }

static inline u64 mul_u64_u32_shr(u64 a, u32 b, unsigned int shift)
{
	return (u64)(((unsigned __int128)a * b) >> shift);
}

static inline u64 mul_u64_u64_shr(u64 a, u64 b, unsigned int shift)
{
	return (u64)(((unsigned __int128)a * b) >> shift);
}

u64 mul_u64_u64_div_u64(u64 a, u64 b, u64 by);
static inline u64 mul_u64_u32_div(u64 a, u32 b, u32 by)
{
	return mul_u64_u64_div_u64(a, b, by);
}

#define DIV64_U64_ROUND_UP(n, by)                                              \
	({                                                                     \
		u64 cclab_d = (by);                                            \
		div64_u64((n) + cclab_d - 1, cclab_d);                         \
	})
#define DIV64_U64_ROUND_CLOSEST(n, by)                                         \
	({                                                                     \
		u64 cclab_d = (by);                                            \
		div64_u64((n) + cclab_d / 2, cclab_d);                         \
	})
#define DIV_ROUND_DOWN(n, by) ((n) / (by))
#define DIV_ROUND_UP(n, by) (((n) + (by) - 1) / (by))
#define DIV_ROUND_UP_ULL(n, by) div_u64((u64)(n) + (by) - 1, by)
#define DIV_ROUND_CLOSEST_ULL(n, by) div_u64((u64)(n) + (by) / 2, by)
/* Rounds half away from zero where both are signed. */
#define DIV_ROUND_CLOSEST(n, by)                                               \
	({                                                                     \
		__typeof__(n) cclab_n = (n);                                   \
		__typeof__(by) cclab_d = (by);                                 \
		((__typeof__(n))-1 > 0 || (__typeof__(by))-1 > 0 ||            \
		 (cclab_n > 0) == (cclab_d > 0)) ?                             \
			(cclab_n + cclab_d / 2) / cclab_d :                    \
			(cclab_n - cclab_d / 2) / cclab_d;                     \
	})
#define roundup(x, to) (DIV_ROUND_UP(x, to) * (to))
#define rounddown(x, to) ((x) / (to) * (to))
#define ALIGN(x, to) (((x) + ((__typeof__(x))(to) - 1)) & ~((__typeof__(x))(to) - 1))
#define round_up(x, to) ALIGN(x, to)
#define round_down(x, to) ((x) & ~((__typeof__(x))(to) - 1))
#define mult_frac(x, n, by)                                                    \
	({                                                                     \
		__typeof__(x) cclab_m = (x);                                   \
		cclab_m / (by) * (n) + cclab_m % (by) * (n) / (by);            \
	})
#define upper_32_bits(x) ((u32)((u64)(x) >> 32))
#define lower_32_bits(x) ((u32)(x))
/* Of a number without a sign, too: its bits are read as those of one with a sign. */
#define abs(x)                                                                 \
	({                                                                     \
		__typeof__(_Generic((x),                                       \
				    unsigned char: (s8)0,                      \
				    unsigned short: (s16)0,                    \
				    unsigned int: 0,                           \
				    unsigned long: 0L,                         \
				    unsigned long long: 0LL,                   \
				    default: (x))) cclab_a = (x);              \
		cclab_a < 0 ? -cclab_a : cclab_a;                              \
	})
#define abs_diff(a, b) ({ __auto_type cclab_p = (a); __auto_type cclab_q = (b); \
			  cclab_p < cclab_q ? cclab_q - cclab_p : cclab_p - cclab_q; })

/* The place of the highest bit set, counted from one; 0 of 0. */
static inline int fls(unsigned int x) { return x ? 32 - __builtin_clz(x) : 0; }
static inline int fls64(u64 x) { return x ? 64 - __builtin_clzll(x) : 0; }
static inline int fls_long(unsigned long x) { return fls64(x); }
static inline int ffs(int x) { return __builtin_ffs(x); }
static inline unsigned long __fls(unsigned long x) { return BITS_PER_LONG - 1 - __builtin_clzl(x); }
static inline unsigned long __ffs(unsigned long x) { return __builtin_ctzl(x); }
#define hweight8(x) __builtin_popcount((u8)(x))
#define hweight16(x) __builtin_popcount((u16)(x))
#define hweight32(x) __builtin_popcount((u32)(x))
#define hweight64(x) __builtin_popcountll(x)
#define ilog2(x) (__builtin_constant_p(x) ? 63 - __builtin_clzll((u64)(x)) : fls64(x) - 1)
#define order_base_2(x) ((x) > 1 ? ilog2((x) - 1) + 1 : 0)
#define roundup_pow_of_two(x) (1UL << order_base_2(x))
#define rounddown_pow_of_two(x) (1UL << ilog2(x))
static inline bool is_power_of_2(unsigned long x) { return x && !(x & (x - 1)); }

unsigned long int_sqrt(unsigned long x);
u32 int_sqrt64(u64 x);

#endif
