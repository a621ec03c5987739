//! `secateur canary`: what is switched off, and commands to switch it on again.

mod decide;

use clap::Subcommand;

use self::decide::{ResumeOptions, canary_list, canary_resume};
use crate::audit::args::LedgerArgs;
use crate::audit::place::url;
use crate::failure::Failure;

#[derive(Debug, Subcommand)]
pub(crate) enum CanaryCommand {
    /// List the stacks that are off and the mechanics that were switched.
    #[command(after_help = "Example:\n  secateur canary list")]
    List {
        #[command(flatten)]
        place: LedgerArgs,
    },
    /// Switch a stack on again that was rolled back. Only a person does this.
    #[command(after_help = "\
Older scores no longer count; all replicas follow within seconds.

Example:
  secateur canary resume --workload agent --stack m7")]
    Resume {
        #[command(flatten)]
        place: LedgerArgs,
        /// Whose stack.
        #[arg(long, short = 'w')]
        workload: String,
        /// Which stack, such as m7.
        #[arg(long)]
        stack: String,
        /// Who takes the decision, for the timeline.
        #[arg(long, default_value = "command line")]
        by: String,
    },
}

pub(crate) fn run(command: &CanaryCommand) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    let done = match command {
        CanaryCommand::List { place } => canary_list(&url(place)?, &mut out),
        CanaryCommand::Resume {
            place,
            workload,
            stack,
            by,
        } => {
            let options = ResumeOptions {
                ledger: url(place)?,
                workload: workload.clone(),
                stack: stack.clone(),
                by: by.clone(),
            };
            canary_resume(&options, &mut out)
        }
    };
    Ok(done?)
}
