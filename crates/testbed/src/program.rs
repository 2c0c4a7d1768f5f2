//! Programs of the host that run as flows: their placeholders, and the servers of known clients.

use std::path::Path;

use cclab_packet::{address, port};
use cclab_spec::{Flow, Piece, Scenario, pieces};
use cclab_units::Time;

use crate::orders::Work;

/// A client whose server is known. The server binds the flow's address, so that flows which
/// share a host do not take each other's port.
struct Counterpart {
    client: &'static str,
    server: &'static [&'static str],
    /// The client's option that names the server's port, and its long form.
    port: (&'static str, &'static str),
}

const COUNTERPARTS: [Counterpart; 3] = [
    Counterpart {
        client: "iperf3",
        server: &["iperf3", "-s", "-1", "-B", "{dst}"],
        port: ("-p", "--port"),
    },
    Counterpart {
        client: "iperf",
        server: &["iperf", "-s", "-B", "{dst}"],
        port: ("-p", "--port"),
    },
    Counterpart {
        client: "netperf",
        server: &["netserver", "-D", "-4", "-L", "{dst}"],
        port: ("-p", ""),
    },
];

/// The work of the flow at `index`, if it is a program's; it starts at `start`.
pub(crate) fn work(scenario: &Scenario, index: usize, start: Time) -> Option<Work> {
    let flow = &scenario.flows[index];
    let command = flow.command.as_ref()?;
    let server = flow.server.clone().or_else(|| counterpart(command));
    let fill = |arguments: &[String]| -> Vec<String> {
        arguments
            .iter()
            .map(|argument| filled(argument, scenario, flow, index as u32))
            .collect()
    };
    Some(Work::Command {
        client: fill(command),
        server: server.as_deref().map(fill),
        until: flow.duration.map(|duration| start + duration),
    })
}

/// The server for `command`, at the port that the client names.
fn counterpart(command: &[String]) -> Option<Vec<String>> {
    let (program, arguments) = command.split_first()?;
    let program = Path::new(program).file_name()?.to_str()?;
    let known = COUNTERPARTS.iter().find(|known| known.client == program)?;
    let mut server: Vec<String> = known.server.iter().map(|&word| word.to_owned()).collect();
    if let Some(port) = named_port(arguments, known.port) {
        server.extend(["-p".to_owned(), port]);
    }
    Some(server)
}

/// The value of the option `short` or `long`: `-p 1`, `-p1`, `--port 1` or `--port=1`.
fn named_port(arguments: &[String], (short, long): (&str, &str)) -> Option<String> {
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if argument == short || (!long.is_empty() && argument == long) {
            return rest.next().cloned();
        }
        let attached = argument.strip_prefix(short);
        let assigned = argument
            .strip_prefix(long)
            .filter(|_| !long.is_empty())
            .and_then(|rest| rest.strip_prefix('='));
        let is_port = |text: &&str| {
            text.starts_with('{') || (!text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()))
        };
        if let Some(port) = assigned.or(attached.filter(is_port)) {
            return Some(port.to_owned());
        }
    }
    None
}

fn filled(argument: &str, scenario: &Scenario, flow: &Flow, index: u32) -> String {
    pieces(argument)
        .into_iter()
        .map(|piece| match piece {
            Piece::Text(text) => text.to_owned(),
            Piece::Placeholder("src") => address(index, false).to_string(),
            Piece::Placeholder("dst") => address(index, true).to_string(),
            Piece::Placeholder("port") => port(index, true).to_string(),
            Piece::Placeholder("duration") => {
                let rest = scenario.duration.map(|end| end - flow.start.at);
                let duration = flow.duration.or(rest);
                duration.map_or_else(String::new, |d| d.as_secs_f64().to_string())
            }
            Piece::Placeholder(unknown) => {
                unreachable!("the placeholder {unknown} is refused with the study")
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(command: &str) -> Option<String> {
        let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
        counterpart(&words).map(|server| server.join(" "))
    }

    #[test]
    fn a_known_client_gets_its_server_at_the_port_it_names() {
        let own = |port: &str| Some(format!("iperf3 -s -1 -B {{dst}}{port}"));
        assert_eq!(server("iperf3 -c {dst} -t 5"), own(""));
        assert_eq!(server("/usr/bin/iperf3 -p 7 -c {dst}"), own(" -p 7"));
        assert_eq!(server("iperf3 -c {dst} -p7"), own(" -p 7"));
        assert_eq!(server("iperf3 --port=7 -c {dst}"), own(" -p 7"));
        assert_eq!(server("iperf3 --port {port} -c {dst}"), own(" -p {port}"));
        assert_eq!(
            server("netperf -H {dst} -p 9"),
            Some("netserver -D -4 -L {dst} -p 9".to_owned())
        );
        assert_eq!(server("ping -c 3 {dst}"), None);
    }
}
