//! Clears results that the work has moved on from.
//!
//! ## What it cuts
//! Results of at least `min_chars` characters, by what they show and how long ago they were last of use,
//! counted in requests:
//! - a file that was edited after it was read, and then left alone (`edited_files`), a file last touched before
//!   the user spoke again (`past_files`), any other file (`other_files`), a file that the user named
//!   (`named_files`); commands that show a file (`cat`, `sed -n`) count as reads, `rg`, `find` and `ls` as
//!   searches;
//! - output of commands, searches, edits, other agents and other tools, by age; half of that once the
//!   user has spoken again (`past_percent`).
//!
//! The result becomes a note that names the command, file or search and the size, quotes the lines that show how a
//! command ended, and says how to get it back. Lines that newer notes point to stay behind it.
//!
//! ## When it stays out
//! An age of 0 means never. Results with images and results of the present exchange stay.
//!
//! ## Example
//! A file was read, edited, and not named again for three requests: its old content goes; the edit itself
//! stays.
//!
//! Made for `cadence = "rounds"`. Idempotent in one request; ages grow with the conversation.

use super::cleared::Words;
use super::{Strategy, Work};
use crate::options::options;
use crate::plan::context::PlanContext;
use crate::plan::edit::{CutReason, Edit, StrategyId};
use crate::plan::placeholder::Style;
use crate::read::view::{PartId, PartKind};
use crate::strategy::IncrementalCuts;
use crate::tools::class::ToolClass;

options! {
    /// Options of `stale-results`. Ages are in requests; 0 is never.
    pub struct StaleResults {
        /// Shorter results stay, in characters.
        min_chars: usize = 2000,
        /// Requests since an edited file was last touched, after which what was read of it before goes.
        edited_files: usize = 3,
        /// The same for files last touched before the user spoke again.
        past_files: usize = 8,
        /// The same for files that a user's message names.
        named_files: usize = 0,
        /// The same for all other files.
        other_files: usize = 8,
        /// Age at which a command's output goes.
        commands: usize = 2,
        /// Age at which a search's output goes.
        searches: usize = 2,
        /// Age at which the answer of an edit goes.
        edits: usize = 0,
        /// Age at which another agent's report goes.
        tasks: usize = 0,
        /// Age at which any other tool's output goes.
        others: usize = 0,
        /// Share of these ages that counts once the user has spoken again, in percent.
        past_percent: usize = 50,
    }
}

impl StaleResults {
    /// Its id.
    pub const ID: StrategyId = StrategyId("stale-results");

    /// The age at which such a result goes once the user has (or has not) spoken again.
    fn limit(&self, class: ToolClass, is_past: bool) -> usize {
        let age = match class {
            ToolClass::Command => self.commands,
            ToolClass::Search => self.searches,
            ToolClass::Edit => self.edits,
            ToolClass::Task => self.tasks,
            ToolClass::Read | ToolClass::Other => self.others,
        };
        if is_past {
            (age * self.past_percent).div_ceil(100)
        } else {
            age
        }
    }
}

/// What is known of a file at a request.
#[derive(Clone, Copy)]
struct File {
    touched: u32,
    user_turns: u32,
    /// The last part that touched it then.
    by: PartId,
    /// The last call that changed it.
    edited_by: Option<PartId>,
}

impl File {
    const UNTOUCHED: Self = Self {
        touched: 0,
        user_turns: 0,
        by: PartId(0),
        edited_by: None,
    };

    /// A call or result that is about it was of use. Calls may come in any order: of the last
    /// request that touched the file, the last part counts.
    fn touch(&mut self, context: &PlanContext<'_, '_>, part: PartId) {
        let seen = context.last_use(part);
        if (seen.request, part) >= (self.touched, self.by) {
            self.touched = seen.request;
            self.user_turns = seen.user_turns;
            self.by = part;
        }
        let is_call = context.kind(part) == PartKind::Call;
        if is_call && context.tool_class(part) == Some(ToolClass::Edit) {
            self.edited_by = self.edited_by.max(Some(part));
        }
    }
}

impl Strategy for StaleResults {
    fn id(&self) -> StrategyId {
        Self::ID
    }

    fn work(&self) -> Work<'_> {
        Work::PartByPart(Box::new(Ageing {
            options: self,
            files: Vec::new(),
        }))
    }
}

/// The files as they are at a request.
struct Ageing<'o> {
    options: &'o StaleResults,
    files: Vec<File>,
}

impl IncrementalCuts for Ageing<'_> {
    fn arrive(&mut self, context: &PlanContext<'_, '_>, part: PartId) -> bool {
        self.use_again(context, part);
        if context.kind(part) != PartKind::Result || context.chars(part) < self.options.min_chars {
            return false;
        }
        match context.tool_class(part) {
            Some(ToolClass::Read) => true,
            Some(class) => [true, false].map(|past| self.options.limit(class, past)) != [0, 0],
            None => false,
        }
    }

    fn use_again(&mut self, context: &PlanContext<'_, '_>, part: PartId) {
        let facts = context.tool_facts();
        self.files.resize(facts.files(), File::UNTOUCHED);
        if let Some(file) = facts.file(part).and_then(|file| self.files.get_mut(file)) {
            file.touch(context, part);
        }
    }

    fn is_due(&self, context: &PlanContext<'_, '_>, part: PartId) -> bool {
        self.options.is_stale(context, part, &self.files)
    }

    fn cut(&self, context: &PlanContext<'_, '_>, part: PartId) -> Option<Edit> {
        let is_cleared = WORDS.already_in(context, part);
        (!is_cleared)
            .then(|| WORDS.clear_once(context, part, StaleResults::ID, CutReason::StaleResult))
    }
}

impl StaleResults {
    fn is_stale(&self, context: &PlanContext<'_, '_>, part: PartId, files: &[File]) -> bool {
        let Some(class) = context.tool_class(part) else {
            return false;
        };
        let seen = context.last_use(part);
        let age = context.request().saturating_sub(seen.request) as usize;
        let number = context.tool_facts().file(part);
        let file = number.and_then(|number| files.get(number));
        let reached = |age: usize, limit: usize| limit > 0 && age >= limit;
        if class != ToolClass::Read {
            return reached(
                age,
                self.limit(class, seen.user_turns < context.user_turns()),
            );
        }
        let Some(file) = file else {
            return reached(age, self.other_files);
        };
        let untouched = age.min(context.request().saturating_sub(file.touched) as usize);
        let limit = if file.edited_by > Some(part) {
            self.edited_files
        } else if file.user_turns < context.user_turns() {
            self.past_files
        } else if number.is_some_and(|number| context.is_named(number)) {
            self.named_files
        } else {
            self.other_files
        };
        reached(untouched, limit)
    }
}

/// The words for a cleared result. Nothing in them changes from request to request.
const WORDS: Words<'static> = Words {
    style: Style::Described,
    plain: "[Old tool result content cleared]",
};
