//! Hints on which way is taken. They change nothing but the time that a program takes.
//!
//! What every packet runs through has to fit the cache of instructions, 32 KB on many machines: code
//! that is seldom run must not lie in between.

/// Where this is called is seldom come to: the compiler puts the code there out of the way of the rest.
/// It sees that a cold function is called before it takes in what that does, which is nothing.
#[cold]
#[inline(always)]
pub fn rarely() {}

/// A condition that nearly always holds: the compiler lays the code for this case straight ahead.
#[inline(always)] // or there would be nothing to tell by
pub fn likely(condition: bool) -> bool {
    if !condition {
        rarely();
    }
    condition
}

/// A condition that hardly ever holds: code behind it is put out of the way of the rest.
#[inline(always)] // or there would be nothing to tell by
pub fn unlikely(condition: bool) -> bool {
    if condition {
        rarely();
    }
    condition
}
