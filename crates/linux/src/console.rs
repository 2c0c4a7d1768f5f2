//! What a guest or an agent prints: its progress, and its last words.

use std::collections::VecDeque;

use cclab_testbed::records::Failure;
use cclab_units::Time;

use crate::RunError;

/// Lines that are kept for a message.
const LINES: usize = 25;
/// The longest part of a line that is kept.
const WIDTH: usize = 300;
/// Functions of the kernel that are kept: those of the first fault.
const FUNCTIONS: usize = 64;

/// What a kernel says that has no memory left, whomever it then ends.
const OUT_OF_MEMORY: &str = "Out of memory";

/// Everything heard so far, as far as it matters.
#[derive(Debug, Default)]
pub struct Console {
    /// How far the run is.
    pub at: Time,
    /// Whether the outcome is written.
    pub done: bool,
    /// What the agent says went wrong.
    pub failure: Option<Failure>,
    /// The functions that the kernel names as it fails, from where it was on.
    pub functions: Vec<String>,
    /// What the kernel says first of memory that it has no more of.
    pub out_of_memory: Option<String>,
    last: VecDeque<String>,
}

impl Console {
    /// Takes a line in; whether it shows that time moves.
    pub fn take(&mut self, line: &str) -> bool {
        let line = line.trim_end();
        if let Some(at) = line
            .strip_prefix("cclab at ")
            .and_then(|at| at.parse().ok())
        {
            self.at = Time::from_nanos(at);
            return true;
        }
        if line == "cclab done" {
            self.done = true;
            return true;
        }
        if let Some((step, problem)) = line
            .strip_prefix("cclab failed ")
            .and_then(|rest| rest.split_once(": "))
        {
            self.failure = Some(Failure {
                step: step.to_owned(),
                problem: problem.replace("\\n", "\n"),
            });
            return true;
        }
        // The kernel boots on with the default, which nobody asked for.
        if line.contains(" for parameter `") && self.failure.is_none() {
            self.failure = Some(Failure {
                step: "parameters of modules".to_owned(),
                problem: line.to_owned(),
            });
        }
        // "Out of memory: Killed process 71 (iperf3) ...", and in a panic.
        if self.out_of_memory.is_none()
            && let Some(at) = line.find(OUT_OF_MEMORY)
        {
            self.out_of_memory = Some(line[at..].chars().take(WIDTH).collect());
        }
        let room = FUNCTIONS.saturating_sub(self.functions.len());
        self.functions.extend(functions(line).take(room));
        if !line.is_empty() {
            if self.last.len() == LINES {
                self.last.pop_front();
            }
            self.last.push_back(line.chars().take(WIDTH).collect());
        }
        false
    }

    /// The error of `what`, if its kernel had no memory left: what failed then, failed for that.
    pub fn without_memory(&self, what: &str) -> Option<RunError> {
        self.out_of_memory
            .clone()
            .map(|told| RunError::OutOfMemory {
                what: what.to_owned(),
                at: self.at,
                told,
            })
    }

    /// The last lines that were not about progress.
    pub fn last_lines(&self) -> String {
        if self.last.is_empty() {
            return "(it printed nothing)".to_owned();
        }
        let lines: Vec<&str> = self.last.iter().map(String::as_str).collect();
        lines.join("\n")
    }
}

/// The functions that `line` names as the kernel does, each as `name+0xOFFSET/0xSIZE`: without what a
/// compiler appends to its name.
fn functions(line: &str) -> impl Iterator<Item = String> {
    let words = line.split(|c: char| c.is_whitespace() || c == ':');
    words.filter_map(|word| {
        let (name, offset) = word.split_once("+0x")?;
        let named = offset.contains("/0x") && !name.is_empty();
        let own = name.split('.').next().unwrap_or(name);
        named.then(|| own.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_and_failures_are_told_from_the_rest() {
        let mut console = Console::default();
        assert!(!console.take("Kernel panic - not syncing"));
        assert!(console.take("cclab at 1500000000"));
        assert_eq!(console.at, Time::from_millis(1500));
        assert!(console.take("cclab failed queueing disciplines of r1: tc failed\\nat line 2"));
        let failure = console.failure.clone().expect("a failure");
        assert_eq!(failure.step, "queueing disciplines of r1");
        assert_eq!(failure.problem, "tc failed\nat line 2");
        assert_eq!(console.last_lines(), "Kernel panic - not syncing");
    }

    #[test]
    fn a_kernel_without_memory_is_told_from_one_that_fails() {
        let mut console = Console::default();
        console.take("[    4.1] Out of memory: Killed process 71 (iperf3) total-vm:900kB");
        console.take("Kernel panic - not syncing: Out of memory and no killable processes...");
        let told = console.out_of_memory.as_deref();
        assert_eq!(
            told,
            Some("Out of memory: Killed process 71 (iperf3) total-vm:900kB")
        );
    }

    #[test]
    fn a_kernel_that_fails_names_functions() {
        let mut console = Console::default();
        console.take("RIP: 0033:oops_avoid.isra.0+0x1f/0x30");
        console.take(" [<6007181a>] ? do_idle+0xfa/0x1b0");
        console.take("1+0x2 is no function");
        assert_eq!(console.failure, None);
        console.take("Booting kernel: `99' invalid for parameter `tcp_foo_ab.shift'");
        assert!(console.failure.is_some());
        assert_eq!(console.functions, ["oops_avoid", "do_idle"]);
        assert_eq!(console.out_of_memory, None);
    }
}
