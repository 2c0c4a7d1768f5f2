/* Types, and the marks that the kernel's C puts on them. */
#ifndef CCLAB_LINUX_TYPES_H
#define CCLAB_LINUX_TYPES_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char s8;
typedef signed short s16;
typedef signed int s32;
typedef signed long long s64;
typedef u8 __u8, uint8_t, u_int8_t;
typedef u16 __u16, uint16_t, u_int16_t, __be16, __le16, __sum16;
typedef u32 __u32, uint32_t, u_int32_t, __be32, __le32, __wsum;
typedef u64 __u64, uint64_t, u_int64_t, __be64, __le64;
typedef s8 __s8, int8_t;
typedef s16 __s16, int16_t;
typedef s32 __s32, int32_t;
typedef s64 __s64, int64_t, ktime_t, time64_t, loff_t;
typedef unsigned char unchar, u_char;
typedef unsigned short ushort, u_short, umode_t;
typedef unsigned int uint, u_int, gfp_t;
typedef unsigned long ulong, u_long, uintptr_t;
typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ssize_t, ptrdiff_t;
typedef _Bool bool;
typedef struct { int counter; } atomic_t;
typedef struct { s64 counter; } atomic64_t;

struct list_head {
	struct list_head *next, *prev;
};

#define true 1
#define false 0
#define NULL ((void *)0)

#define U8_MAX ((u8)~0U)
#define S8_MAX ((s8)(U8_MAX >> 1))
#define U16_MAX ((u16)~0U)
#define S16_MAX ((s16)(U16_MAX >> 1))
#define S16_MIN ((s16)(-S16_MAX - 1))
#define U32_MAX ((u32)~0U)
#define U32_MIN ((u32)0)
#define S32_MAX ((s32)(U32_MAX >> 1))
#define S32_MIN ((s32)(-S32_MAX - 1))
#define U64_MAX ((u64)~0ULL)
#define S64_MAX ((s64)(U64_MAX >> 1))
#define S64_MIN ((s64)(-S64_MAX - 1))
#define INT_MAX __INT_MAX__
#define INT_MIN (-INT_MAX - 1)
#define UINT_MAX (~0U)
#define LONG_MAX __LONG_MAX__
#define LONG_MIN (-LONG_MAX - 1)
#define ULONG_MAX (~0UL)
#define LLONG_MAX __LONG_LONG_MAX__
#define ULLONG_MAX (~0ULL)
#define U32_C(x) x##U
#define U64_C(x) x##ULL
#define UL(x) x##UL
#define ULL(x) x##ULL
#define BITS_PER_BYTE 8
#define BITS_PER_LONG (8 * __SIZEOF_LONG__)

/* Marks for compilers and linkers. */
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define __always_inline inline __attribute__((always_inline))
#define noinline __attribute__((noinline))
#define __maybe_unused __attribute__((unused))
#define __always_unused __attribute__((unused))
#define __used __attribute__((used))
#define __packed __attribute__((packed))
#define __aligned(n) __attribute__((aligned(n)))
#define __must_check __attribute__((warn_unused_result))
#define __pure __attribute__((pure))
#define __attribute_const__ __attribute__((const))
#define __printf(text, first) __attribute__((format(printf, text, first)))
#define fallthrough __attribute__((fallthrough))
#define barrier() __asm__ __volatile__("" ::: "memory")
#define unreachable() __builtin_unreachable()
#define __init
#define __exit
#define __initdata
#define __exitdata
#define __read_mostly
#define __ro_after_init
#define ____cacheline_aligned
#define ____cacheline_aligned_in_smp
#define __rcu
#define __user
#define __force
#define __bpf_kfunc __used
#define asmlinkage
#define L1_CACHE_BYTES 64

#define READ_ONCE(x) (*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, value) ((void)(*(volatile __typeof__(x) *)&(x) = (value)))
#define smp_load_acquire(place) READ_ONCE(*(place))
#define smp_store_release(place, value) WRITE_ONCE(*(place), value)
#define smp_mb() barrier()
#define smp_rmb() barrier()
#define smp_wmb() barrier()

#define cmpxchg(place, old, new)                                               \
	({                                                                     \
		__typeof__(*(place)) cclab_seen = (old);                       \
		__atomic_compare_exchange_n(place, &cclab_seen, new, 0,        \
					    __ATOMIC_SEQ_CST,                  \
					    __ATOMIC_SEQ_CST);                 \
		cclab_seen;                                                    \
	})
#define xchg(place, new) __atomic_exchange_n(place, new, __ATOMIC_SEQ_CST)
#define atomic_read(v) READ_ONCE((v)->counter)
#define atomic_set(v, i) WRITE_ONCE((v)->counter, i)
#define atomic_inc(v) ((void)__atomic_add_fetch(&(v)->counter, 1, __ATOMIC_SEQ_CST))
#define atomic_dec(v) ((void)__atomic_sub_fetch(&(v)->counter, 1, __ATOMIC_SEQ_CST))
#define atomic_add(i, v) ((void)__atomic_add_fetch(&(v)->counter, i, __ATOMIC_SEQ_CST))
#define atomic_inc_return(v) __atomic_add_fetch(&(v)->counter, 1, __ATOMIC_SEQ_CST)
#define atomic64_read atomic_read
#define atomic64_set atomic_set
#define atomic64_inc atomic_inc
#define atomic64_add atomic_add

#define sizeof_field(type, field) sizeof(((type *)0)->field)
#ifndef offsetof
#define offsetof(type, field) __builtin_offsetof(type, field)
#endif
#define offsetofend(type, field) (offsetof(type, field) + sizeof_field(type, field))
#define container_of(place, type, field)                                       \
	((type *)((char *)(place) - offsetof(type, field)))
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#define BIT(n) (1UL << (n))
#define BIT_ULL(n) (1ULL << (n))
#define GENMASK(high, low) ((~0UL << (low)) & (~0UL >> (BITS_PER_LONG - 1 - (high))))
#define __stringify_1(x...) #x
#define __stringify(x...) __stringify_1(x)
#define __PASTE_(a, b) a##b
#define __PASTE(a, b) __PASTE_(a, b)
#define __UNIQUE_ID(prefix) __PASTE(prefix, __COUNTER__)

/* Byte order: that of the network is big-endian. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define htons(x) __builtin_bswap16(x)
#define htonl(x) __builtin_bswap32(x)
#else
#define htons(x) (x)
#define htonl(x) (x)
#endif
#define ntohs(x) htons(x)
#define ntohl(x) htonl(x)

#endif
