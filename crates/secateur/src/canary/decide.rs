//! Reads and takes decisions about stacks in a ledger.

use std::io::Write;

use secateur_ledger::moment::now;
use secateur_ledger::{Ledger, LedgerError, LedgerOptions};

use crate::command_error::CommandError;

/// A stack that a person wants back.
#[derive(Clone, Debug)]
pub(crate) struct ResumeOptions {
    /// The ledger that the proxies share.
    pub(crate) ledger: String,
    /// Whose stack.
    pub(crate) workload: String,
    /// Which, as in the log and the portal: `m7`.
    pub(crate) stack: String,
    /// Who says so.
    pub(crate) by: String,
}

/// Switches a stack on again; all replicas follow within seconds.
///
/// # Errors
/// There is no such ledger, the stack is not off, or the output cannot be written.
pub(crate) fn canary_resume(
    options: &ResumeOptions,
    out: &mut dyn Write,
) -> Result<(), CommandError> {
    let ResumeOptions {
        ledger: url,
        workload,
        stack,
        by,
    } = options;
    let resumed = deciding(url, async |ledger| {
        ledger.resume(workload, stack, by, now()).await
    })?;
    if !resumed {
        return Err(CommandError::NotRetired {
            workload: workload.clone(),
            stack: stack.clone(),
        });
    }
    writeln!(
        out,
        "{stack} of {workload} is on again; older scores no longer count"
    )?;
    Ok(())
}

/// Lists what is off and what was switched.
///
/// # Errors
/// There is no such ledger, or the output cannot be written.
pub(crate) fn canary_list(url: &str, out: &mut dyn Write) -> Result<(), CommandError> {
    let ledger = block_on(Ledger::open_for_reading(url, None))??;
    let controls = ledger.controls().borrow().clone();
    if controls.retired.is_empty() && controls.switches.is_empty() {
        writeln!(out, "nothing is switched off")?;
    }
    for retired in &controls.retired {
        writeln!(
            out,
            "{} {} retired: {}",
            retired.workload, retired.stack, retired.reason
        )?;
    }
    for switch in &controls.switches {
        let state = if switch.is_on { "on" } else { "off" };
        writeln!(
            out,
            "{} {} switched {state} by {}",
            switch.workload, switch.mechanic, switch.by
        )?;
    }
    Ok(())
}

fn block_on<T>(work: impl Future<Output = T>) -> Result<T, CommandError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    Ok(runtime.block_on(work))
}

/// Opens a ledger that is there, takes one decision, and waits until it is written. What is too old is cleared away by those who
/// know the configuration.
fn deciding<T>(
    url: &str,
    act: impl AsyncFnOnce(&Ledger) -> Result<T, LedgerError>,
) -> Result<T, CommandError> {
    block_on(async {
        // A name that is wrong must not make a new ledger.
        Ledger::open_for_reading(url, None).await?;
        let spool = std::env::temp_dir().join(format!("secateur-canary-{}", std::process::id()));
        let mut options = LedgerOptions::new(url, &spool);
        options.clears = false;
        let ledger = Ledger::open(options).await?;
        let done = act(&ledger).await;
        ledger.close().await;
        // Nothing was recorded, so nothing waits in it.
        let _ = std::fs::remove_dir_all(&spool);
        Ok(done?)
    })?
}

#[cfg(test)]
mod tests {
    use super::*;
    use secateur_ledger::{Retired, StackEvent, StackEventKind};

    #[test]
    fn a_retired_stack_is_listed_and_comes_back_once() {
        let folder = std::env::temp_dir().join(format!("secateur-cli-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let url = format!("sqlite:{}", folder.join("l.db").display());
        let options = ResumeOptions {
            ledger: url.clone(),
            workload: "agent".into(),
            stack: "m7".into(),
            by: "ada".into(),
        };
        let mut out = Vec::new();
        // There is none yet, and asking makes none.
        assert!(canary_list(&url, &mut out).is_err() && canary_resume(&options, &mut out).is_err());
        assert!(!folder.join("l.db").exists());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let ledger = Ledger::open(LedgerOptions::new(&url, folder.join("s")))
                .await
                .unwrap();
            let retired = Retired {
                workload: "agent".into(),
                stack: "m7".into(),
                at: 1,
                reason: "mean 0.5".into(),
            };
            let event = StackEvent {
                at: 1,
                workload: "agent".into(),
                stack: "m7".into(),
                kind: StackEventKind::RolledBack,
                reason: "mean 0.5".into(),
                mean: Some(0.5),
                samples: Some(30),
                by: None,
            };
            assert!(ledger.retire(&retired, &event).await.unwrap());
            ledger.close().await;
        });
        canary_list(&url, &mut out).unwrap();
        canary_resume(&options, &mut out).unwrap();
        canary_list(&url, &mut out).unwrap();
        let shown = String::from_utf8(out).unwrap();
        assert_eq!(
            shown,
            "agent m7 retired: mean 0.5\nm7 of agent is on again; older scores no longer count\nnothing is switched off\n"
        );
        let again = canary_resume(&options, &mut Vec::new())
            .unwrap_err()
            .to_string();
        assert!(again.contains("m7") && again.contains("not off"), "{again}");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
