//! State that few of many have.

use std::ops::{Deref, DerefMut};

/// What a type holds as long as nothing has happened to it.
pub trait Usual: Copy + 'static {
    /// That value.
    const USUAL: &'static Self;
}

/// A value of `T` that most keep as it usually is: it takes a pointer until it is changed for the first
/// time, and from then on a place of its own.
#[derive(Clone, Debug)]
pub struct Rare<T> {
    own: Option<Box<T>>,
}

impl<T> Default for Rare<T> {
    fn default() -> Rare<T> {
        Rare { own: None }
    }
}

impl<T: Usual> Deref for Rare<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        match &self.own {
            Some(own) => own,
            None => T::USUAL,
        }
    }
}

impl<T: Usual> DerefMut for Rare<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.own.get_or_insert_with(|| Box::new(*T::USUAL))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Count(u32);

    impl Usual for Count {
        const USUAL: &'static Count = &Count(7);
    }

    #[test]
    fn it_is_as_usual_until_it_is_changed() {
        let mut rare: Rare<Count> = Rare::default();
        assert_eq!(rare.0, 7);
        assert!(rare.own.is_none());
        rare.0 += 1;
        assert_eq!((rare.0, rare.clone().0), (8, 8));
        assert_eq!(size_of::<Rare<Count>>(), size_of::<usize>());
    }
}
