//! Numbers in a file.

/// The order of the bytes of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Little,
    Big,
}

impl Order {
    /// The 16-bit number that `bytes` have at `at`, if they reach that far.
    #[inline]
    pub fn half(self, bytes: &[u8], at: usize) -> Option<u16> {
        let bytes = *bytes.get(at..)?.first_chunk()?;
        Some(match self {
            Order::Little => u16::from_le_bytes(bytes),
            Order::Big => u16::from_be_bytes(bytes),
        })
    }

    /// The 32-bit number that `bytes` have at `at`, if they reach that far.
    #[inline]
    pub fn word(self, bytes: &[u8], at: usize) -> Option<u32> {
        let bytes = *bytes.get(at..)?.first_chunk()?;
        Some(match self {
            Order::Little => u32::from_le_bytes(bytes),
            Order::Big => u32::from_be_bytes(bytes),
        })
    }

    /// The signed 64-bit number that `bytes` are, if there are as many.
    pub fn signed(self, bytes: &[u8]) -> Option<i64> {
        let bytes = bytes.try_into().ok()?;
        Some(match self {
            Order::Little => i64::from_le_bytes(bytes),
            Order::Big => i64::from_be_bytes(bytes),
        })
    }
}
