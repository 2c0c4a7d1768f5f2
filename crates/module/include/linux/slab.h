/* Memory of the module's own, and what copies and compares. */
#ifndef CCLAB_LINUX_SLAB_H
#define CCLAB_LINUX_SLAB_H

#include <linux/types.h>

#define GFP_KERNEL 0x1u
#define GFP_ATOMIC 0x2u
#define GFP_NOWAIT 0x4u
#define __GFP_NOWARN 0x8u
#define __GFP_ZERO 0x10u

void *kmalloc(size_t size, gfp_t how);
void *kcalloc(size_t count, size_t size, gfp_t how);
void kfree(const void *memory);
static inline void *kzalloc(size_t size, gfp_t how) { return kcalloc(1, size, how); }
static inline void *kmalloc_array(size_t count, size_t size, gfp_t how)
{
	return kcalloc(count, size, how);
}
#define kvmalloc kmalloc
#define kvzalloc kzalloc
#define kvcalloc kcalloc
#define kvfree kfree
#define vmalloc(size) kmalloc(size, GFP_KERNEL)
#define vzalloc(size) kzalloc(size, GFP_KERNEL)
#define vfree kfree

void *memset(void *to, int byte, size_t count);
void *memcpy(void *to, const void *from, size_t count);
void *memmove(void *to, const void *from, size_t count);
int memcmp(const void *a, const void *b, size_t count);
size_t strlen(const char *text);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, size_t count);

#endif
