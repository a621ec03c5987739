//! Condenses an oversized result the first time it is seen.
//!
//! ## What it cuts
//! Results of commands (and of other tools, with `other_tools`) longer than `max_chars`, and of searches
//! longer than `max_search_chars`. They are condensed to `keep_chars` and `keep_search_chars`: error, warning and failure lines with their context, first and last
//! lines, paths with line numbers, test names, the numbers of a summary and exit codes stay word for
//! word; repeats are folded with a count; logs, test output, diffs, listings, JSON, tables, HTML and
//! search results each in their own way. Notes say what was left out, and how to see it.
//!
//! ## When it stays out
//! Results that show a file (a model edits what it has read) or come from a script that is not understood and do not
//! look like a log, reports of other agents, results with images, and results that failed and are not longer than `max_error_chars`.
//!
//! ## Example
//! A build log of 80,000 characters becomes 2,250: its head, the errors with their context, and its end.
//!
//! Works on arrival, so no cached byte is rewritten. Idempotent: what is condensed fits.

use super::{Strategy, Work};
use crate::arrival::Arrivals;
use crate::options::options;
use crate::plan::arriving_text::ArrivalText;
use crate::plan::context::PlanContext;
use crate::plan::edit::{CutReason, Piece, StrategyId};
use crate::read::view::PartId;
use crate::tools::class::ToolClass;
use secateur_condense::{Budget, condense};

options! {
    /// Options of `long-arrivals`.
    pub struct LongArrivals {
        /// Longer results are condensed, in characters.
        max_chars: usize = 3000,
        /// What they are condensed to, in characters, notes included.
        keep_chars: usize = 2250,
        /// Longer results of searches are condensed, in characters.
        max_search_chars: usize = 3000,
        /// What they are condensed to, in characters, notes included.
        keep_search_chars: usize = 2250,
        /// The same limit for results that failed: what went wrong is rarely too long.
        max_error_chars: usize = 6000,
        /// Whether results of tools that neither run commands nor search are condensed too. Those that
        /// show or change files, and reports of other agents, never are.
        other_tools: bool = false,
    }
}

impl LongArrivals {
    /// Its id.
    pub const ID: StrategyId = StrategyId("long-arrivals");
}

impl Strategy for LongArrivals {
    fn id(&self) -> StrategyId {
        Self::ID
    }

    fn work(&self) -> Work<'_> {
        Work::OnArrival(Box::new(Run(self)))
    }
}

/// How to get the rest, for a search and for anything else.
const NARROWER: &str = "[To see the rest, narrow the search or read the files.]\n";
const IN_PARTS: &str =
    "[To see the rest, run it again with its output in a file, and read that in parts.]\n";

/// With less room for the rest, in characters, nothing is said about how to get it.
const LEAST_WITH_HINT: usize = 500;

struct Run<'o>(&'o LongArrivals);

impl Arrivals for Run<'_> {
    fn result(&mut self, context: &PlanContext<'_, '_>, part: PartId, text: &mut ArrivalText<'_>) {
        let options = self.0;
        let (fits_class, max_chars, keep_chars) = match context.tool_class(part) {
            Some(ToolClass::Search) => (true, options.max_search_chars, options.keep_search_chars),
            Some(ToolClass::Command) => (true, options.max_chars, options.keep_chars),
            Some(ToolClass::Other) => (options.other_tools, options.max_chars, options.keep_chars),
            Some(ToolClass::Read | ToolClass::Edit | ToolClass::Task) | None => (false, 0, 0),
        };
        let max_chars = if context.is_error(part) {
            options.max_error_chars
        } else {
            max_chars
        };
        if !fits_class || text.is_replaced() || text.chars() <= max_chars.max(keep_chars) {
            return;
        }
        let hint = match context.tool_class(part) {
            Some(ToolClass::Search) => NARROWER,
            _ => IN_PARTS,
        };
        // In little room the text itself matters more.
        let hint = if keep_chars < hint.len() + LEAST_WITH_HINT {
            ""
        } else {
            hint
        };
        let budget = Budget::chars(keep_chars - hint.len());
        if let Some(mut condensed) = condense(text.original(), &budget) {
            if !hint.is_empty() {
                let behind_header = condensed.pieces.len().min(1);
                condensed
                    .pieces
                    .insert(behind_header, Piece::Note(hint.into()));
            }
            text.replace(condensed.pieces, LongArrivals::ID, CutReason::LongArrival);
        }
    }
}
