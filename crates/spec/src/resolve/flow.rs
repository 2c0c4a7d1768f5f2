//! Flows.

use std::collections::BTreeMap;

use cclab_units::Time;

use super::application::application;
use super::datagrams::datagrams;
use super::layout::{self, Layout};
use super::link::packet_rate;
use super::program::program;
use super::receiver::receiver;
use super::remembered::remembered;
use super::variant::variant;
use super::{Files, positive_time};
use crate::de::At;
use crate::error::Problem;
use crate::flow::{DelayAt, Flow, FlowFields, Start};
use crate::names::Names;
use crate::path::default_name;
use crate::text::{BriefOrFull, SizeText};
use crate::written::{self, EcnOfEnds};

/// Bytes of memory that the send buffer of a Linux socket can have, from `SOCK_MIN_SNDBUF` on.
const SNDBUF: std::ops::RangeInclusive<u64> = 4_608..=1 << 30;

/// Width of the interval a flow's start is drawn from unless the flow says otherwise: wide
/// enough that repeats differ and flows do not march in step.
const DEFAULT_SPREAD: Time = Time::from_millis(100);

/// The most flows a scenario may have.
const MAX_FLOWS: u64 = 100_000;

/// What flows are resolved beside.
pub(super) struct Around<'a, 'f> {
    pub names: &'a Names,
    /// The name of the study's stack.
    pub stack: &'a str,
    /// Bytes of a full packet beyond the MSS.
    pub overhead: u32,
    /// The study's duration.
    pub run: Option<Time>,
    pub layout: &'a Layout<'a>,
    /// The name of the study's kernel.
    pub kernel: Option<&'a str>,
    /// The files beside the study.
    pub files: &'a mut Files<'f>,
}

/// The flows, `count` unrolled, and the largest of their base RTTs.
pub(super) fn flows(
    study: &written::Study,
    around: &mut Around<'_, '_>,
) -> Result<(Vec<Flow>, Time), Problem> {
    let mut taken: Vec<&str> = Vec::new();
    let defaults: Vec<String> = (0..study.flow.len())
        .map(|index| default_name("flow", index))
        .collect();
    let mut flows = Vec::new();
    let mut longest = Time::ZERO;
    groups(&study.flow, &defaults)?;
    for (written, default) in study.flow.iter().zip(&defaults) {
        let name = unique_name(written.value.name.as_ref(), default, written.at, &mut taken)?;
        let (flow, rtt) = flow(written, name, around)?;
        let count = written.value.count.as_ref().map_or(1, |count| count.value);
        if count == 0 {
            continue;
        }
        longest = longest.max(rtt);
        if count > MAX_FLOWS - flows.len() as u64 {
            let at = written
                .value
                .count
                .as_ref()
                .map_or(written.at, |count| count.at);
            return Err(Problem::new(
                format!("{count} flows cannot be run"),
                format!("a study has at most {MAX_FLOWS} flows"),
            )
            .or_at(at));
        }
        if count == 1 {
            flows.push(flow);
        } else {
            flows.extend((1..=count).map(|i| flow.named(format!("{name}.{i}"))));
        }
    }
    let alone = !(study.traffic.is_empty() && study.probe.is_empty()) && around.run.is_some();
    if flows.is_empty() && !alone {
        return Err(match study.flow.first() {
            None => Problem::new("the study has no flow", "add a [[flow]]"),
            Some(first) => Problem::new(
                "every flow is absent",
                "give at least one a `count` of 1 or more",
            )
            .or_at(
                first
                    .value
                    .count
                    .as_ref()
                    .map_or(first.at, |count| count.at),
            ),
        });
    }
    Ok((flows, longest))
}

/// Refuses a group without a name, and one with the name of a flow that is not in it: that is a
/// group or a flow of its own.
fn groups(flows: &[At<written::Flow>], defaults: &[String]) -> Result<(), Problem> {
    for group in flows.iter().filter_map(|flow| flow.value.group.as_ref()) {
        check_name(&group.value, group.at)?;
        let mut outside = flows.iter().zip(defaults).filter(|(flow, default)| {
            let own = flow
                .value
                .name
                .as_ref()
                .map_or(*default, |name| &name.value);
            let named = flow.value.group.as_ref().map(|group| &group.value);
            *own == group.value && named != Some(&group.value)
        });
        if outside.next().is_some() {
            let name = &group.value;
            return Err(Problem::new(
                format!("the group `{name}` has the name of a flow that is not in it"),
                format!("give the flow `{name}` the same `group`, or the group another name"),
            )
            .or_at(group.at));
        }
    }
    Ok(())
}

/// Refuses what cannot be a name.
fn check_name(name: &str, at: crate::error::Position) -> Result<(), Problem> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || name.len() > 64 || !name.chars().all(plain) {
        return Err(Problem::new(
            format!("\"{name}\" cannot be a name"),
            "use up to 64 letters, digits, `-` and `_`",
        )
        .or_at(at));
    }
    Ok(())
}

/// The name of a flow or of cross traffic, which no other has.
pub(super) fn unique_name<'a>(
    written: Option<&'a At<String>>,
    default: &'a str,
    entry: crate::error::Position,
    taken: &mut Vec<&'a str>,
) -> Result<&'a str, Problem> {
    let (name, at) = written.map_or((default, entry), |name| (name.value.as_str(), name.at));
    check_name(name, at)?;
    if taken.contains(&name) {
        return Err(
            Problem::new(format!("the name `{name}` is taken"), "names are unique").or_at(at),
        );
    }
    taken.push(name);
    Ok(name)
}

fn flow(
    written: &At<written::Flow>,
    name: &str,
    around: &mut Around<'_, '_>,
) -> Result<(Flow, Time), Problem> {
    let (run, overhead) = (around.run, around.overhead);
    let At { at, value: flow } = written;
    let duration = flow.duration.as_ref().map(positive_time).transpose()?;
    if run.is_none() && duration.is_none() && flow.transfer.is_none() && flow.command.is_none() {
        return Err(Problem::new(
            format!("flow `{name}` never ends"),
            "give it a `transfer` or a `duration`, or the study a `duration`",
        )
        .or_at(*at));
    }
    let ends = around.layout.ends(&layout::Written {
        at: *at,
        name,
        what: "flow",
        keys: flow.place(),
    })?;
    let start = start(flow);
    if let Some(writes) = flow
        .writes_per_second
        .as_ref()
        .filter(|w| !(w.value.is_finite() && w.value > 0.0))
    {
        let problem = Problem::new(
            format!("`{}` writes per second", writes.value),
            "it is positive and finite",
        );
        return Err(problem.or_at(writes.at));
    }
    if let Some(every) = flow.delayed_ack.as_ref().filter(|every| every.value == 0) {
        return Err(Problem::new(
            "an acknowledgement after `0` segments",
            "1 acknowledges every segment",
        )
        .or_at(every.at));
    }
    let ecn = match flow.ecn.as_ref().map(|ecn| &ecn.value) {
        None => EcnOfEnds::default(),
        Some(BriefOrFull::Brief(sender)) => EcnOfEnds {
            sender: Some(*sender),
            receiver: None,
        },
        Some(BriefOrFull::Full(ends)) => *ends,
    };
    let program = program(flow, run.is_some() || duration.is_some())?;
    let udp = datagrams(flow)?;
    let (cc, cc_params) = match udp {
        None => variant(
            flow.cc.as_ref(),
            &flow.cc_params,
            around.names,
            around.files,
        )?,
        Some(_) => (String::new(), BTreeMap::new()),
    };
    let remembered = remembered(flow, around.stack)?;
    let resolved = FlowFields {
        name: name.to_owned(),
        group: flow.group.as_ref().map(|group| group.value.clone()),
        cc,
        kernel: own_kernel(flow, around.kernel)?,
        cc_params,
        udp,
        extra_delay: ends.extra_delay,
        start,
        transfer: flow.transfer.as_ref().map(|transfer| transfer.value.0),
        duration,
        rwnd: flow.rwnd.as_ref().map(|rwnd| rwnd.value.0),
        sndbuf: flow
            .sndbuf
            .as_ref()
            .map(|size| sndbuf(flow, size))
            .transpose()?,
        mss: flow
            .mss
            .as_ref()
            .map(|size| mss(size, overhead))
            .transpose()?,
        write_size: flow.write_size.as_ref().map(|size| size.value.0),
        writes_per_second: flow.writes_per_second.as_ref().map(|writes| writes.value),
        nodelay: flow.nodelay.as_ref().is_some_and(|on| on.value),
        packet_rate: flow.packet_rate.as_ref().map(packet_rate).transpose()?,
        ecn: ecn.sender.unwrap_or_default(),
        receiver_ecn: ecn.receiver,
        delayed_ack: flow.delayed_ack.as_ref().map(|every| every.value),
        receiver: receiver(flow)?,
        remembered,
        direction: ends.direction,
        crosses: ends.crosses,
        from: ends.from.clone(),
        to: ends.to.clone(),
        application: match udp {
            None => application(flow, around.run)?,
            Some(_) => None,
        },
        command: program.client,
        server: program.server,
        delay_at: flow.delay_at.unwrap_or(DelayAt::Router),
        delay_limit: delay_limit(flow)?,
        sysctl: flow
            .sysctl
            .iter()
            .map(|(key, value)| (key.clone(), value.0.clone()))
            .collect(),
    };
    Ok((resolved.into(), ends.own_rtt + ends.extra_delay * 2))
}

/// The kernel of a flow that has another than the study's.
fn own_kernel(flow: &written::Flow, study: Option<&str>) -> Result<Option<String>, Problem> {
    let own = flow.kernel.as_ref().map(kernel_name).transpose()?;
    Ok(own.filter(|own| Some(own.as_str()) != study))
}

/// A kernel's name is no longer than this.
const MAX_KERNEL_NAME: usize = 64;

/// The name of a kernel.
pub(super) fn kernel_name(written: &At<String>) -> Result<String, Problem> {
    let name = &written.value;
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let begins = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    match begins && name.len() <= MAX_KERNEL_NAME && name.chars().all(plain) {
        true => Ok(name.clone()),
        false => Err(Problem::new(
            format!("{name:?} cannot be the name of a kernel"),
            format!(
                "letters, digits, `.`, `_` and `-` can, up to {MAX_KERNEL_NAME}, the first a letter \
                 or a digit, such as \"6.1\""
            ),
        )
        .or_at(written.at)),
    }
}

/// A send buffer within what Linux knows.
fn sndbuf(flow: &written::Flow, size: &At<SizeText>) -> Result<u64, Problem> {
    let bytes = size.value.0;
    let problem = if !SNDBUF.contains(&bytes) {
        Problem::new(
            format!("a send buffer of {bytes} bytes"),
            format!(
                "write \"{}B\" to \"1GiB\", as Linux has them",
                SNDBUF.start()
            ),
        )
    } else if flow.sysctl.contains_key("net.ipv4.tcp_wmem") {
        Problem::new(
            "`sndbuf` and the sysctl net.ipv4.tcp_wmem set the same buffer",
            "leave one of them out",
        )
    } else {
        return Ok(bytes);
    };
    Err(problem.or_at(size.at))
}

fn delay_limit(flow: &written::Flow) -> Result<Option<u32>, Problem> {
    let Some(limit) = &flow.delay_limit else {
        return Ok(None);
    };
    let problem = match (limit.value, flow.delay_at) {
        (0, _) => Problem::new("a limit of 0 packets lets none pass", "write at least 1"),
        (_, Some(DelayAt::Sender)) => return Ok(Some(limit.value)),
        _ => Problem::new(
            "`delay_limit` belongs to a flow with `delay_at = \"sender\"`",
            "give it that, or leave it out",
        ),
    };
    Err(problem.or_at(limit.at))
}

fn start(flow: &written::Flow) -> Start {
    match &flow.start {
        None => Start {
            at: Time::ZERO,
            spread: DEFAULT_SPREAD,
        },
        Some(BriefOrFull::Brief(at)) => Start {
            at: at.0,
            spread: Time::ZERO,
        },
        Some(BriefOrFull::Full(start)) => Start {
            at: start.at.map_or(Time::ZERO, |at| at.0),
            spread: start.spread.map_or(DEFAULT_SPREAD, |spread| spread.0),
        },
    }
}

/// Sizes of packets have 16 bits, as IPv4's total length has: with what the stack adds to it, its
/// `overhead`, a full segment is one.
fn mss(written: &At<SizeText>, overhead: u32) -> Result<u32, Problem> {
    let largest = u64::from(u16::MAX) - u64::from(overhead);
    match u32::try_from(written.value.0) {
        Ok(mss) if u64::from(mss) <= largest => Ok(mss),
        _ => Err(Problem::new(
            format!(
                "a segment of {} bytes does not fit a packet: with headers and framing that has at most 65,535",
                written.value.0
            ),
            format!("write at most \"{largest}B\""),
        )
        .or_at(written.at)),
    }
}
