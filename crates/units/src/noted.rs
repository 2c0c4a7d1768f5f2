//! An instant that is noted when it comes.

use crate::Time;

/// An instant, once it has come: half as large as an `Option<Time>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Noted(Time);

impl Noted {
    /// It has not come.
    pub const NOT_YET: Noted = Noted(Time::NEVER);

    /// It has come at `time`, which is not [`Time::NEVER`].
    #[inline]
    pub fn at(time: Time) -> Noted {
        Noted(time)
    }

    /// When it came.
    #[inline]
    pub fn time(self) -> Option<Time> {
        (self.0 != Time::NEVER).then_some(self.0)
    }

    /// It has come at `time`, unless it had come before.
    #[inline]
    pub fn note_first(&mut self, time: Time) {
        self.0 = self.0.min(time);
    }
}

impl Default for Noted {
    fn default() -> Noted {
        Noted::NOT_YET
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_kept() {
        let mut noted = Noted::default();
        assert_eq!(noted.time(), None);
        noted.note_first(Time::ZERO);
        noted.note_first(Time::from_secs(1));
        assert_eq!(noted.time(), Some(Time::ZERO));
        assert_eq!(
            Noted::at(Time::from_secs(2)).time(),
            Some(Time::from_secs(2))
        );
    }
}
