//! What the segments of one direction tell of marks: by echoes (RFC 3168), or by counts (RFC 9768).

use cclab_trace::captured::{TcpFlags, TcpSegment};

/// The number that counts of marked packets begin with (RFC 9768 section 3.2.1).
const FIRST: u8 = 5;

/// What one direction tells of marks.
#[derive(Debug, Default)]
pub(super) struct Marks {
    /// The last number, where marks are counted; None: they are echoed.
    counted: Option<u8>,
    /// The acknowledgement of the SYN-ACK is still to come, whose number is no count.
    shaking: bool,
}

/// What a segment tells: of a mark, and of a window that was reduced.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ToldOfMarks {
    pub mark: bool,
    pub reduced: bool,
}

/// The three flags as a number (RFC 9768 section 3.2.2).
fn number(flags: TcpFlags) -> u8 {
    u8::from(flags.ae) << 2 | u8::from(flags.cwr) << 1 | u8::from(flags.ece)
}

/// Whether a SYN with the flags `asks` asks for an echo or a count of marks.
fn asks(asks: TcpFlags) -> bool {
    asks.ece && asks.cwr
}

/// Whether the answer with the flags `answers` agrees to counts, `asks` being those of the SYN
/// (RFC 9768 table 2).
pub(crate) fn agree_on_counts(asks: TcpFlags, answers: TcpFlags) -> bool {
    number(asks) == 0b111 && !matches!(number(answers), 0b000 | 0b001 | 0b111)
}

/// Whether both SYNs agree on echoes or counts (RFC 3168 section 6.1.1, RFC 9768 table 2).
pub(crate) fn agree(a: TcpFlags, b: TcpFlags) -> bool {
    let echoes = |asking: TcpFlags, answer: TcpFlags| asks(asking) && number(answer) == 0b001;
    let either = |asking, answer| echoes(asking, answer) || agree_on_counts(asking, answer);
    either(a, b) || either(b, a)
}

impl Marks {
    /// Both ends count marks from now on; this one asked for it, or not.
    pub fn count(&mut self, asked: bool) {
        self.counted.get_or_insert(FIRST);
        self.shaking |= asked;
    }

    /// Takes in `segment`.
    #[inline]
    pub fn take(&mut self, segment: &TcpSegment) -> ToldOfMarks {
        let flags = segment.flags;
        let (mark, reduced) = match &mut self.counted {
            _ if flags.syn => (false, false),
            None => (flags.ece, flags.cwr),
            Some(_) if self.shaking && segment.payload == 0 => {
                self.shaking = false;
                (false, false)
            }
            Some(last) => {
                self.shaking = false;
                let before = std::mem::replace(last, number(flags));
                (*last != before, false)
            }
        };
        ToldOfMarks { mark, reduced }
    }
}
