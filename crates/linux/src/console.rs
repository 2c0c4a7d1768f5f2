//! What a guest or an agent prints: its progress, and its last words.

use std::collections::VecDeque;

use cclab_testbed::records::Failure;
use cclab_units::Time;

/// Lines that are kept for a message.
const LINES: usize = 25;
/// The longest part of a line that is kept.
const WIDTH: usize = 300;

/// Everything heard so far, as far as it matters.
#[derive(Debug, Default)]
pub struct Console {
    /// How far the run is.
    pub at: Time,
    /// Whether the outcome is written.
    pub done: bool,
    /// What the agent says went wrong.
    pub failure: Option<Failure>,
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
        if !line.is_empty() {
            if self.last.len() == LINES {
                self.last.pop_front();
            }
            self.last.push_back(line.chars().take(WIDTH).collect());
        }
        false
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
}
