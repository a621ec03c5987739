//! `secateur policy`: write, check and explain policy files.

use secateur_core::internal::rounds::Rounds;
use secateur_core::policy::{self, Cadence, PRESETS, Policy};
use secateur_core::strategy::{self, OptionFact};
use serde_json::Value;

use crate::args::{PolicyArgs, PolicyCommand};
use crate::failure::Failure;
use crate::input::{read_text, say, write_stdout};
use crate::table::{bold, green, table};

pub(crate) fn run(command: &PolicyCommand) -> Result<(), Failure> {
    match command {
        PolicyCommand::Init { all: true, .. } => write_stdout(policy::template().as_bytes()),
        PolicyCommand::Init { preset, .. } => init(preset),
        PolicyCommand::Check { file } => {
            let text = read_text(file)?;
            Policy::resolve(None, Some(&text), &[])
                .map_err(|error| Failure::bad_input(format!("{}: {error}", file.display())))?;
            say!("{}: {}", green("valid"), file.display())
        }
        PolicyCommand::Explain(args) => explain(args),
    }
}

fn init(name: &str) -> Result<(), Failure> {
    let preset = PRESETS.iter().find(|preset| preset.name == name);
    let preset = preset.ok_or_else(|| {
        Failure::bad_usage(format!(
            "there is no preset `{name}`; `secateur presets` lists them"
        ))
    })?;
    let text = policy::template_of(preset);
    let text = text.map_err(|error| Failure::bad_usage(error.to_string()))?;
    write_stdout(text.as_bytes())
}

fn explain(args: &PolicyArgs) -> Result<(), Failure> {
    let policy = args.resolve()?;
    let values = serde_json::to_value(&policy)
        .map_err(|error| Failure::bad_usage(format!("cannot spell the policy: {error}")))?;
    explain_pruning(&policy, &values)?;
    explain_compress(&policy, &values)?;
    for key in policy.ignored_keys() {
        say!("{key} is set and has no effect.")?;
    }
    Ok(())
}

fn explain_pruning(policy: &Policy, values: &Value) -> Result<(), Failure> {
    let m7 = &policy.m7;
    if !m7.enabled {
        return say!("Context pruning (m7) is off.\n");
    }
    say!(
        "{}: requests with more than {} messages or more than {} characters.\n",
        bold("Context pruning (m7)"),
        m7.min_messages,
        m7.min_body_chars
    )?;
    match policy.cadence {
        Cadence::EveryRequest => {
            say!("Every request is planned from scratch (cadence every-request).\n")?;
        }
        Cadence::Rounds => {
            say!(
                "What has just arrived is shortened at once; what a cache may hold is cut in rounds, when \
                 that pays (cadence rounds):"
            )?;
            options(Rounds::OPTIONS, &values["rounds"])?;
        }
    }
    say!("The strategies, in this order:\n")?;
    for strategy in policy.strategies() {
        let Some(facts) = strategy::ALL.iter().find(|facts| facts.id == strategy.id()) else {
            continue;
        };
        say!("{}: {}", bold(facts.id.0), facts.summary())?;
        options(facts.options, &values[facts.id.0])?;
    }
    Ok(())
}

fn explain_compress(policy: &Policy, values: &Value) -> Result<(), Failure> {
    if !policy.m3.is_active() {
        return say!("Compress (m3) is off.");
    }
    let goes_first = if policy.m7.enabled {
        ", where context pruning does not claim the request"
    } else {
        ""
    };
    say!(
        "{}{goes_first}: {}",
        bold("Compress (m3)"),
        strategy::COMPRESS.summary()
    )?;
    options(strategy::COMPRESS.options, &values["m3"])
}

/// Options with the values that are in force.
fn options(options: &[OptionFact], values: &Value) -> Result<(), Failure> {
    let mut rows = table(&["option", "value", "meaning"]);
    for option in options {
        let value = &values[option.key];
        rows.add_row([
            option.key.to_owned(),
            if value.is_null() {
                "not set".to_owned()
            } else {
                value.to_string()
            },
            option.about.trim().replace("\n ", "\n"),
        ]);
    }
    say!("{rows}\n")
}
