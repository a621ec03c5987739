//! The provider's own way out where thinking is bound to what comes before it: with one field and
//! one beta header a request says that thinking which no longer fits may be dropped.
//!
//! A policy asks for it with `thinking_binding = "drop_block"`. Then a round need not wait for an
//! open tool exchange: its thinking stays where it is, and the provider leaves out what is invalid.

use crate::output::splice::{Fragments, Splice};
use secateur_json::{Cursor, JsonError, Kind, Limits, Span};

/// The value that `anthropic-beta` must carry with the field.
pub(crate) const BETA: &str = "thinking-binding-controls-2026-08-01";

/// What a policy wants where an edit makes an open exchange's thinking invalid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThinkingBinding {
    /// Wait until the exchange is over.
    #[default]
    Wait,
    /// Cut now, and let the provider drop the blocks that are no longer valid.
    DropBlock,
}

/// How a body comes to carry the field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Escape {
    /// The caller set it.
    Present,
    /// These bytes go in here.
    Insert { at: u32, text: &'static str },
}

const SETTING: &str = r#""block_binding":{"prefix_mismatch_behavior":"drop_block"}"#;
const IN_MEMBERS: &str = concat!(
    ",",
    r#""block_binding":{"prefix_mismatch_behavior":"drop_block"}"#
);
const WHOLE: &str = concat!(
    r#","thinking":{"type":"adaptive","#,
    r#""block_binding":{"prefix_mismatch_behavior":"drop_block"}}"#
);

impl Escape {
    /// `None`: the body rules it out. Thinking is off, the caller chose otherwise, or the field is
    /// not what it should be.
    pub(crate) fn of(body: &str) -> Option<Self> {
        let top = Members::read(Cursor::over(body, Limits::default().max_depth)).ok()?;
        let (mut cursor, thinking) = match top.only("thinking")? {
            None => return Some(top.append(WHOLE)),
            Some(found) => found,
        };
        if cursor.peek().ok()? != Kind::Object {
            return None;
        }
        let members = Members::read(cursor).ok()?;
        if let Some((_, kind)) = members.only("type")?
            && kind.of(body) == r#""disabled""#
        {
            return None;
        }
        match members.only("block_binding")? {
            None if members.list.is_empty() => Some(Self::Insert {
                at: thinking.start + 1,
                text: SETTING,
            }),
            None => Some(members.append(IN_MEMBERS)),
            Some((cursor, _)) => {
                let chosen = Members::read(cursor).ok()?;
                let (_, value) = chosen.only("prefix_mismatch_behavior")??;
                (value.of(body) == r#""drop_block""#).then_some(Self::Present)
            }
        }
    }

    pub(crate) fn splice(self, bits: &mut Fragments) -> Option<Splice> {
        match self {
            Self::Present => None,
            Self::Insert { at, text } => {
                let mark = bits.mark();
                bits.write(|out| out.push_str(text));
                Some(bits.splice(Span::new(at, at), mark))
            }
        }
    }
}

/// An object's members: a cursor before each value, and the value's bytes.
struct Members<'a> {
    body: &'a str,
    list: Vec<(String, Cursor<'a>, Span)>,
}

impl<'a> Members<'a> {
    fn read(mut cursor: Cursor<'a>) -> Result<Self, JsonError> {
        let body = cursor.body();
        let mut list = Vec::new();
        cursor.object(|cursor, key| {
            let before = cursor.fork();
            let value = cursor.skip()?;
            list.push((key.decode(body).into_owned(), before, value));
            Ok::<_, JsonError>(())
        })?;
        Ok(Self { body, list })
    }

    /// The member of that name. The outer `None`: there are several.
    #[expect(clippy::option_option, reason = "two ways of not being one member")]
    fn only(&self, name: &str) -> Option<Option<(Cursor<'a>, Span)>> {
        let mut found = self.list.iter().filter(|(key, ..)| key == name);
        match (found.next(), found.next()) {
            (Some((_, cursor, value)), None) => Some(Some((cursor.fork(), *value))),
            (None, _) => Some(None),
            _ => None,
        }
    }

    /// Behind the last member, of which there is one.
    fn append(&self, text: &'static str) -> Escape {
        let end = self
            .list
            .last()
            .map_or(self.body.len(), |(.., value)| value.end as usize);
        Escape::Insert {
            at: u32::try_from(end).unwrap_or(u32::MAX),
            text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_escape(body: &str) -> Option<String> {
        let mut bits = Fragments::default();
        let splices = Escape::of(body)?.splice(&mut bits).into_iter().collect();
        let splices = crate::output::splice::Splices::new(body, splices, bits).unwrap();
        Some(splices.apply(body).into_owned())
    }

    #[test]
    fn the_field_is_added_where_the_caller_left_it_open() {
        let out = with_escape(r#"{"model":"m","messages":[] }"#).unwrap();
        assert_eq!(
            out,
            r#"{"model":"m","messages":[],"thinking":{"type":"adaptive","block_binding":{"prefix_mismatch_behavior":"drop_block"}} }"#
        );
        let out = with_escape(r#"{"thinking":{"type":"adaptive" },"messages":[]}"#).unwrap();
        assert_eq!(
            out,
            r#"{"thinking":{"type":"adaptive","block_binding":{"prefix_mismatch_behavior":"drop_block"} },"messages":[]}"#
        );
        let out = with_escape(r#"{"thinking":{},"messages":[]}"#).unwrap();
        assert_eq!(
            out,
            r#"{"thinking":{"block_binding":{"prefix_mismatch_behavior":"drop_block"}},"messages":[]}"#
        );
    }

    #[test]
    fn a_body_that_has_the_field_stays_as_it_is() {
        let body = r#"{"thinking":{"block_binding":{"prefix_mismatch_behavior":"drop_block"}},"messages":[]}"#;
        assert_eq!(Escape::of(body), Some(Escape::Present));
    }

    #[test]
    fn what_the_caller_chose_stays() {
        for body in [
            r#"{"thinking":{"type":"disabled"},"messages":[]}"#,
            r#"{"thinking":{"block_binding":{"prefix_mismatch_behavior":"error"}},"messages":[]}"#,
            r#"{"thinking":{"block_binding":{}},"messages":[]}"#,
            r#"{"thinking":{"block_binding":null},"messages":[]}"#,
            r#"{"thinking":null,"messages":[]}"#,
            r#"{"thinking":{},"thinking":{},"messages":[]}"#,
        ] {
            assert_eq!(Escape::of(body), None, "{body}");
        }
    }
}
