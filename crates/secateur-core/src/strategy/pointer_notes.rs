//! Notes that point to text later in the conversation, and how they are recognised: by their whole shape, so that an output
//! that only quotes such words is pruned like any other.

use crate::recall::without_tag;
use crate::scene::Scene;
use crate::view::PartId;

/// Words of every such note, which JSON does not escape.
const REMOVED: &str = "removed to save space:";

pub(super) const SAME_OUTPUT: &str = "[This output was removed to save space: \
    the same output appears again later in this conversation.]";
pub(super) const SAME_CALL: &str = "[This output was removed to save space: \
    the same call was made again later in this conversation, with newer output.]";
pub(super) const REWRITTEN: &str = "[This read was removed to save space: \
    the file was written anew later in this conversation.]";
/// The end of a line within a read. Before it stands which lines are meant.
pub(super) const READ_AGAIN: &str =
    "of this read were removed to save space: a later read of this file shows them.]\n";

/// Whether a part is such a note, or a read with one among its lines.
pub(super) fn is_in(scene: &Scene<'_, '_>, part: PartId) -> bool {
    scene.mentions(part, REMOVED) && holds_one(&scene.text(part))
}

fn holds_one(text: &str) -> bool {
    [SAME_OUTPUT, SAME_CALL, REWRITTEN].contains(&without_tag(text)) || text.lines().any(is_line)
}

/// `[Lines 3-90 of this read …]` or `[88 lines of this read …]`.
fn is_line(line: &str) -> bool {
    let Some(lines) = line.strip_suffix(READ_AGAIN.trim_end()) else {
        return false;
    };
    let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    let range = || {
        lines
            .strip_prefix("[Lines ")?
            .strip_suffix(' ')?
            .split_once('-')
    };
    let count = || lines.strip_prefix('[')?.strip_suffix(" lines ");
    range().is_some_and(|(first, last)| is_number(first) && is_number(last))
        || count().is_some_and(is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_known_by_their_whole_shape() {
        for note in [SAME_OUTPUT, SAME_CALL, REWRITTEN] {
            assert!(note.contains(REMOVED) && holds_one(note));
            assert!(holds_one(&format!("{note} [recall:abcdefghjkmnpqrs]")));
            // A log that ends in it.
            assert!(!holds_one(&format!("compiling\n{note}")));
        }
        for lines in ["[Lines 3-90", "[88 lines"] {
            assert!(holds_one(&format!("1\ta\n{lines} {READ_AGAIN}91\tb\n")));
        }
        for text in [
            format!("it said [Lines 3-90 {READ_AGAIN}"),
            format!("[Lines all-of-it {READ_AGAIN}"),
            format!("[ lines {READ_AGAIN}"),
            format!("[Lines 3-90 {} and more", READ_AGAIN.trim_end()),
        ] {
            assert!(!holds_one(&text), "{text}");
        }
    }
}
