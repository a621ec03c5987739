//! The agent as a child: the terminal is its own, and so is Ctrl-C.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitStatus;

use crate::Failure;

/// Runs the agent to its end. Its exit code; 128 and the signal's number where a signal ended it.
pub(super) async fn run(
    program: &Path,
    arguments: &[OsString],
    variables: &[(String, OsString)],
) -> Result<u8, Failure> {
    let mut command = tokio::process::Command::new(program);
    command.args(arguments);
    for (name, value) in variables {
        command.env(name, value);
    }
    let started = listening_to_signals(command);
    let ended = match started {
        Ok((child, signals)) => wait(child, signals).await,
        Err(error) => Err(error),
    };
    match ended {
        Ok(status) => Ok(code(status)),
        Err(error) => Err(Failure::bad_input(format!(
            "cannot run {}: {error}",
            program.display()
        ))),
    }
}

#[cfg(unix)]
type Signals = [tokio::signal::unix::Signal; 4];

/// Starts the agent. Signals of the terminal reach the agent by themselves, because it is in the same process group; ours
/// have handlers from now on, so that they do not end this program. Handlers, unlike ignored signals, are not inherited.
#[cfg(unix)]
fn listening_to_signals(
    mut command: tokio::process::Command,
) -> std::io::Result<(tokio::process::Child, Signals)> {
    use tokio::signal::unix::{SignalKind, signal};
    let signals = [
        signal(SignalKind::interrupt())?,
        signal(SignalKind::quit())?,
        signal(SignalKind::terminate())?,
        signal(SignalKind::hangup())?,
    ];
    Ok((command.spawn()?, signals))
}

#[cfg(unix)]
async fn wait(mut child: tokio::process::Child, signals: Signals) -> std::io::Result<ExitStatus> {
    use rustix::process::Signal;
    let pid = child.id().and_then(|id| i32::try_from(id).ok());
    let pid = pid.and_then(rustix::process::Pid::from_raw);
    let [mut interrupt, mut quit, mut terminate, mut hangup] = signals;
    loop {
        let passed_on = tokio::select! {
            status = child.wait() => return status,
            _ = interrupt.recv() => None,
            _ = quit.recv() => None,
            _ = terminate.recv() => Some(Signal::TERM),
            _ = hangup.recv() => Some(Signal::HUP),
        };
        if let (Some(pid), Some(signal)) = (pid, passed_on) {
            // It may have ended in the meantime.
            let _ = rustix::process::kill_process(pid, signal);
        }
    }
}

#[cfg(not(unix))]
type Signals = ();

#[cfg(not(unix))]
fn listening_to_signals(
    mut command: tokio::process::Command,
) -> std::io::Result<(tokio::process::Child, Signals)> {
    Ok((command.spawn()?, ()))
}

#[cfg(not(unix))]
async fn wait(mut child: tokio::process::Child, (): Signals) -> std::io::Result<ExitStatus> {
    loop {
        tokio::select! {
            status = child.wait() => return status,
            _ = tokio::signal::ctrl_c() => {}
        }
    }
}

fn code(status: ExitStatus) -> u8 {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return u8::try_from(128 + signal).unwrap_or(u8::MAX);
    }
    status
        .code()
        .map_or(1, |code| u8::try_from(code).unwrap_or(1))
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    fn ends_with(script: &str) -> u8 {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let arguments = ["-c".into(), script.into()];
        let variables = [("GIVEN".to_owned(), "7".into())];
        let run = run(Path::new("/bin/sh"), &arguments, &variables);
        runtime.block_on(run).unwrap()
    }

    #[test]
    fn the_exit_code_is_the_agents_and_signals_are_passed_on() {
        assert_eq!(ends_with("exit $GIVEN"), 7);
        assert_eq!(ends_with("kill -KILL $$"), 128 + 9);
        // The shell asks its parent to end; the parent passes that on.
        assert_eq!(
            ends_with("trap 'exit 5' TERM; kill -TERM $PPID; while :; do sleep 0.05; done"),
            5
        );
        // Ctrl-C reaches both; it ends the agent only if the agent wants that.
        assert_eq!(ends_with("kill -INT $PPID; sleep 0.1; exit 3"), 3);
    }
}
