//! Takes lines out of a file read that a later read shows again, or that were overwritten since.
//!
//! ## What it cuts
//! Of a read of a file, the lines that a later, whole read of the same file shows: reads are often
//! partial, so the two texts are laid side by side by their distinctive lines, and only the stretch
//! that both cover goes. Line numbers may have moved in between; what lies between two lines that
//! both reads show is out of date and goes with them. If the file was written anew later
//! (`write_tools`), all of the read goes. A note says what was removed and where to look.
//!
//! ## When it stays out
//! Reads that failed, hold images, or are not by a tool and an argument that the lists name. A file
//! that was only edited: the edit shows a few lines, the read the rest. A later read that failed or
//! is cut itself stands in for nothing. Stretches under `min_chars` stay. In texts without line
//! numbers, lines between two shared lines go only if both reads have equally many there.
//!
//! ## Example
//! Lines 1–200 of `a.rs` are read in turn 3, lines 150–400 in turn 9. In turn 3, lines 1–149 stay,
//! followed by `[Lines 150-200 of this read were removed to save space: a later read of this file
//! shows them.]`
//!
//! Idempotent: a read with such a note is not cut again.

mod index;
mod lines;
mod overlap;

use std::rc::Rc;

use super::pointer_notes::{self, READ_AGAIN, REWRITTEN};
use super::tool_names::Patterns;
use super::{Strategy, options};
use crate::edit::{Action, Edit, Need, Piece, Plan, SkipReason, StrategyId, Why};
use crate::hash::QuickMap;
use crate::json::LineBuffer;
use crate::json::strings::count_chars;
use crate::scene::{PartState, Scene};
use crate::view::{PartId, PartKind};
use lines::Lines;

options! {
    /// Options of `superseded-reads`.
    pub struct SupersededReads {
        /// A stretch of lines with fewer characters than this stays.
        min_chars: usize = 200,
        /// Tools that show a file or a part of it. `*` stands for any characters, case does not count.
        read_tools: Vec<String> = [
            "read", "view", "cat", "*read_file", "*readfile", "*read_text_file", "*open_file", "*view_file",
        ].map(String::from).to_vec(),
        /// Tools that write a whole file.
        write_tools: Vec<String> = [
            "write", "*write_file", "*writefile", "*create_file", "*write_to_file",
        ].map(String::from).to_vec(),
        /// Tools whose argument `command` says whether they `view` or `create` a file.
        command_tools: Vec<String> = ["str_replace_editor", "str_replace_based_edit_tool"].map(String::from).to_vec(),
        /// Arguments that name the file, the first that is there.
        path_keys: Vec<String> = [
            "file_path", "path", "filename", "filepath", "file", "absolute_path", "target_file", "notebook_path",
        ].map(String::from).to_vec(),
    }
}

/// With how many later reads of its file a read is compared at most: keeps the cost linear.
const MAX_LATER_READS: usize = 8;

impl SupersededReads {
    /// Its id.
    pub const ID: StrategyId = StrategyId("superseded-reads");

    /// A call that read or wrote a file, if it worked.
    fn touch(&self, scene: &Scene<'_, '_>, names: &mut Names, call: PartId) -> Option<Touch> {
        if scene.kind(call) != PartKind::Call || scene.state(call) != PartState::Whole {
            return None;
        }
        let result = scene.result_of(call)?;
        if scene.is_error(result) || scene.state(result) == PartState::Gone {
            return None;
        }
        let (access, path) = self.access(scene, names, call)?;
        Some(Touch {
            call,
            result,
            access,
            path,
        })
    }

    /// What a call does to which file.
    fn access(
        &self,
        scene: &Scene<'_, '_>,
        names: &mut Names,
        call: PartId,
    ) -> Option<(Access, String)> {
        let access = match names.kind(&scene.tool_name(call)?)? {
            Kind::Read => Access::Read,
            Kind::Write => Access::Write,
            Kind::ByCommand => match scene.arg(call, "command")?.as_str() {
                "view" => Access::Read,
                "create" => Access::Write,
                _ => return None,
            },
        };
        let path = scene.first_arg(call, &self.path_keys)?;
        Some((access, path.trim_start_matches("./").to_owned()))
    }

    /// The cut of one read, and the later reads that stand in for it.
    fn cut(
        &self,
        scene: &Scene<'_, '_>,
        read: PartId,
        lines: &Lines,
        later: &[(PartId, Rc<Lines>)],
    ) -> Option<(Edit, Vec<PartId>)> {
        let mut stand_ins = Vec::new();
        let mut stretches = Vec::new();
        for (id, shown) in later {
            let found = overlap::shared_stretches(lines, shown);
            let before = stretches.len();
            stretches.extend(found.into_iter().filter(|stretch| {
                let bytes = lines.bytes(stretch.clone());
                count_chars(&lines.text()[bytes]) >= self.min_chars
            }));
            if stretches.len() > before {
                stand_ins.push(*id);
            }
        }
        stretches.sort_by_key(|stretch| (stretch.start, stretch.end));
        let mut pieces = Vec::new();
        let (mut at, mut chars_after) = (0, scene.chars_before(read));
        for stretch in lines.merged(stretches) {
            let bytes = lines.bytes(stretch.clone());
            let note = format!("{} {READ_AGAIN}", lines.name(stretch));
            if note.len() >= bytes.len() {
                continue;
            }
            if at < bytes.start {
                pieces.push(Piece::Keep(at..bytes.start));
            }
            chars_after =
                chars_after + note.chars().count() - count_chars(&lines.text()[bytes.clone()]);
            pieces.push(Piece::Note(note.into()));
            at = bytes.end;
        }
        if pieces.is_empty() {
            return None;
        }
        if at < lines.text().len() {
            pieces.push(Piece::Keep(at..lines.text().len()));
        }
        let edit = Edit {
            action: Action::Rewrite(read, pieces),
            strategy: Self::ID,
            why: Why::ReadAgain,
            chars_before: scene.chars_before(read),
            chars_after,
        };
        Some((edit, stand_ins))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Read,
    Write,
}

/// What a tool does to a file, as far as its name tells.
#[derive(Clone, Copy)]
enum Kind {
    Read,
    Write,
    ByCommand,
}

/// The lists of tool names, ready for matching.
struct Names {
    read: Patterns,
    write: Patterns,
    command: Patterns,
    /// The names that were matched.
    known: QuickMap<String, Option<Kind>>,
}

impl Names {
    fn kind(&mut self, name: &str) -> Option<Kind> {
        if let Some(kind) = self.known.get(name) {
            return *kind;
        }
        let kind = if self.command.match_any(name) {
            Some(Kind::ByCommand)
        } else if self.read.match_any(name) {
            Some(Kind::Read)
        } else if self.write.match_any(name) {
            Some(Kind::Write)
        } else {
            None
        };
        self.known.insert(name.to_owned(), kind);
        kind
    }
}

struct Touch {
    call: PartId,
    result: PartId,
    access: Access,
    path: String,
}

/// What later turns say about a file.
#[derive(Default)]
struct Later {
    /// How often it is touched after the first time.
    touches: usize,
    /// The call that wrote it anew.
    rewritten: Option<PartId>,
    /// Whole reads, the nearest last.
    reads: Vec<(PartId, Rc<Lines>)>,
}

impl Strategy for SupersededReads {
    fn id(&self) -> StrategyId {
        Self::ID
    }

    fn plan(&self, scene: &Scene<'_, '_>) -> Plan {
        let mut plan = Plan::default();
        let mut files: QuickMap<String, Later> = QuickMap::default();
        let mut names = Names {
            known: QuickMap::default(),
            read: Patterns::new(&self.read_tools),
            write: Patterns::new(&self.write_tools),
            command: Patterns::new(&self.command_tools),
        };
        let touches: Vec<Touch> = scene
            .turns()
            .flat_map(|turn| scene.parts(turn))
            .filter_map(|part| self.touch(scene, &mut names, part))
            .collect();
        // A file that is touched once has nothing to compare.
        for touch in &touches {
            match files.get_mut(&touch.path) {
                Some(file) => file.touches += 1,
                None => drop(files.insert(touch.path.clone(), Later::default())),
            }
        }
        let mut buffer = LineBuffer::default();
        for touch in touches.into_iter().rev() {
            let Touch {
                call,
                result,
                access,
                path,
            } = touch;
            let Some(file) = files.get_mut(&path).filter(|file| file.touches > 0) else {
                continue;
            };
            if access == Access::Write {
                file.rewritten = Some(call);
                continue;
            }
            let is_whole = scene.state(result) == PartState::Whole
                && !scene.has_media(result)
                && !pointer_notes::is_in(scene, result);
            if !is_whole || scene.chars(result) < self.min_chars {
                continue;
            }
            let (edit, stand_ins) = if let Some(write) = file.rewritten {
                let edit = scene.replace(result, REWRITTEN.into(), Self::ID, Why::Rewritten);
                (edit, vec![write])
            } else {
                let lines = Rc::new(Lines::of(scene.lines(result, &mut buffer)));
                match self.cut(scene, result, &lines, &file.reads) {
                    Some(cut) => cut,
                    None => {
                        if file.reads.len() == MAX_LATER_READS {
                            file.reads.remove(0);
                        }
                        file.reads.push((result, lines));
                        continue;
                    }
                }
            };
            plan.edits.push(edit);
            plan.needs
                .extend(stand_ins.into_iter().map(|stand_in| Need {
                    edited: result,
                    strategy: Self::ID,
                    stand_in,
                }));
        }
        if plan.edits.is_empty() {
            return Plan::skip(Self::ID, SkipReason::NothingToCut);
        }
        plan.edits.reverse();
        plan
    }
}
