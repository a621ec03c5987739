//! Policies that ship with the crate. A preset may build on another one, by the same key as a user's file:
//! `preset = "steady"`, and below it the keys that differ.

use toml::{Table, Value};

use super::table::{PolicyError, merge, read};
use super::words::did_you_mean;

/// A policy that ships with the crate.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Preset {
    /// Its name.
    pub name: &'static str,
    file: &'static str,
}

impl Preset {
    /// What it is for: the comment at the top of its file.
    #[must_use]
    pub fn about(&self) -> String {
        self.comment().map(str::trim).collect::<Vec<_>>().join(" ")
    }

    /// A policy file that says the same without any other preset.
    ///
    /// # Errors
    /// A preset that is no policy, or builds on one that is not there.
    pub fn toml(&self) -> Result<String, PolicyError> {
        let own = read(self.file)?;
        if !own.contains_key(BASE) {
            return Ok(self.file.to_owned());
        }
        let mut out: String = self.comment().map(|line| format!("#{line}\n")).collect();
        out.push('\n');
        out.push_str(&settings(self.name, PRESETS)?.to_string());
        Ok(out)
    }

    fn comment(&self) -> impl Iterator<Item = &'static str> {
        self.file.lines().map_while(|line| line.strip_prefix('#'))
    }
}

/// The key that names the preset to build on.
const BASE: &str = "preset";

/// A preset's name is its file's.
macro_rules! presets {
    ($($name:literal,)*) => {
        &[$(Preset { name: $name, file: include_str!(concat!("../../presets/", $name, ".toml")) },)*]
    };
}

/// All presets, in the order in which they are listed to people.
pub const PRESETS: &[Preset] = presets! {
    "steady",
    "steady-lossless",
    "steady-bold",
    "steady-rag",
    "tessera",
    "openclaw-adaptive",
    "openclaw-aggressive",
    "beskar-window",
    "beskar-summarize",
    "beskar-importance",
    "opencode",
};

/// Finds a preset by its name.
pub(super) fn find<'p>(name: &str, presets: &'p [Preset]) -> Result<&'p Preset, PolicyError> {
    let found = presets.iter().find(|preset| preset.name == name);
    found.ok_or_else(|| PolicyError {
        message: format!("there is no preset `{name}`"),
        hint: Some(did_you_mean(name, presets.iter().map(|preset| preset.name))),
    })
}

/// What a preset sets, over what those set that it builds on.
pub(super) fn settings(name: &str, presets: &[Preset]) -> Result<Table, PolicyError> {
    let mut names = vec![name.to_owned()];
    let mut table = Table::new();
    let mut preset = find(name, presets)?;
    loop {
        let mut base = read(preset.file)?;
        let next = base.remove(BASE);
        merge(&mut base, table);
        table = base;
        let Some(Value::String(next)) = next else {
            return Ok(table);
        };
        let is_circle = names.contains(&next);
        names.push(next.clone());
        if is_circle {
            return Err(PolicyError {
                message: format!(
                    "presets build on each other in a circle: {}",
                    names.join(" on ")
                ),
                hint: Some("one of them must not name a preset".into()),
            });
        }
        preset = find(&next, presets).map_err(|error| PolicyError {
            message: format!(
                "preset `{}` builds on `{next}`: {}",
                preset.name, error.message
            ),
            ..error
        })?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Policy;

    const fn preset(name: &'static str, file: &'static str) -> Preset {
        Preset { name, file }
    }

    fn error(name: &str, presets: &[Preset]) -> String {
        settings(name, presets).unwrap_err().to_string()
    }

    #[test]
    fn a_preset_overrides_single_keys_of_those_that_it_builds_on() {
        let presets = [
            preset("c", "preset = \"b\"\n[m7]\nmin_messages = 3\n"),
            preset(
                "b",
                "preset = \"a\"\n[m7]\nmin_messages = 2\nstrategies = [\"middle-turns\"]\n",
            ),
            preset(
                "a",
                "cadence = \"rounds\"\n[m7]\nenabled = true\nmin_messages = 1\nstrategies = []\n",
            ),
        ];
        let found = settings("c", &presets).unwrap();
        let expected = "cadence = \"rounds\"\n\n[m7]\nenabled = true\nmin_messages = 3\nstrategies = [\"middle-turns\"]\n";
        assert_eq!(found.to_string(), expected);
    }

    #[test]
    fn a_circle_and_an_unknown_base_are_errors_that_name_the_presets() {
        let presets = [
            preset("a", "preset = \"b\"\n"),
            preset("b", "preset = \"a\"\n"),
            preset("self", "preset = \"self\"\n"),
            preset("lost", "preset = \"sel\"\n"),
        ];
        assert!(error("a", &presets).contains("in a circle: a on b on a\n"));
        assert!(error("self", &presets).contains("in a circle: self on self\n"));
        let found = error("lost", &presets);
        assert!(
            found.contains("`lost` builds on `sel`: there is no preset `sel`"),
            "{found}"
        );
        assert!(found.contains("did you mean `self`?"), "{found}");
    }

    #[test]
    fn the_whole_text_of_a_preset_reads_as_the_preset_and_needs_no_other() {
        for preset in PRESETS {
            let text = preset.toml().unwrap();
            assert!(!read(&text).unwrap().contains_key(BASE), "{}", preset.name);
            let policy = Policy::resolve(None, Some(&text), &[]).unwrap();
            assert_eq!(
                policy,
                Policy::preset(preset.name).unwrap(),
                "{}",
                preset.name
            );
            assert_eq!(
                Preset {
                    file: Box::leak(text.into_boxed_str()),
                    ..*preset
                }
                .about(),
                preset.about()
            );
        }
    }

    #[test]
    fn a_preset_for_documents_is_steady_with_one_strategy_more() {
        let (steady, documents) = (
            Policy::preset("steady").unwrap(),
            Policy::preset("steady-rag").unwrap(),
        );
        let mut strategies = documents.m7.strategies.clone();
        assert_eq!(strategies.remove(0), "low-rank-chunks");
        let mut same = documents;
        same.m7.strategies = strategies;
        assert_eq!(same, steady);
    }
}
