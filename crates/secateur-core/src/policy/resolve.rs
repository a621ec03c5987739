//! Reading a policy: preset, file and single settings, in that order.

use toml::{Table, Value};

use super::Policy;
use super::preset::{self, PRESETS};
use super::table::{Head, PolicyError, check_keys, explain, merge, read};
use super::words::did_you_mean;
use crate::strategy::{self, Options, Summary};

impl Policy {
    /// The policy of a preset.
    ///
    /// # Errors
    /// No preset of that name.
    pub fn preset(name: &str) -> Result<Self, PolicyError> {
        Self::resolve(Some(name), None, &[])
    }

    /// A policy from a preset's name, the text of a policy file, and `key.path=value` settings.
    /// Later ones win. A preset that is named here goes before one that the file names.
    ///
    /// # Errors
    /// Unknown presets, keys and strategies, and values of the wrong type.
    pub fn resolve(
        preset: Option<&str>,
        file: Option<&str>,
        settings: &[String],
    ) -> Result<Self, PolicyError> {
        let text = file;
        let file = match text {
            Some(text) => parse(text)?,
            None => Table::new(),
        };
        let named = preset.or_else(|| file.get("preset").and_then(Value::as_str));
        let mut table = match named {
            Some(name) => preset::settings(name, PRESETS)?,
            None => Table::new(),
        };
        merge(&mut table, file);
        for setting in settings {
            merge(&mut table, parse_setting(setting)?);
        }
        let policy = typed(table)?;
        check_summary_model(&policy, text.unwrap_or_default())?;
        Ok(policy)
    }
}

/// A summary needs somebody who writes it.
fn check_summary_model(policy: &Policy, text: &str) -> Result<(), PolicyError> {
    let options = &policy.options.summarized_turns;
    if options.summary != Summary::Model || !options.summary_model.is_empty() {
        return Ok(());
    }
    let asks = |line: &str| line.contains("summary") && line.contains("\"model\"");
    let line = text.lines().position(asks);
    let place = line.map_or(String::new(), |at| format!(" on line {}", at + 1));
    Err(PolicyError {
        message: format!("summarized-turns: `summary = \"model\"`{place} needs a `summary_model`"),
        hint: Some("name the model that shall write summaries, as it is called on the wire".into()),
    })
}

/// Parses and checks one text on its own, so that errors name its lines.
fn parse(text: &str) -> Result<Table, PolicyError> {
    let table = read(text)?;
    typed(table.clone())?;
    Ok(table)
}

fn parse_setting(setting: &str) -> Result<Table, PolicyError> {
    let wrong = |message: String| PolicyError {
        message,
        hint: Some("write it as key.path=value, for example middle-turns.keep_last_turns=4".into()),
    };
    let (path, value) =
        split_setting(setting).ok_or_else(|| wrong(format!("`{setting}` sets nothing")))?;
    // A bare word is a string, so that names need no quotes on a command line.
    let value = match format!("v = {value}").parse::<Table>() {
        Ok(mut table) => table.remove("v"),
        Err(_) => Some(Value::String(value.to_owned())),
    };
    let mut value = value.ok_or_else(|| wrong(format!("`{setting}` sets nothing")))?;
    let keys = key_path(path).ok_or_else(|| wrong(format!("`{path}` is not a key")))?;
    for key in keys.iter().rev() {
        let mut table = Table::new();
        table.insert(key.clone(), value);
        value = Value::Table(table);
    }
    match value {
        Value::Table(table) => {
            check_keys(&table, "").map_err(|error| PolicyError {
                message: format!(
                    "--set {setting}: unknown key `{}`",
                    keys.first().map_or(path, String::as_str)
                ),
                ..error
            })?;
            typed(table.clone()).map_err(|error| PolicyError {
                message: format!("--set {setting}: {}", error.message),
                ..error
            })?;
            Ok(table)
        }
        _ => Err(wrong(format!("`{path}` is not a key"))),
    }
}

/// Splits at the first `=` outside quotes.
fn split_setting(setting: &str) -> Option<(&str, &str)> {
    let mut quote = None;
    let at = setting.char_indices().find_map(|(at, c)| {
        match (quote, c) {
            (None, '=') => return Some(at),
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            _ => {}
        }
        None
    })?;
    Some((&setting[..at], &setting[at + 1..]))
}

/// The keys of a dotted path, where a key in quotes may hold dots: `models."gpt-5.1".window_tokens`.
fn key_path(path: &str) -> Option<Vec<String>> {
    let mut keys = Vec::new();
    let mut rest = path.trim();
    loop {
        let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''));
        let (key, behind) = match quote {
            Some(quote) => rest[1..].split_once(quote)?,
            None => rest.split_at(rest.find('.').unwrap_or(rest.len())),
        };
        if key.is_empty() {
            return None;
        }
        keys.push(key.to_owned());
        if behind.is_empty() {
            return Some(keys);
        }
        rest = behind.strip_prefix('.')?;
    }
}

fn typed(table: Table) -> Result<Policy, PolicyError> {
    let file: Head = table
        .clone()
        .try_into()
        .map_err(|error: toml::de::Error| explain(&error))?;
    let options: Options = table
        .try_into()
        .map_err(|error: toml::de::Error| explain(&error))?;
    if let Some(name) = &file.preset {
        preset::find(name, PRESETS)?;
    }
    for id in &file.m7.strategies {
        if !strategy::ALL.iter().any(|facts| facts.id.0 == id) {
            return Err(PolicyError {
                message: format!("m7.strategies: there is no strategy `{id}`"),
                hint: Some(did_you_mean(
                    id,
                    strategy::ALL.iter().map(|facts| facts.id.0),
                )),
            });
        }
    }
    for (model, entry) in &file.models {
        if let Some((key, price)) = entry.wrong_price() {
            return Err(PolicyError {
                message: format!("models.{model}: {key} = {price} is not a price"),
                hint: Some("write US dollars per million tokens".into()),
            });
        }
    }
    Ok(Policy {
        cadence: file.cadence,
        thinking_binding: file.thinking_binding,
        recall: file.recall,
        context_tokens: file.context_tokens,
        models: file.models,
        m7: file.m7,
        cache: file.cache,
        rounds: file.rounds,
        m3: file.m3,
        options,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Cadence;

    fn error(text: &str) -> String {
        Policy::resolve(None, Some(text), &[])
            .unwrap_err()
            .to_string()
    }

    fn set(setting: &str) -> Result<Policy, PolicyError> {
        Policy::resolve(Some("tessera"), None, &[setting.to_owned()])
    }

    #[test]
    fn a_file_overrides_single_keys_of_its_preset() {
        let text = "preset = \"tessera\"\n[middle-turns]\nkeep_last_turns = 3\n";
        let policy = Policy::resolve(None, Some(text), &[]).unwrap();
        assert!(policy.m7.enabled);
        assert_eq!(policy.options.middle_turns.keep_last_turns, 3);
        assert_eq!(policy.options.middle_turns.keep_head_turns, 1);
    }

    #[test]
    fn a_typo_is_an_error_with_its_line_and_the_nearest_key() {
        let found = error("[m7]\nenabled = true\n\n[middle-turns]\nkeep_last_turn = 3\n");
        assert!(found.contains("line 5"), "{found}");
        assert!(found.contains("did you mean `keep_last_turns`?"), "{found}");
        let found = error("# policy\n[midle-turns]\nkeep_last_turns = 3\n");
        assert!(
            found.contains("unknown key `midle-turns` on line 2"),
            "{found}"
        );
        assert!(found.contains("did you mean `middle-turns`?"), "{found}");
        let found = error("[m7]\nstrategies = [\"middle-turn\"]\n");
        assert!(found.contains("did you mean `middle-turns`?"), "{found}");
        let found = error("preset = \"tesera\"\n");
        assert!(found.contains("did you mean `tessera`?"), "{found}");
    }

    #[test]
    fn a_wrong_type_names_its_line() {
        let found = error("[middle-turns]\nkeep_last_turns = \"many\"\n");
        assert!(found.contains("line 2"), "{found}");
        assert!(error("[middle-turns\n").contains("line 1"));
    }

    #[test]
    fn settings_win_and_are_checked() {
        assert_eq!(
            set("middle-turns.keep_last_turns=2")
                .unwrap()
                .options
                .middle_turns
                .keep_last_turns,
            2
        );
        assert_eq!(set("m7.min_messages=3").unwrap().m7.min_messages, 3);
        assert_eq!(
            set("cadence=every-request").unwrap().cadence,
            Cadence::EveryRequest
        );
        for wrong in [
            "middle-turns.keep_last=2",
            "nothing",
            "m7=3",
            "x.y=1",
            "=1",
            "m7..x=1",
            "cadence=never",
        ] {
            assert!(set(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_quoted_key_of_a_setting_may_hold_dots_and_signs() {
        let policy = set("models.\"gpt-5.1\".window_tokens=9000").unwrap();
        assert_eq!(policy.window_tokens(Some("gpt-5.1")), 9000);
        let policy = set("models.'a.b=c'.input_usd=2.5").unwrap();
        assert_eq!(policy.models["a.b=c"].input_usd, Some(2.5));
        for wrong in [
            "models.\"gpt-5.1.window_tokens=9000",
            "models.\"gpt-5.1\"window_tokens=9000",
            "models.\"\".window_tokens=9000",
            "models.\"gpt-5.1\".=9000",
        ] {
            assert!(set(wrong).is_err(), "{wrong}");
        }
        let error = set("\"no.such\".key=1").unwrap_err().to_string();
        assert!(error.contains("unknown key `no.such`"), "{error}");
    }

    #[test]
    fn every_preset_is_a_valid_policy_with_a_strategy() {
        for preset in PRESETS {
            let policy = Policy::preset(preset.name).unwrap();
            assert!(
                policy.m7.enabled && !policy.strategies().is_empty(),
                "{}",
                preset.name
            );
            assert!(!preset.about().is_empty(), "{}", preset.name);
        }
    }
}
