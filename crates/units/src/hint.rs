//! A hint on which way is taken. It changes nothing but the time that a program takes.
//!
//! What every packet runs through has to fit the cache of instructions, 32 KB on many machines: code
//! that is seldom run must not lie in between.

/// Where this is called is seldom come to: the compiler puts the code there out of the way of the rest.
#[cold]
#[inline(never)]
pub fn rarely() {
    std::hint::black_box(()); // or there would be no call left to tell by
}
