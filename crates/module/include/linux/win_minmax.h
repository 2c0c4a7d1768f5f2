/* The extreme of a sliding window of time, from its best three samples. */
#ifndef CCLAB_LINUX_WIN_MINMAX_H
#define CCLAB_LINUX_WIN_MINMAX_H

#include <linux/types.h>

struct minmax_sample {
	u32 t; /* when it was taken */
	u32 v; /* its value */
};

struct minmax {
	struct minmax_sample s[3];
};

static inline u32 minmax_get(const struct minmax *m) { return m->s[0].v; }

static inline u32 minmax_reset(struct minmax *m, u32 t, u32 value)
{
	for (int i = 0; i < 3; i++)
		m->s[i] = (struct minmax_sample){ t, value };
	return value;
}

u32 minmax_running_max(struct minmax *m, u32 window, u32 t, u32 value);
u32 minmax_running_min(struct minmax *m, u32 window, u32 t, u32 value);

#endif
