//! State that few of many have.

use std::fmt;
use std::ops::{Deref, DerefMut};

/// What a type holds as long as nothing has happened to it.
pub trait Usual: Clone + 'static {
    /// That value.
    const USUAL: &'static Self;
}

/// A value of `T` that most keep as it usually is: it takes a pointer until it is changed for the first
/// time, and from then on a place of its own.
#[derive(Clone)]
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
        self.own.get_or_insert_with(|| Box::new(T::USUAL.clone()))
    }
}

impl<T: Usual> From<T> for Rare<T> {
    fn from(value: T) -> Rare<T> {
        Rare {
            own: Some(Box::new(value)),
        }
    }
}

impl<T: Usual + fmt::Debug> fmt::Debug for Rare<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        T::fmt(self, f)
    }
}

impl<T: Usual + PartialEq> PartialEq for Rare<T> {
    fn eq(&self, other: &Rare<T>) -> bool {
        T::eq(self, other)
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
        assert_eq!(Rare::from(Count(8)), rare);
        assert_eq!(size_of::<Rare<Count>>(), size_of::<usize>());
    }
}
