//! A program of the user's: JSON on standard input, a number from 0 to 1 on standard output.

use std::process::Stdio;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

use super::{ScorerError, in_range};

/// What is read of a command's output at most.
const MAX_OUTPUT_BYTES: u64 = 4096;

/// Runs the command. Whoever drops the future kills the process, by its own id.
pub(super) async fn score(words: &[String], input: &Value) -> Result<f64, ScorerError> {
    let (program, args) = words.split_first().ok_or(ScorerError::Unreachable)?;
    let mut child = Command::new(program)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(|_| ScorerError::Unreachable)?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let (Some(mut stdin), Some(stdout)) = (stdin, stdout) else {
        return Err(ScorerError::Unreachable);
    };
    let input = input.to_string();
    let write = async move {
        // A command that does not read its input may still have an answer.
        let _ = stdin.write_all(input.as_bytes()).await;
        let _ = stdin.shutdown().await;
    };
    let mut output = String::new();
    let mut limited = stdout.take(MAX_OUTPUT_BYTES);
    let (_, read) = tokio::join!(write, limited.read_to_string(&mut output));
    read.map_err(|_| ScorerError::NotAScore)?;
    let status = child.wait().await.map_err(|_| ScorerError::Failed)?;
    if !status.success() {
        return Err(ScorerError::Failed);
    }
    let number = output.trim().parse().map_err(|_| ScorerError::NotAScore)?;
    in_range(number)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use serde_json::json;
    use std::time::Duration;

    fn shell(script: &str) -> Vec<String> {
        ["sh", "-c", script].map(str::to_owned).to_vec()
    }

    #[tokio::test]
    async fn a_command_reads_both_answers_and_prints_a_number() {
        let input = json!({"pruned": {"text": "a"}, "original": {"text": "a"}});
        let found = score(&shell("grep -q original && echo 0.75"), &input).await;
        assert_eq!(found, Ok(0.75));
    }

    #[tokio::test]
    async fn whatever_is_no_score_is_an_error_of_its_own() {
        for (script, error) in [
            ("cat > /dev/null; echo good", ScorerError::NotAScore),
            ("cat > /dev/null; echo 7", ScorerError::NotAScore),
            ("cat > /dev/null; echo nan", ScorerError::NotAScore),
            ("cat > /dev/null; echo 1; exit 3", ScorerError::Failed),
        ] {
            assert_eq!(
                score(&shell(script), &json!({})).await,
                Err(error),
                "{script}"
            );
        }
        let none = vec!["/nowhere/no-such-program".to_owned()];
        assert_eq!(
            score(&none, &json!({})).await,
            Err(ScorerError::Unreachable)
        );
    }

    #[tokio::test]
    async fn a_command_that_hangs_is_killed() {
        let folder = std::env::temp_dir().join(format!("secateur-scorer-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let pid_file = folder.join("pid");
        let script = format!("echo $$ > {}; exec sleep 60", pid_file.display());
        let words = shell(&script);
        let input = json!({});
        let hung = tokio::time::timeout(Duration::from_millis(800), score(&words, &input)).await;
        assert!(hung.is_err());
        let pid = std::fs::read_to_string(&pid_file)
            .unwrap()
            .trim()
            .to_owned();
        let is_gone = || {
            // Killed, and reaped or waiting to be.
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
            stat.map_or(true, |stat| stat.contains(") Z "))
        };
        for _ in 0..100 {
            if is_gone() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert!(is_gone(), "process {pid} is still there");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
