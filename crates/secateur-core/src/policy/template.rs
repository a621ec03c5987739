//! Policy files with every key, its value and its documentation, made from the code.

use super::{CacheOptions, Cadence, M7, PRESETS, Policy, PolicyError, Preset};
use crate::cadence::rounds::Rounds;
use crate::options::spell;
use crate::output::recall::Recall;
use crate::output::thinking_escape::ThinkingBinding;
use crate::strategy::{self, OptionFact};

const CADENCE: &str =
    "When new decisions are taken: `every-request`, or in `rounds`, when they pay.";
const THINKING_BINDING: &str = "Where thinking is bound to what comes before it and an open tool exchange needs its own: `wait` \
    until it is over, or cut and let the provider drop what is invalid (`drop_block`: adds a field, and a beta header).";
const RECALL: &str = "Ids by which cut text can be asked for, where it is captured: `off`, in the `report`, \
    or also in each `placeholder`.";
const CONTEXT_TOKENS: &str = "The window of models that are not known, in tokens; 0 is 200,000. \
    A table such as `[models.\"own-model\"]` with `window_tokens` says it for one model; there also prices \
    (`input_usd`, `cache_write_usd`, `cache_read_usd`, `output_usd`, per million tokens) and cache rules \
    (`cache_kind`, `min_cache_tokens`, `cache_step_tokens`, `look_back_blocks`, `max_cache_markers`, `cache_ttl_seconds`).";
const M7_ABOUT: &str = "Context pruning: a list of strategies.";
const CACHE_ABOUT: &str = "What is done for the provider's cache besides keeping it.";
const ROUNDS_ABOUT: &str = "When a round is taken, with `cadence = \"rounds\"`.";

/// A policy that says what happens without a policy, with every key explained.
#[must_use]
pub fn template() -> String {
    let presets: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
    let mut out =
        String::from("# A policy. Every key is at its default: delete what you do not change.\n\n");
    comment(
        &mut out,
        &format!(
            "A preset to start from; the keys below override it. Known: {}.",
            presets.join(", ")
        ),
    );
    out.push_str("# preset = \"\"\n\n");
    comment(&mut out, CADENCE);
    out.push_str(&format!("cadence = {}\n\n", spell(&Cadence::default())));
    comment(&mut out, THINKING_BINDING);
    out.push_str(&format!(
        "thinking_binding = {}\n\n",
        spell(&ThinkingBinding::default())
    ));
    comment(&mut out, RECALL);
    out.push_str(&format!("recall = {}\n\n", spell(&Recall::default())));
    comment(&mut out, CONTEXT_TOKENS);
    out.push_str("context_tokens = 0\n");
    table(&mut out, "m7", M7_ABOUT, M7::OPTIONS);
    table(&mut out, "cache", CACHE_ABOUT, CacheOptions::OPTIONS);
    table(&mut out, "rounds", ROUNDS_ABOUT, Rounds::OPTIONS);
    let compress = strategy::COMPRESS;
    table(&mut out, "m3", &compress.summary(), compress.options);
    for facts in strategy::ALL {
        table(&mut out, facts.id.0, &facts.summary(), facts.options);
    }
    out
}

/// A policy that starts from a preset: every key that it uses is in it as a comment, with its value.
///
/// # Errors
/// A preset that is no policy.
pub fn template_of(preset: &Preset) -> Result<String, PolicyError> {
    let policy = Policy::preset(preset.name)?;
    let values = toml::Table::try_from(&policy).unwrap_or_default();
    let mut out = String::new();
    comment(&mut out, &preset.about());
    out.push_str(&format!("preset = {}\n\n", spell(&preset.name)));
    comment(
        &mut out,
        "Every key that the preset uses is below with its value: uncomment what you change.",
    );
    out.push('\n');
    comment(&mut out, CADENCE);
    out.push_str(&format!("# cadence = {}\n", spell(&policy.cadence)));
    present(&mut out, &values, "m7", M7_ABOUT, M7::OPTIONS);
    if policy.cadence == Cadence::Rounds {
        present(
            &mut out,
            &values,
            "cache",
            CACHE_ABOUT,
            CacheOptions::OPTIONS,
        );
        present(&mut out, &values, "rounds", ROUNDS_ABOUT, Rounds::OPTIONS);
    }
    for facts in strategy::ALL {
        if policy.m7.strategies.iter().any(|id| id == facts.id.0) {
            present(
                &mut out,
                &values,
                facts.id.0,
                &facts.summary(),
                facts.options,
            );
        }
    }
    Ok(out)
}

/// A table whose keys are comments, at their present values.
fn present(
    out: &mut String,
    values: &toml::Table,
    name: &str,
    about: &str,
    options: &[OptionFact],
) {
    out.push('\n');
    comment(out, about);
    out.push_str(&format!("[{name}]\n"));
    for option in options {
        comment(out, option.about);
        let value = values.get(name).and_then(|table| table.get(option.key));
        let value = value.map(spell).unwrap_or_default();
        out.push_str(&format!("# {} = {value}\n", option.key));
    }
}

fn table(out: &mut String, name: &str, about: &str, options: &[OptionFact]) {
    out.push('\n');
    comment(out, about);
    out.push_str(&format!("[{name}]\n"));
    for option in options {
        comment(out, option.about);
        let default = (option.default)();
        if default.is_empty() {
            // No value is its default.
            out.push_str(&format!("# {} =\n", option.key));
        } else {
            out.push_str(&format!("{} = {default}\n", option.key));
        }
    }
}

fn comment(out: &mut String, text: &str) {
    for line in text.trim().lines() {
        out.push_str(&format!("# {}\n", line.trim()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Policy;

    #[test]
    fn the_template_reads_back_as_the_defaults() {
        let policy = Policy::resolve(None, Some(&template()), &[]).unwrap();
        assert_eq!(policy, Policy::default());
    }

    #[test]
    fn the_template_of_a_preset_reads_back_as_the_preset_with_and_without_its_comments() {
        for preset in PRESETS {
            let text = template_of(preset).unwrap();
            let expected = Policy::preset(preset.name).unwrap();
            assert_eq!(Policy::resolve(None, Some(&text), &[]).unwrap(), expected);
            let uncommented: Vec<&str> = text
                .lines()
                .map(|line| match line.strip_prefix("# ") {
                    Some(key)
                        if key
                            .split_once(" = ")
                            .is_some_and(|(key, _)| !key.contains(' ')) =>
                    {
                        key
                    }
                    _ => line,
                })
                .collect();
            let again = Policy::resolve(None, Some(&uncommented.join("\n")), &[]).unwrap();
            assert_eq!(again, expected, "{}", preset.name);
        }
    }

    #[test]
    fn the_template_explains_every_key_of_every_table() {
        let template = template();
        let tables = strategy::ALL
            .iter()
            .map(|facts| (facts.id.0, facts.options));
        let all = tables.chain([
            ("m7", M7::OPTIONS),
            ("m3", strategy::COMPRESS.options),
            ("cache", CacheOptions::OPTIONS),
            ("rounds", Rounds::OPTIONS),
        ]);
        for (name, options) in all {
            let body = template
                .split_once(&format!("\n[{name}]\n"))
                .map(|(_, rest)| rest.split("\n[").next().unwrap_or_default())
                .unwrap();
            for option in options {
                let line = format!("{} =", option.key);
                let at = body.find(&line).unwrap_or_else(|| panic!("{name}: {line}"));
                let before = body[..at].trim_end_matches("# ").trim_end();
                assert!(
                    before.lines().last().unwrap().starts_with("# "),
                    "{name}.{} has no words before it",
                    option.key
                );
            }
        }
    }
}
