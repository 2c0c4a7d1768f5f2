//! What sends datagrams of UDP.

use cclab_units::{Rate, Time};

use super::application::{DEFAULT_SPELL, OF_UDP, foreign, full, not_over};
use crate::datagrams::{Datagrams, Video};
use crate::de::At;
use crate::error::{Position, Problem};
use crate::flow::Transport;
use crate::text::{RateText, SizeText};
use crate::written;

/// What a datagram carries at least: its number and the time at which it left.
const LEAST_PAYLOAD: u64 = 16;
/// What Ethernet carries beside the headers of IPv4 and UDP: nothing here cuts datagrams.
const MOST_PAYLOAD: u64 = 1500 - 20 - 8;
/// As WebRTC and QUIC send over paths that they do not know (RFC 9000, section 14.1).
const DEFAULT_PAYLOAD: u64 = 1200;

const DEFAULT_FRAME_RATE: f64 = 30.0;
const DEFAULT_I_FRAME: u64 = 60_000;
const DEFAULT_P_FRAME: u64 = 12_000;
const DEFAULT_GROUP: u32 = 30;
/// One-way delay up to which most users are content (ITU-T G.114).
const DEFAULT_DEADLINE: Time = Time::from_millis(150);
/// More frames a second than any screen shows.
const MOST_FRAMES: f64 = 10_000.0;
/// A frame of so many bytes is none of a video.
const LARGEST_FRAME: u64 = 1 << 30;

/// The source of datagrams of `flow`; none: it is TCP, or a program.
pub(super) fn datagrams(flow: &written::Flow) -> Result<Option<Datagrams>, Problem> {
    let Some(At { at, value }) = &flow.transport else {
        return Ok(None);
    };
    if flow.command.is_some() {
        let problem = Problem::new(
            "`transport` beside a `command`",
            "leave it out: what the program sends is seen on the network",
        );
        return Err(problem.or_at(*at));
    }
    if *value == Transport::Tcp {
        return Ok(None);
    }
    of_tcp_alone(flow)?;
    let Some(At { at, value }) = &flow.application else {
        let problem = Problem::new(
            "a flow over UDP without an `application`",
            "say what it sends, such as application = { kind = \"constant-rate\", rate = \"2Mbit\" }",
        );
        return Err(problem.or_at(*at));
    };
    let written = &*full(value);
    let kind = written.kind.as_str();
    foreign(written, kind, OF_UDP).map_err(|problem| problem.or_at(*at))?;
    let payload = payload(written.payload.as_ref())?;
    let rate = |written: Option<RateText>| -> Result<Rate, Problem> {
        written.map(|rate| rate.0).ok_or_else(|| {
            let message = format!("the application {kind} without a `rate`");
            Problem::new(message, "write it as a table with a `rate`").or_at(*at)
        })
    };
    let source = match kind {
        "constant-rate" => Datagrams::ConstantRate {
            rate: rate(written.rate)?,
            payload,
        },
        "on-off" => {
            let on = written.on.map_or(DEFAULT_SPELL, |time| time.0);
            if on == Time::ZERO {
                let problem = Problem::new("a time of zero of on-off", "it is positive");
                return Err(problem.or_at(*at));
            }
            Datagrams::OnOff {
                rate: rate(written.rate)?,
                on,
                off: written.off.map_or(DEFAULT_SPELL, |time| time.0),
                constant: written.constant,
                payload,
            }
        }
        "video" => Datagrams::Video(video(flow, written, payload)?),
        other => return Err(not_over(other, "UDP", OF_UDP).or_at(*at)),
    };
    Ok(Some(source))
}

/// The frames that `written` says, in pieces of `payload` bytes at most.
pub(super) fn video(
    flow: &written::Flow,
    written: &written::Application,
    payload: u32,
) -> Result<Video, Problem> {
    if let Some(transfer) = &flow.transfer {
        let problem = Problem::new(
            format!("a `transfer` of {}", written.kind),
            "give it a `duration`: a frame is sent whole",
        );
        return Err(problem.or_at(transfer.at));
    }
    let frame_rate = match &written.frame_rate {
        None => DEFAULT_FRAME_RATE,
        Some(rate) if rate.value > 0.0 && rate.value <= MOST_FRAMES => rate.value,
        Some(rate) => {
            let problem = Problem::new(
                format!("`{}` frames per second", rate.value),
                format!("it is positive, and at most {MOST_FRAMES}"),
            );
            return Err(problem.or_at(rate.at));
        }
    };
    let group = match &written.group {
        None => DEFAULT_GROUP,
        Some(group) if group.value > 0 => group.value,
        Some(group) => {
            let problem = Problem::new("a group of `0` frames", "1 makes every frame an I frame");
            return Err(problem.or_at(group.at));
        }
    };
    Ok(Video {
        frame_rate,
        i_frame: frame(written.i_frame.as_ref(), DEFAULT_I_FRAME)?,
        p_frame: frame(written.p_frame.as_ref(), DEFAULT_P_FRAME)?,
        group,
        deadline: match &written.deadline {
            None => DEFAULT_DEADLINE,
            Some(deadline) if deadline.value.0 > Time::ZERO => deadline.value.0,
            Some(deadline) => {
                let problem = Problem::new("a deadline of zero", "nothing arrives at once");
                return Err(problem.or_at(deadline.at));
            }
        },
        payload,
    })
}

fn frame(written: Option<&At<SizeText>>, default: u64) -> Result<u64, Problem> {
    between(written, default, LARGEST_FRAME, "a frame")
}

fn payload(written: Option<&At<SizeText>>) -> Result<u32, Problem> {
    between(written, DEFAULT_PAYLOAD, MOST_PAYLOAD, "a datagram").map(|bytes| bytes as u32)
}

/// The size written, which `what` can have.
fn between(
    written: Option<&At<SizeText>>,
    default: u64,
    most: u64,
    what: &str,
) -> Result<u64, Problem> {
    let Some(written) = written else {
        return Ok(default);
    };
    let bytes = written.value.0;
    if (LEAST_PAYLOAD..=most).contains(&bytes) {
        return Ok(bytes);
    }
    let problem = Problem::new(
        format!("{what} of {bytes} bytes of payload"),
        format!("it has from {LEAST_PAYLOAD} to {most} bytes"),
    );
    Err(problem.or_at(written.at))
}

/// A problem if `flow` has a key that only TCP has a use for.
fn of_tcp_alone(flow: &written::Flow) -> Result<(), Problem> {
    fn place<T>(written: &Option<At<T>>) -> Option<Position> {
        written.as_ref().map(|value| value.at)
    }
    let given = [
        ("cc", place(&flow.cc)),
        ("cc_params", flow.cc_params.keys().next().map(|key| key.at)),
        ("rwnd", place(&flow.rwnd)),
        ("sndbuf", place(&flow.sndbuf)),
        ("mss", place(&flow.mss)),
        ("write_size", place(&flow.write_size)),
        ("writes_per_second", place(&flow.writes_per_second)),
        ("nodelay", place(&flow.nodelay)),
        ("ecn", place(&flow.ecn)),
        ("delayed_ack", place(&flow.delayed_ack)),
        ("receiver", place(&flow.receiver)),
        ("remembered", place(&flow.remembered)),
    ];
    let Some((key, at)) = given
        .into_iter()
        .find_map(|(key, at)| at.map(|at| (key, at)))
    else {
        return Ok(());
    };
    let remedy = match key {
        "mss" => "leave it out; the application's `payload` is the size of its datagrams",
        "write_size" | "writes_per_second" => "leave it out; the application says what it sends",
        "cc" | "cc_params" => "leave it out: nothing controls what datagrams do to the network",
        _ => "leave it out: only TCP has it",
    };
    Err(Problem::new(format!("`{key}` of a flow over UDP"), remedy).or_at(at))
}
