//! What the tool knows: dialects, strategies, presets, completions. All generated from the code.

use clap::CommandFactory;
use secateur_core::Dialect;
use secateur_core::policy::{PRESETS, Preset};
use secateur_core::strategy::{self, StrategyFacts};

use crate::command_line::Args;
use crate::failure::Failure;
use crate::input::{say, write_stdout};
use crate::table::{bold, table};

pub(crate) fn dialects(json: bool) -> Result<(), Failure> {
    if json {
        let list: Vec<_> = Dialect::ALL
            .iter()
            .map(|id| serde_json::json!({ "name": id.name(), "endpoint": id.facts().endpoint, "turns": id.facts().list_key }))
            .collect();
        return print_json(&serde_json::Value::Array(list));
    }
    let mut rows = table(&["dialect", "endpoint", "turns in"]);
    for id in Dialect::ALL {
        rows.add_row([id.name(), id.facts().endpoint, id.facts().list_key]);
    }
    say!("{rows}")?;
    Ok(())
}

pub(crate) fn strategies(id: Option<&str>, json: bool) -> Result<(), Failure> {
    let wanted = |facts: &&StrategyFacts| id.is_none_or(|id| facts.id.0 == id);
    let found: Vec<&StrategyFacts> = strategy::ALL.iter().filter(wanted).collect();
    if found.is_empty() {
        return Err(Failure::bad_usage(format!(
            "there is no strategy `{}`; `secateur strategies` lists them",
            id.unwrap_or_default()
        )));
    }
    if json {
        let list = found.iter().map(|facts| facts_json(facts)).collect();
        return print_json(&serde_json::Value::Array(list));
    }
    if id.is_some() {
        for facts in found {
            say!(
                "{}\n\n{}\n\n{}",
                bold(facts.id.0),
                facts.about(),
                options(facts)
            )?;
        }
        return Ok(());
    }
    let mut rows = table(&["strategy", "what it does", "options"]);
    for facts in found {
        let keys: Vec<String> = facts
            .options
            .iter()
            .map(|option| format!("{} = {}", option.key, (option.default)()))
            .collect();
        rows.add_row([facts.id.0.to_owned(), facts.summary(), keys.join("\n")]);
    }
    say!("{rows}")?;
    Ok(())
}

fn options(facts: &StrategyFacts) -> comfy_table::Table {
    let mut rows = table(&["option", "default", "meaning"]);
    for option in facts.options {
        rows.add_row([
            option.key.to_owned(),
            (option.default)(),
            option.about.trim().replace("\n ", "\n"),
        ]);
    }
    rows
}

fn facts_json(facts: &StrategyFacts) -> serde_json::Value {
    let options: Vec<_> = facts
        .options
        .iter()
        .map(|option| serde_json::json!({ "key": option.key, "default": (option.default)(), "about": option.about.trim() }))
        .collect();
    serde_json::json!({ "id": facts.id, "summary": facts.summary(), "options": options })
}

pub(crate) fn presets(name: Option<&str>, json: bool) -> Result<(), Failure> {
    if let Some(name) = name {
        let found = PRESETS.iter().find(|preset| preset.name == name);
        let preset = found.ok_or_else(|| {
            Failure::bad_usage(format!(
                "there is no preset `{name}`; `secateur presets` lists them"
            ))
        })?;
        return write_stdout(whole(preset)?.as_bytes());
    }
    if json {
        let list: Vec<_> = PRESETS
            .iter()
            .map(|preset| {
                let toml = whole(preset)?;
                Ok(serde_json::json!({ "name": preset.name, "about": preset.about(), "toml": toml }))
            })
            .collect::<Result<_, Failure>>()?;
        return print_json(&serde_json::Value::Array(list));
    }
    let mut rows = table(&["preset", "what it is for"]);
    for preset in PRESETS {
        rows.add_row([preset.name.to_owned(), preset.about()]);
    }
    say!("{rows}")?;
    Ok(())
}

fn whole(preset: &Preset) -> Result<String, Failure> {
    let text = preset.toml();
    text.map_err(|error| Failure::bad_usage(format!("preset `{}`: {error}", preset.name)))
}

pub(crate) fn completions(shell: clap_complete::Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "secateur", &mut script);
    write_stdout(&script)
}

fn print_json(value: &serde_json::Value) -> Result<(), Failure> {
    write_stdout(format!("{value:#}\n").as_bytes())
}
