//! Counters of a namespace's TCP (/proc/net/netstat).

use std::collections::BTreeMap;
use std::fs;

use crate::failure::{During, Step};

/// The `TcpExt` counters of the namespace the agent is in, by name.
pub fn tcp() -> Step<BTreeMap<String, u64>> {
    // `self` is the process; the agent's one thread is the one that entered the namespace.
    let text = fs::read_to_string("/proc/thread-self/net/netstat").during("counters of TCP")?;
    Ok(parse(&text))
}

/// Lines come in pairs: names, then values.
fn parse(text: &str) -> BTreeMap<String, u64> {
    let mut lines = text
        .lines()
        .filter_map(|line| line.strip_prefix("TcpExt: "));
    match (lines.next(), lines.next()) {
        (Some(names), Some(values)) => names
            .split_whitespace()
            .map(str::to_owned)
            .zip(
                values
                    .split_whitespace()
                    .map(|value| value.parse().unwrap_or(0)),
            )
            .collect(),
        _ => BTreeMap::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn names_meet_their_values() {
        let text =
            "TcpExt: SyncookiesSent TCPTimeouts\nTcpExt: 3 7\nIpExt: InBcastPkts\nIpExt: 9\n";
        let counters = parse(text);
        assert_eq!(counters["TCPTimeouts"], 7);
        assert_eq!(counters.len(), 2);
    }
}
