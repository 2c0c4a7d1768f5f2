/* What most files expect to have. */
#ifndef CCLAB_LINUX_KERNEL_H
#define CCLAB_LINUX_KERNEL_H

#include <linux/types.h>
#include <linux/printk.h>
#include <linux/bug.h>
#include <linux/minmax.h>
#include <linux/math64.h>
#include <linux/jiffies.h>
#include <linux/random.h>
#include <linux/slab.h>

#define EPERM 1
#define ENOENT 2
#define EIO 5
#define EAGAIN 11
#define ENOMEM 12
#define EBUSY 16
#define EEXIST 17
#define EINVAL 22
#define ERANGE 34
#define EOPNOTSUPP 95

/* Versions that a file may ask for. */
#define KERNEL_VERSION(a, b, c) (((a) << 16) + ((b) << 8) + ((c) > 255 ? 255 : (c)))
#define LINUX_VERSION_CODE KERNEL_VERSION(6, 12, 0)

/* Settings that are modules or built in here: those that congestion controls ask for. */
#define IS_ENABLED(setting) 0
#define IS_BUILTIN(setting) 0
#define IS_MODULE(setting) 0
#define IS_REACHABLE(setting) 0

/* One processor, which nothing interrupts. */
typedef struct { int held; } spinlock_t;
#define DEFINE_SPINLOCK(lock) spinlock_t lock = { 0 }
#define spin_lock_init(lock) ((void)((lock)->held = 0))
#define spin_lock(lock) ((void)(lock))
#define spin_unlock(lock) ((void)(lock))
#define spin_lock_bh(lock) ((void)(lock))
#define spin_unlock_bh(lock) ((void)(lock))
#define rcu_read_lock() ((void)0)
#define rcu_read_unlock() ((void)0)
#define rcu_dereference(place) (place)

#define INIT_LIST_HEAD(head) ((void)((head)->next = (head)->prev = (head)))
#define LIST_HEAD_INIT(name) { &(name), &(name) }
#define LIST_HEAD(name) struct list_head name = LIST_HEAD_INIT(name)

/* Numbers written as text; below zero: they are none. */
int kstrtoint(const char *text, unsigned int base, int *to);
int kstrtouint(const char *text, unsigned int base, unsigned int *to);
int kstrtobool(const char *text, bool *to);

#endif
