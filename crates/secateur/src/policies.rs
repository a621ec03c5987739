//! `secateur policy`: write, check and explain policy files.

use secateur_core::policy::{PRESETS, Policy};
use secateur_core::strategy;

use crate::Failure;
use crate::args::{PolicyArgs, PolicyCommand};
use crate::input::{read_text, write_stdout};
use crate::table::{bold, green, table};

pub(crate) fn run(command: &PolicyCommand) -> Result<(), Failure> {
    match command {
        PolicyCommand::Init { preset } => init(preset),
        PolicyCommand::Check { file } => {
            let text = read_text(file)?;
            Policy::resolve(None, Some(&text), &[])
                .map_err(|error| Failure::bad_input(format!("{}: {error}", file.display())))?;
            anstream::println!("{}: {}", green("valid"), file.display());
            Ok(())
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
    let policy = Policy::preset(name).map_err(|error| Failure::bad_usage(error.to_string()))?;
    let mut text = format!("# {}\npreset = \"{name}\"\n", preset.about());
    text += "\n# Every option of the strategies in use, at its present value: uncomment what you change.\n";
    for strategy in policy.strategies() {
        let Some(facts) = strategy::ALL.iter().find(|facts| facts.id == strategy.id()) else {
            continue;
        };
        text += &format!("\n[{}]\n", facts.id);
        for option in facts.options {
            for line in option.about.trim().lines() {
                text += &format!("# {}\n", line.trim());
            }
            text += &format!("# {} = {}\n", option.key, (option.default)());
        }
    }
    write_stdout(text.as_bytes())
}

fn explain(args: &PolicyArgs) -> Result<(), Failure> {
    let policy = args.resolve()?;
    let m7 = &policy.m7;
    if !m7.enabled {
        anstream::println!("Context pruning (m7) is off: requests pass as they are.");
        return Ok(());
    }
    anstream::println!(
        "Requests with more than {} messages or more than {} characters are pruned by, in this order:\n",
        m7.min_messages,
        m7.min_body_chars
    );
    let values = serde_json::to_value(&policy.options)
        .map_err(|error| Failure::bad_usage(format!("cannot spell the policy: {error}")))?;
    for strategy in policy.strategies() {
        let Some(facts) = strategy::ALL.iter().find(|facts| facts.id == strategy.id()) else {
            continue;
        };
        anstream::println!("{}: {}", bold(facts.id.0), facts.summary());
        let mut rows = table(&["option", "value", "meaning"]);
        for option in facts.options {
            let value = &values[facts.id.0][option.key];
            rows.add_row([
                option.key.to_owned(),
                value.to_string(),
                option.about.trim().replace("\n ", "\n"),
            ]);
        }
        anstream::println!("{rows}\n");
    }
    Ok(())
}
