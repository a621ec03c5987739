//! JSON: the shape stays, with the first items and the last one of each array, and how many are missing.
//!
//! Containers that are too long are opened; everything else is kept or left out as a whole member.

use super::Layout;
use super::brackets::{Container, containers_of, string_end};
use crate::OutputKind;
use crate::timestamp::Prefix;
use crate::traits::LineReader;
use crate::units::{Splitting, Unit, push_chunks, unit};

/// What a unit is, for counting the items of a gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub depth: u64,
    pub starts_member: bool,
}

impl Place {
    fn to_shape(self) -> u64 {
        self.depth * 2 + u64::from(self.starts_member)
    }

    pub(crate) fn of(unit: &Unit) -> Self {
        Self {
            depth: unit.shape / 2,
            starts_member: unit.shape % 2 == 1,
        }
    }
}

/// `None` unless the text is one array or object.
pub(super) fn read(text: &str, splitting: Splitting) -> Option<Layout> {
    let containers = containers_of(text.as_bytes())?;
    let root = *containers.first()?;
    let units = Walk {
        text,
        splitting,
        containers: &containers,
        units: Vec::new(),
        reader: LineReader::new(),
    }
    .run();
    let mut layout = Layout::new(
        OutputKind::Json,
        Splitting {
            prefix: Prefix::None,
            escapes: false,
            ..splitting
        },
        units,
    );
    let (name, members) = if text.as_bytes()[root.open] == b'[' {
        ("an array", "item(s)")
    } else {
        ("an object", "key(s)")
    };
    layout.about = format!(
        " JSON, no longer valid: it was {name} of {} {members}",
        root.members
    );
    Some(layout)
}

/// A container that is being walked.
struct Frame {
    container: usize,
    /// The next container inside it that was not passed yet.
    child: usize,
    at: usize,
    nth: u32,
    rank: u32,
}

struct Walk<'a> {
    text: &'a str,
    splitting: Splitting,
    containers: &'a [Container],
    units: Vec<Unit>,
    reader: LineReader,
}

impl Walk<'_> {
    fn run(mut self) -> Vec<Unit> {
        let bytes = self.text.as_bytes();
        let root = self.containers[0];
        let first = skip_blanks(bytes, root.open + 1);
        self.push(
            0,
            first,
            8_000,
            Place {
                depth: 0,
                starts_member: true,
            },
        );
        let mut stack = vec![Frame {
            container: 0,
            child: 1,
            at: first,
            nth: 0,
            rank: 8_000,
        }];
        while let Some(frame) = stack.last_mut() {
            let container = self.containers[frame.container];
            if frame.at >= container.close {
                let rank = frame.rank;
                stack.pop();
                let depth = stack.len() as u64;
                let end = match stack.last_mut() {
                    Some(parent) => {
                        parent.at = after_comma(bytes, container.close + 1);
                        parent.child = container.next;
                        parent.at
                    }
                    None => bytes.len(),
                };
                self.push(
                    container.close,
                    end,
                    rank,
                    Place {
                        depth,
                        starts_member: false,
                    },
                );
                continue;
            }
            let (end, opened) = member_end(bytes, self.containers, frame, container.close);
            let start = frame.at;
            let rank = member_rank(frame, &container, bytes[container.open] == b'[');
            frame.nth += 1;
            let depth = stack.len() as u64;
            let place = Place {
                depth,
                starts_member: true,
            };
            match opened {
                Some(child) if end - start > self.splitting.chunk_bytes => {
                    let inner = skip_blanks(bytes, self.containers[child].open + 1);
                    self.push(start, inner, rank, place);
                    stack.push(Frame {
                        container: child,
                        child: child + 1,
                        at: inner,
                        nth: 0,
                        rank,
                    });
                }
                _ => {
                    if let Some(frame) = stack.last_mut() {
                        frame.at = end;
                        if opened.is_some() {
                            frame.child = next_child(self.containers, frame.child, end);
                        }
                    }
                    self.push_member(start, end, rank, place);
                }
            }
        }
        self.units
    }

    fn push(&mut self, start: usize, end: usize, rank: u32, place: Place) {
        let mut piece = unit(
            self.text,
            start,
            start,
            end,
            Splitting {
                escapes: false,
                ..self.splitting
            },
        );
        piece.shape = place.to_shape();
        piece.rank(rank);
        self.units.push(piece);
    }

    /// A member that is kept or left out whole, or a scalar too long for that.
    fn push_member(&mut self, start: usize, end: usize, rank: u32, place: Place) {
        if end - start <= 4 * self.splitting.chunk_bytes {
            let score = u32::from(self.reader.read(&self.text.as_bytes()[start..end]).score);
            self.push(start, end, rank + score * 12, place);
            return;
        }
        let from = self.units.len();
        push_chunks(
            self.text,
            start,
            end,
            Splitting {
                prefix: Prefix::None,
                escapes: false,
                ..self.splitting
            },
            &mut self.units,
        );
        for (nth, chunk) in self.units[from..].iter_mut().enumerate() {
            chunk.shape = Place {
                starts_member: nth == 0,
                ..place
            }
            .to_shape();
            chunk.rank(rank / u32::try_from(nth + 1).unwrap_or(u32::MAX));
        }
    }
}

fn skip_blanks(bytes: &[u8], at: usize) -> usize {
    at + bytes[at..]
        .iter()
        .take_while(|byte| byte.is_ascii_whitespace())
        .count()
}

/// Behind a comma and the blanks around it.
fn after_comma(bytes: &[u8], at: usize) -> usize {
    let at = skip_blanks(bytes, at);
    if bytes.get(at) == Some(&b',') {
        skip_blanks(bytes, at + 1)
    } else {
        at
    }
}

/// The end of the member at `frame.at`, comma included, and the first container in it.
fn member_end(
    bytes: &[u8],
    containers: &[Container],
    frame: &Frame,
    close: usize,
) -> (usize, Option<usize>) {
    let mut at = frame.at;
    let mut child = frame.child;
    let mut opened = None;
    while at < close {
        match bytes[at] {
            b'"' => at = string_end(bytes, at).unwrap_or(close),
            b'{' | b'[' => {
                opened = opened.or(Some(child));
                at = containers[child].close + 1;
                child = containers[child].next;
            }
            b',' => return (skip_blanks(bytes, at + 1), opened),
            _ => at += 1,
        }
    }
    (close, opened)
}

/// The first container from `child` on that opens at or after `end`. A member holds one container at most.
fn next_child(containers: &[Container], child: usize, end: usize) -> usize {
    match containers.get(child) {
        Some(container) if container.open < end => container.next,
        _ => child,
    }
}

fn member_rank(frame: &Frame, container: &Container, array: bool) -> u32 {
    let last = frame.nth + 1 == container.members;
    let share = match frame.nth {
        _ if !array && container.members <= 24 => 80,
        0 => 90,
        _ if last => 70,
        1 => 60,
        nth => 120 / (nth + 1).min(120),
    };
    (frame.rank * share / 100).max(1)
}

#[cfg(test)]
mod tests {
    use crate::{Budget, OutputKind, condense};

    fn array(items: usize) -> String {
        let items: Vec<String> = (0..items)
            .map(|n| {
                format!("{{\"id\": {n}, \"name\": \"item, [{n}]\", \"tags\": [\"a\", \"b\"]}}")
            })
            .collect();
        format!("[{}]", items.join(", "))
    }

    #[test]
    fn an_array_keeps_its_first_items_its_last_and_the_count() {
        let text = array(500);
        let condensed = condense(&text, &Budget::chars(1_500)).expect("over budget");
        assert_eq!(condensed.kind, OutputKind::Json);
        let out = condensed.render(&text);
        assert!(out.contains("array of 500 item(s)"), "{out}");
        assert!(
            out.contains("\"id\": 0,") && out.contains("\"id\": 499,"),
            "{out}"
        );
        assert!(out.ends_with(']'), "{out}");
    }

    #[test]
    fn the_missing_items_and_the_kept_ones_add_up() {
        let text = array(500);
        let out = condense(&text, &Budget::chars(1_500))
            .expect("over budget")
            .render(&text);
        let kept = out.matches("\"id\": ").count();
        let missing: usize = out
            .split("[… ")
            .skip(1)
            .filter_map(|mark| {
                mark.split(" items")
                    .next()?
                    .replace(',', "")
                    .parse::<usize>()
                    .ok()
            })
            .sum();
        assert_eq!(kept + missing, 500, "{out}");
    }

    #[test]
    fn an_error_deep_inside_is_found() {
        let mut text = array(500);
        text.insert_str(
            text.len() / 2 + text[text.len() / 2..].find("{").expect("an item"),
            "{\"error\": \"ECONNREFUSED: connection refused\"}, ",
        );
        let out = condense(&text, &Budget::chars(1_500))
            .expect("over budget")
            .render(&text);
        assert!(out.contains("connection refused"), "{out}");
    }

    #[test]
    fn nested_objects_keep_every_key_of_the_outer_one() {
        let inner = array(100);
        let text = format!(
            "{{\n  \"first\": {inner},\n  \"second\": {inner},\n  \"third\": \"{}\"\n}}\n",
            "long ".repeat(800)
        );
        let out = condense(&text, &Budget::chars(2_000))
            .expect("over budget")
            .render(&text);
        for key in ["\"first\": [", "\"second\": [", "\"third\": \"long"] {
            assert!(out.contains(key), "{key}: {out}");
        }
    }

    #[test]
    fn what_only_begins_like_json_is_not_json() {
        let log: String = (0..200)
            .map(|n| format!("[{n}/200] Compiling part {n}\n"))
            .collect();
        assert_ne!(
            condense(&log, &Budget::chars(1_000))
                .expect("over budget")
                .kind,
            OutputKind::Json
        );
        let broken = array(200) + "}";
        assert_ne!(
            condense(&broken, &Budget::chars(1_000))
                .expect("over budget")
                .kind,
            OutputKind::Json
        );
    }
}
