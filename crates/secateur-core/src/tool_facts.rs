//! What calls and results are about: the kind of tool, and the file. Found once for a body.

use std::borrow::Cow;

use crate::hash::QuickMap;
use crate::strategy::tool_class::{PATH_KEYS, ToolClass, file_name};
use crate::view::{Exchanges, PartId, PartKind, TurnId, View};

/// See the module.
#[derive(Debug)]
pub struct ToolFacts {
    classes: Vec<Option<ToolClass>>,
    files: Vec<Option<u32>>,
    /// The calls and results that are about a file, and the results, each in order.
    about_files: Vec<PartId>,
    results: Vec<PartId>,
    /// For each file: the turn in which a user first named it.
    named_at: Vec<Option<TurnId>>,
}

impl ToolFacts {
    pub(crate) fn of(view: &View<'_>, exchanges: &Exchanges) -> Self {
        let count = view.parts().len();
        let (mut classes, mut files) = (vec![None; count], vec![None; count]);
        let mut numbers: QuickMap<String, u32> = QuickMap::default();
        let mut paths: Vec<String> = Vec::new();
        let mut class_of: QuickMap<Cow<'_, str>, ToolClass> = QuickMap::default();
        for id in view.part_ids() {
            match view.part(id).kind {
                PartKind::Call => {
                    classes[id.index()] = view.name(id).map(|name| {
                        let class = class_of.entry(name);
                        *class.or_insert_with_key(|name| ToolClass::of(name))
                    });
                    files[id.index()] = view.first_arg(id, &PATH_KEYS).map(|path| {
                        let next = u32::try_from(paths.len()).unwrap_or(u32::MAX);
                        *numbers.entry(path).or_insert_with_key(|path| {
                            paths.push(path.clone());
                            next
                        })
                    });
                }
                PartKind::Result => {
                    if let Some(call) = exchanges.call_of(id) {
                        classes[id.index()] = classes[call.index()];
                        files[id.index()] = files[call.index()];
                    }
                }
                _ => {}
            }
        }
        let words = user_words(view, &paths);
        let named_at = paths
            .iter()
            .map(|path| words.get(file_name(path)).copied())
            .collect();
        let is_result = |id: &PartId| view.part(*id).kind == PartKind::Result;
        Self {
            about_files: view
                .part_ids()
                .filter(|id| files[id.index()].is_some())
                .collect(),
            results: view.part_ids().filter(is_result).collect(),
            classes,
            files,
            named_at,
        }
    }

    /// The calls and results that are about a file, in order.
    #[must_use]
    pub fn about_files(&self) -> &[PartId] {
        &self.about_files
    }

    /// All results, in order.
    #[must_use]
    pub fn results(&self) -> &[PartId] {
        &self.results
    }

    /// What kind of tool a call or result is of; `None` if that is not known.
    #[must_use]
    pub fn class(&self, part: PartId) -> Option<ToolClass> {
        self.classes[part.index()]
    }

    /// The number of the file that a call or result is about.
    #[must_use]
    pub fn file(&self, part: PartId) -> Option<usize> {
        self.files[part.index()].map(|file| file as usize)
    }

    /// How many files there are.
    #[must_use]
    pub fn files(&self) -> usize {
        self.named_at.len()
    }

    /// Whether a user names the file in one of the first `visible` turns.
    pub(crate) fn is_named(&self, file: usize, visible: u32) -> bool {
        self.named_at
            .get(file)
            .copied()
            .flatten()
            .is_some_and(|turn| turn.0 < visible)
    }
}

/// The words of user messages that are names of these files, and when each was first said.
fn user_words(view: &View<'_>, paths: &[String]) -> QuickMap<String, TurnId> {
    let wanted: QuickMap<&str, ()> = paths.iter().map(|path| (file_name(path), ())).collect();
    let mut words = QuickMap::default();
    if wanted.is_empty() {
        return words;
    }
    let part_of_name = |character: char| character.is_alphanumeric() || "._-".contains(character);
    for id in view.part_ids() {
        let part = view.part(id);
        let Some(turn) = part.turn.filter(|_| part.kind == PartKind::Text) else {
            continue;
        };
        if !view.is_user_authored(turn) {
            continue;
        }
        for word in view.text(id).split(|character| !part_of_name(character)) {
            let word = word.trim_end_matches('.');
            if wanted.contains_key(word) {
                words.entry(word.to_owned()).or_insert(turn);
            }
        }
    }
    words
}
