//! The part of a capture that is looked at.

use std::io::{self, ErrorKind, Read};

/// Bytes that are read at once: few enough to stay in a core's cache until they are looked at.
const STRIDE: usize = 64 * 1024;

/// A stretch of bytes that slides over a source and grows where more of it is wanted at once.
pub(super) struct Window {
    source: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    ended: bool,
    failure: Option<io::Error>,
}

impl Window {
    /// A window on the beginning of `source`.
    pub fn new(source: Box<dyn Read + Send>) -> Window {
        Window {
            source,
            buffer: vec![0; STRIDE],
            start: 0,
            end: 0,
            ended: false,
            failure: None,
        }
    }

    /// The bytes that were read and not yet passed.
    #[inline]
    pub fn data(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Passes the first `bytes` of the data, and gives them. They are no longer part of it.
    #[inline]
    pub fn pass(&mut self, bytes: usize) -> Passed {
        let at = self.start;
        self.start = (self.start + bytes).min(self.end);
        Passed { at, to: self.start }
    }

    /// Bytes that were passed and not overwritten since: until data are wanted again.
    #[inline]
    pub fn passed(&self, bytes: Passed) -> &[u8] {
        &self.buffer[bytes.at..bytes.to]
    }

    /// Reads on until there are `wanted` bytes of data; false if the source ends before.
    #[inline]
    pub fn want(&mut self, wanted: usize) -> bool {
        self.end - self.start >= wanted || self.read_on(wanted)
    }

    /// Why the source ended, if it was not at its end.
    pub fn failure(&self) -> Option<&io::Error> {
        self.failure.as_ref()
    }

    /// The same, to be handed on.
    pub fn into_failure(self) -> Option<io::Error> {
        self.failure
    }

    #[cold]
    fn read_on(&mut self, wanted: usize) -> bool {
        if self.start + wanted > self.buffer.len() {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        while self.end - self.start < wanted && !self.ended {
            // It grows as bytes come, not as a file claims to have them.
            if self.end == self.buffer.len() {
                self.buffer.resize(2 * self.buffer.len(), 0);
            }
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.ended = true,
                Ok(bytes) => self.end += bytes,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    self.ended = true;
                    self.failure = Some(error);
                }
            }
        }
        self.end - self.start >= wanted
    }
}

/// Bytes of a window that were passed.
#[derive(Clone, Copy)]
pub(super) struct Passed {
    at: usize,
    to: usize,
}

impl Passed {
    /// Those without the first `before`, at most `most` of them.
    pub fn part(self, before: usize, most: usize) -> Passed {
        let at = (self.at + before).min(self.to);
        Passed {
            at,
            to: at.saturating_add(most).min(self.to),
        }
    }
}
