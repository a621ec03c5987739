//! A policy file with every key, its default and its documentation, made from the code.

use super::{Cadence, M7, PRESETS, spell};
use crate::strategy::{self, OptionFact};

/// A policy that says what happens without a policy, with every key explained.
#[must_use]
pub fn template() -> String {
    let presets: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
    let mut out = String::from(
        "# A policy. Every key stands at its default: delete what you do not change.\n\n",
    );
    comment(
        &mut out,
        &format!(
            "A preset to start from; the keys below override it. Known: {}.",
            presets.join(", ")
        ),
    );
    out.push_str("# preset = \"\"\n\n");
    comment(&mut out, "When new decisions are taken.");
    out.push_str(&format!("cadence = {}\n", spell(&Cadence::default())));
    table(
        &mut out,
        "m7",
        "Context pruning: a list of strategies.",
        M7::OPTIONS,
    );
    let compress = strategy::COMPRESS;
    table(&mut out, "m3", &compress.summary(), compress.options);
    for facts in strategy::ALL {
        table(&mut out, facts.id.0, &facts.summary(), facts.options);
    }
    out
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
    fn the_template_explains_every_key_of_every_table() {
        let template = template();
        let tables = strategy::ALL
            .iter()
            .map(|facts| (facts.id.0, facts.options));
        let all = tables.chain([("m7", M7::OPTIONS), ("m3", strategy::COMPRESS.options)]);
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
