//! The texts that users' files are compiled with.

/// The folder in which the headers are.
pub(crate) const FOLDER: &str = "include";

/// The headers, by the path that `#include <...>` gives.
pub(crate) const HEADERS: [(&str, &str); 14] = [
    ("linux/bug.h", include_str!("../include/linux/bug.h")),
    (
        "linux/inet_diag.h",
        include_str!("../include/linux/inet_diag.h"),
    ),
    (
        "linux/jiffies.h",
        include_str!("../include/linux/jiffies.h"),
    ),
    ("linux/kernel.h", include_str!("../include/linux/kernel.h")),
    ("linux/math64.h", include_str!("../include/linux/math64.h")),
    ("linux/minmax.h", include_str!("../include/linux/minmax.h")),
    ("linux/module.h", include_str!("../include/linux/module.h")),
    ("linux/printk.h", include_str!("../include/linux/printk.h")),
    ("linux/random.h", include_str!("../include/linux/random.h")),
    ("linux/slab.h", include_str!("../include/linux/slab.h")),
    ("linux/tcp.h", include_str!("../include/linux/tcp.h")),
    ("linux/types.h", include_str!("../include/linux/types.h")),
    (
        "linux/win_minmax.h",
        include_str!("../include/linux/win_minmax.h"),
    ),
    ("net/tcp.h", include_str!("../include/net/tcp.h")),
];

/// Names under which the kernel has what is in one of [`HEADERS`].
pub(crate) const ALIASES: [(&str, &[&str]); 7] = [
    (
        "linux/types.h",
        &[
            "linux/atomic.h",
            "linux/cache.h",
            "linux/compiler.h",
            "linux/compiler_types.h",
            "linux/const.h",
            "linux/limits.h",
            "linux/list.h",
            "linux/stddef.h",
            "linux/stringify.h",
            "asm/barrier.h",
            "asm/byteorder.h",
            "asm/cmpxchg.h",
            "asm/types.h",
            "uapi/linux/types.h",
        ],
    ),
    ("linux/bug.h", &["linux/build_bug.h", "asm/bug.h"]),
    (
        "linux/math64.h",
        &[
            "asm/bitops.h",
            "asm/div64.h",
            "linux/align.h",
            "linux/bitops.h",
            "linux/bits.h",
            "linux/log2.h",
            "linux/math.h",
        ],
    ),
    (
        "linux/jiffies.h",
        &[
            "linux/ktime.h",
            "linux/sched/clock.h",
            "linux/time.h",
            "linux/time64.h",
            "linux/timekeeping.h",
            "vdso/time64.h",
        ],
    ),
    (
        "linux/kernel.h",
        &[
            "linux/errno.h",
            "linux/inet.h",
            "linux/kstrtox.h",
            "linux/mm.h",
            "linux/percpu.h",
            "linux/rcupdate.h",
            "linux/sched.h",
            "linux/spinlock.h",
            "linux/string.h",
            "linux/version.h",
            "linux/vmalloc.h",
            "generated/autoconf.h",
        ],
    ),
    (
        "linux/module.h",
        &[
            "linux/bpf.h",
            "linux/btf.h",
            "linux/btf_ids.h",
            "linux/export.h",
            "linux/init.h",
            "linux/moduleparam.h",
        ],
    ),
    (
        "net/tcp.h",
        &[
            "linux/net.h",
            "linux/netdevice.h",
            "linux/skbuff.h",
            "linux/socket.h",
            "net/inet_connection_sock.h",
            "net/inet_ecn.h",
            "net/inet_sock.h",
            "net/net_namespace.h",
            "net/sock.h",
            "uapi/linux/inet_diag.h",
            "uapi/linux/tcp.h",
        ],
    ),
];

/// What users' files are linked with.
pub(crate) const PARTS: [(&str, &str); 4] = [
    ("hooks.c", include_str!("../glue/hooks.c")),
    ("params.c", include_str!("../glue/params.c")),
    ("stack.c", include_str!("../glue/stack.c")),
    ("vegas.c", include_str!("../glue/vegas.c")),
];

/// What the parts share.
pub(crate) const SHARED: (&str, &str) = ("cclab.h", include_str!("../glue/cclab.h"));

/// The program that asks a compiled file what it is.
pub(crate) const ASK: (&str, &str) = ("ask.c", include_str!("../glue/ask.c"));

/// Every header's path and text.
pub(crate) fn all() -> impl Iterator<Item = (&'static str, String)> {
    let own = HEADERS
        .iter()
        .map(|(path, text)| (*path, (*text).to_owned()));
    let aliases = ALIASES.iter().flat_map(|(of, names)| {
        let text = format!("#include <{of}>\n");
        names.iter().map(move |name| (*name, text.clone()))
    });
    own.chain(aliases)
}
