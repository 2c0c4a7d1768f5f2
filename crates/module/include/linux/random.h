/* Random numbers: those of the flow whose hook runs, drawn from the run's seed. */
#ifndef CCLAB_LINUX_RANDOM_H
#define CCLAB_LINUX_RANDOM_H

#include <linux/types.h>

u32 get_random_u32(void);
/* In 0..ceiling, without `ceiling` itself. */
u32 get_random_u32_below(u32 ceiling);
void get_random_bytes(void *to, size_t count);

static inline u8 get_random_u8(void) { return get_random_u32(); }
static inline u16 get_random_u16(void) { return get_random_u32(); }
static inline u64 get_random_u64(void)
{
	u64 high = get_random_u32();

	return high << 32 | get_random_u32();
}
static inline u32 get_random_u32_above(u32 floor)
{
	return floor + 1 + get_random_u32_below(U32_MAX - floor);
}
static inline u32 get_random_u32_inclusive(u32 floor, u32 ceiling)
{
	return floor + get_random_u32_below(ceiling - floor + 1);
}
#define prandom_u32() get_random_u32()
#define prandom_u32_max(ceiling) get_random_u32_below(ceiling)

#endif
