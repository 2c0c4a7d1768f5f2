//! Accurate ECN feedback (RFC 9768): how many packets were marked, in three flags of each segment,
//! and of how many bytes, in an option.
//!
//! - this file: what both ends agree on, and the three flags;
//! - `received`: what an end counts of what it receives, and tells;
//! - `told`: what an end makes of what it is told.
//!
//! Nothing here answers where something between the ends changes headers of TCP: the simulator's
//! networks do not. So counters that begin with zero (section 3.2.2.4, 3.2.3.2.4) and options that
//! contradict the flags (section 3.2.3.2.5) are not looked for.

mod received;
mod told;

use cclab_packet::{Ecn, flags};

pub(crate) use received::Received;
pub(crate) use told::{Newly, Told};

/// How one end tells the other of marks: what it is ready for, or what both have agreed on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum EcnMode {
    /// Not at all.
    #[default]
    Off,
    /// An echo in each acknowledgement (RFC 3168; RFC 8257 section 3.2).
    Classic,
    /// Counts of packets and of bytes (RFC 9768).
    Accurate,
}

/// What an end of a connection with accurate feedback knows.
#[derive(Clone, Debug)]
pub(crate) struct Accurate {
    pub received: Received,
    pub told: Told,
    /// The codepoint of the SYN-ACK, while the acknowledgement of it is still to tell.
    pub handshake: Option<Ecn>,
    /// Its packets may be marked: nothing on the way changes codepoints as nothing may.
    pub sends_ect: bool,
}

impl Accurate {
    /// An end when the connection begins; it has `sent` its SYN or SYN-ACK so.
    pub fn new(sends_ect: bool) -> Accurate {
        Accurate {
            received: Received::new(),
            told: Told::new(),
            handshake: None,
            sends_ect,
        }
    }
}

/// All three flags.
const ACE: u8 = flags::AE | flags::CWR | flags::ECE;
/// What asks for accurate feedback, what asks for echoes, and what agrees to them (section 3.1).
const ASKS_ACCURATE: u8 = ACE;
const ASKS_CLASSIC: u8 = flags::CWR | flags::ECE;
const AGREES_CLASSIC: u8 = flags::ECE;

/// The flags of a SYN that asks for `mode`.
pub(crate) const fn syn_flags(mode: EcnMode) -> u8 {
    match mode {
        EcnMode::Off => 0,
        EcnMode::Classic => ASKS_CLASSIC,
        EcnMode::Accurate => ASKS_ACCURATE,
    }
}

/// What an end that is ready for `most` makes of a SYN with these flags (table 2, section 3.1.3).
pub(crate) fn answer_to(most: EcnMode, syn: u8) -> EcnMode {
    let asked = match syn & ACE {
        0 => EcnMode::Off,
        ASKS_CLASSIC => EcnMode::Classic,
        _ => EcnMode::Accurate, // whatever it may come to mean
    };
    match most {
        EcnMode::Accurate => asked,
        // It does not know the third flag.
        EcnMode::Classic if syn & ASKS_CLASSIC == ASKS_CLASSIC => EcnMode::Classic,
        EcnMode::Classic | EcnMode::Off => EcnMode::Off,
    }
}

/// The flags of a SYN-ACK that agrees to `mode`, where the last SYN came as `syn` (table 2).
pub(crate) fn syn_ack_flags(mode: EcnMode, syn: Ecn) -> u8 {
    match mode {
        EcnMode::Off => 0,
        EcnMode::Classic => AGREES_CLASSIC,
        EcnMode::Accurate => ace_flags(handshake_ace(syn)),
    }
}

/// What an end that `asked` for a mode makes of a SYN-ACK with these flags, and how its SYN came
/// (table 2).
pub(crate) fn agreed(asked: EcnMode, syn_ack: u8) -> (EcnMode, Option<Ecn>) {
    match (asked, syn_ack & ACE) {
        (EcnMode::Accurate, 0 | ASKS_ACCURATE) => (EcnMode::Off, None), // the last: reflected
        (EcnMode::Accurate, AGREES_CLASSIC) => (EcnMode::Classic, None),
        (EcnMode::Accurate, answer) => (EcnMode::Accurate, arrived_as(ace(answer))),
        (EcnMode::Classic, answer) if answer & AGREES_CLASSIC != 0 => (EcnMode::Classic, None),
        (EcnMode::Classic | EcnMode::Off, _) => (EcnMode::Off, None),
    }
}

/// The flags and the number that each stands for (section 3.2.2, figure 3).
const NUMBERS: [(u8, u8); 3] = [(flags::AE, 4), (flags::CWR, 2), (flags::ECE, 1)];

/// The three flags as a number.
pub(crate) fn ace(flags: u8) -> u8 {
    let set = NUMBERS.iter().filter(|(flag, _)| flags & flag != 0);
    set.map(|(_, number)| number).sum()
}

/// The flags of the number `ace`, of which the three low bits count.
pub(crate) fn ace_flags(ace: u8) -> u8 {
    let set = NUMBERS.iter().filter(|(_, number)| ace & number != 0);
    set.map(|(flag, _)| flag).sum()
}

/// What a SYN-ACK tells of the SYN, and the acknowledgement of it tells of the SYN-ACK (tables 2
/// and 3).
pub(crate) const fn handshake_ace(codepoint: Ecn) -> u8 {
    match codepoint {
        Ecn::NotEct => 0b010,
        Ecn::Ect1 => 0b011,
        Ecn::Ect0 => 0b100,
        Ecn::Ce => 0b110,
    }
}

/// How a packet of the handshake came, by that; `None`: no number tells (tables 2 and 4).
pub(crate) const fn arrived_as(ace: u8) -> Option<Ecn> {
    match ace {
        0b010 => Some(Ecn::NotEct),
        0b011 => Some(Ecn::Ect1),
        0b100 => Some(Ecn::Ect0),
        0b110 => Some(Ecn::Ce),
        _ => None,
    }
}

/// Whether a packet that left as `sent` could come as `arrived` only because something on the way
/// changes codepoints that it must leave alone (section 3.2.2.3).
pub(crate) fn is_mangled(sent: Ecn, arrived: Ecn) -> bool {
    match (sent, arrived) {
        (Ecn::NotEct, arrived) => arrived != Ecn::NotEct,
        (Ecn::Ce, arrived) => arrived != Ecn::Ce,
        (Ecn::Ect0 | Ecn::Ect1, arrived) => arrived == Ecn::NotEct,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flags::{AE, CWR, ECE};

    /// RFC 9768 table 2, block by block.
    #[test]
    fn ends_agree_as_the_table_says() {
        use EcnMode::{Accurate, Classic, Off};
        let tell = |client, server, syn: Ecn| {
            let asked = syn_flags(client);
            let answer = answer_to(server, asked);
            let flags = syn_ack_flags(answer, syn);
            let (mode, arrived) = agreed(client, flags);
            assert_eq!(mode, answer, "both ends agree on one mode");
            (asked, flags, mode, arrived)
        };
        let all = AE | CWR | ECE;
        for (syn, flags) in [
            (Ecn::NotEct, CWR),
            (Ecn::Ect1, CWR | ECE),
            (Ecn::Ect0, AE),
            (Ecn::Ce, AE | CWR),
        ] {
            let told = tell(Accurate, Accurate, syn);
            assert_eq!(told, (all, flags, Accurate, Some(syn)));
        }
        let plain = |client, server| tell(client, server, Ecn::NotEct);
        assert_eq!(plain(Accurate, Classic), (all, ECE, Classic, None));
        assert_eq!(plain(Accurate, Off), (all, 0, Off, None));
        assert_eq!(plain(Classic, Accurate), (CWR | ECE, ECE, Classic, None));
        assert_eq!(plain(Classic, Classic), (CWR | ECE, ECE, Classic, None));
        assert_eq!(plain(Classic, Off), (CWR | ECE, 0, Off, None));
        assert_eq!(plain(Off, Accurate), (0, 0, Off, None));
        assert_eq!(agreed(Accurate, all), (Off, None), "a broken server");
        // The nonce of old, whose flags are reserved now.
        assert_eq!(agreed(Accurate, AE | ECE), (Accurate, None));
        for syn in [AE, ECE, CWR, AE | CWR, AE | ECE] {
            assert_eq!(answer_to(Accurate, syn), Accurate, "whatever it may mean");
        }
    }

    #[test]
    fn flags_are_a_number_with_the_echo_lowest() {
        for number in 0..8 {
            assert_eq!(ace(ace_flags(number)), number);
        }
        assert_eq!(ace_flags(8 + 5), AE | ECE);
        assert_eq!((ace(flags::ACK), ace(ECE), ace(CWR), ace(AE)), (0, 1, 2, 4));
    }

    /// RFC 9768 section 3.2.2.3: RFC 3168's invalid transitions.
    #[test]
    fn only_marks_and_changes_of_capable_codepoints_are_valid() {
        let mangled = |sent| {
            [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce].map(|arrived| is_mangled(sent, arrived))
        };
        assert_eq!(mangled(Ecn::NotEct), [false, true, true, true]);
        assert_eq!(mangled(Ecn::Ect1), [true, false, false, false]);
        assert_eq!(mangled(Ecn::Ect0), [true, false, false, false]);
        assert_eq!(mangled(Ecn::Ce), [true, true, true, false]);
    }
}
