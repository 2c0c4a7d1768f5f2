//! Programs that set the network up: `ip`, `tc`, `iptables`.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::failure::{Step, failure};

/// Where the programs are; the guest's first process has no environment to tell.
pub const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Runs `program -batch -` on `lines`, in the namespace the agent is in.
///
/// # Errors
/// With what the program printed, and the line at fault, if it did not succeed.
pub fn batch(program: &str, lines: &[String], step: &str) -> Step<()> {
    if lines.is_empty() {
        return Ok(());
    }
    let mut input = lines.join("\n");
    input.push('\n');
    let told = execute(program, &["-batch", "-"], &input, step)?;
    told.map_err(|output| {
        // "Command failed -:3": the number counts the lines of the input.
        let line = output
            .rsplit_once("-:")
            .and_then(|(_, rest)| rest.split_whitespace().next()?.parse::<usize>().ok())
            .and_then(|number| lines.get(number.checked_sub(1)?));
        let what = line.map_or(String::new(), |line| format!(" at `{program} {line}`"));
        failure(
            step,
            format_args!("{program} failed{what}: {}", output.trim()),
        )
    })
}

/// A program or its arguments as a shell takes them.
pub fn as_typed(words: &[String]) -> String {
    // No argument of a process has a zero byte, which alone cannot be quoted.
    shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "))
}

/// Runs `iptables` with `arguments`; the variant that needs xtables alone, if it is there.
pub fn iptables(arguments: &[String], step: &str) -> Step<()> {
    let mut missing = None;
    for program in ["iptables-legacy", "iptables"] {
        match execute(program, arguments, "", step) {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(output)) => {
                let line = as_typed(arguments);
                let problem = format!("`{program} {line}` failed: {}", output.trim());
                return Err(failure(step, problem));
            }
            Err(error) => missing = Some(error),
        }
    }
    Err(missing.unwrap_or_else(|| failure(step, "no iptables")))
}

/// Whether it succeeded, else what it printed; an error if it could not be started.
fn execute<S: AsRef<std::ffi::OsStr>>(
    program: &str,
    arguments: &[S],
    input: &str,
    step: &str,
) -> Step<Result<(), String>> {
    let missing = |error| failure(step, format_args!("cannot run {program}: {error}"));
    let mut child = Command::new(program)
        .args(arguments)
        .env_clear()
        .env("PATH", PATH)
        // Locks of iptables are files.
        .env("XTABLES_LOCKFILE", "/run/xtables.lock")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(missing)?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that stops reading says why on its own.
        let _ = stdin.write_all(input.as_bytes());
    }
    let done = child.wait_with_output().map_err(missing)?;
    if done.status.success() {
        return Ok(Ok(()));
    }
    let mut output = String::from_utf8_lossy(&done.stdout).into_owned();
    output.push_str(&String::from_utf8_lossy(&done.stderr));
    if output.trim().is_empty() {
        output = done.status.to_string();
    }
    Ok(Err(output))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_told_as_a_shell_takes_it() {
        let words = ["iperf3", "-c", "10.0.0.2", "a b", "it's", "$(x)", ""].map(str::to_owned);
        let typed = as_typed(&words);
        assert_eq!(shlex::split(&typed).expect("words"), words);
        assert!(typed.starts_with("iperf3 -c 10.0.0.2 'a b' "), "{typed}");
    }
}
