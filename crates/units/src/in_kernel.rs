//! Where the kernel keeps an algorithm that registries list.

/// How a kernel of Linux comes by an algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InKernel {
    /// Every kernel has it.
    BuiltIn,
    /// A kernel has it that was configured so.
    Module {
        /// What `modprobe` calls it.
        name: &'static str,
        /// The option of the kernel's configuration, such as `CONFIG_TCP_CONG_BBR`.
        symbol: &'static str,
    },
}

impl InKernel {
    /// The module's name; `None` where there is none to load.
    pub fn module(self) -> Option<&'static str> {
        match self {
            InKernel::BuiltIn => None,
            InKernel::Module { name, .. } => Some(name),
        }
    }

    /// The option of the kernel's configuration; `None` where there is none to set.
    pub fn symbol(self) -> Option<&'static str> {
        match self {
            InKernel::BuiltIn => None,
            InKernel::Module { symbol, .. } => Some(symbol),
        }
    }
}
