//! Reading that several dialects do alike.

use crate::read::error::ReadError;
use crate::read::view::{ArgsForm, Builder, ContentForm, Part, PartKind, Placement};
use secateur_json::{Cursor, JsonError, JsonProblem, JsonStr, Kind, Span};

/// Fills `literal`, or fails: parsers disagree on which of two equal keys counts.
pub(super) fn once<T>(literal: &mut Option<T>, value: T, key: JsonStr) -> Result<(), ReadError> {
    if literal.replace(value).is_some() {
        return Err(duplicate(key));
    }
    Ok(())
}

pub(super) fn duplicate(key: JsonStr) -> ReadError {
    ReadError::Json(JsonError {
        problem: JsonProblem::DuplicateKey,
        at: key.span.start as usize,
    })
}

pub(super) fn shape(what: &'static str, cursor: &Cursor<'_>) -> ReadError {
    ReadError::Shape {
        what,
        at: cursor.at() as usize,
    }
}

/// Demands an object next, with a message of the dialect's own.
pub(super) fn expect_object(cursor: &mut Cursor<'_>, what: &'static str) -> Result<(), ReadError> {
    match cursor.peek()? {
        Kind::Object => Ok(()),
        _ => Err(misplaced(what, cursor)?),
    }
}

/// Demands an array next, with a message of the dialect's own.
pub(super) fn expect_array(cursor: &mut Cursor<'_>, what: &'static str) -> Result<(), ReadError> {
    match cursor.peek()? {
        Kind::Array => Ok(()),
        _ => Err(misplaced(what, cursor)?),
    }
}

/// A value of the wrong kind. What is no JSON at all (`not json`) gets that said instead.
fn misplaced(what: &'static str, cursor: &Cursor<'_>) -> Result<ReadError, JsonError> {
    cursor.fork().skip()?;
    Ok(shape(what, cursor))
}

/// A string member of the object at the cursor, without moving the cursor.
///
/// Writers put `role` and `type` first or nearly so, and this stops at the key; where they do not,
/// the members before it are scanned twice.
pub(super) fn look_ahead(cursor: &Cursor<'_>, wanted: &str) -> Option<JsonStr> {
    let body = cursor.body();
    let mut ahead = cursor.fork();
    let mut found = None;
    // The walk stops at the key with an error made here; real errors show when the whole value is read.
    let _ = ahead.object(|ahead, key| {
        if key.is(body, wanted) {
            found = ahead.string_or_skip()?;
            return Err(JsonError {
                problem: JsonProblem::DuplicateKey,
                at: 0,
            });
        }
        ahead.skip()?;
        Ok::<_, JsonError>(())
    });
    found
}

/// A part that is passed on and never read.
pub(super) fn opaque<'a>(
    builder: &mut Builder<'a>,
    cursor: &mut Cursor<'a>,
    kind: PartKind,
    placement: Placement,
) -> Result<(), ReadError> {
    let literals = builder.slots_so_far();
    let mut part = Part::new(kind, placement);
    part.value = cursor.skip()?;
    builder.part(part, literals)?;
    Ok(())
}

/// A part with the model's reasoning: the strings under `text`, `summary`, `thinking` or `content`,
/// at whatever depth, are its text, so that it can be counted. Never to be altered.
pub(super) fn reasoning_part<'a>(
    builder: &mut Builder<'a>,
    cursor: &mut Cursor<'a>,
    placement: Placement,
    is_signed: bool,
) -> Result<(), ReadError> {
    let literals = builder.slots_so_far();
    let mut part = Part::new(PartKind::Thinking, placement);
    let start = cursor.at();
    reasoning_texts(builder, cursor, true)?;
    part.value = Span::new(start, cursor.at());
    part.is_signed = is_signed;
    builder.part(part, literals)?;
    Ok(())
}

fn reasoning_texts<'a>(
    builder: &mut Builder<'a>,
    cursor: &mut Cursor<'a>,
    is_text: bool,
) -> Result<(), ReadError> {
    let body = cursor.body();
    match cursor.peek()? {
        Kind::String if is_text => {
            let text = cursor.string()?;
            builder.literal(text, Placement::Fixed, false);
        }
        Kind::Array => drop(cursor.array(|cursor, _| reasoning_texts(builder, cursor, is_text))?),
        Kind::Object => drop(cursor.object(|cursor, key| {
            let key = key.decode(body);
            let is_text = matches!(key.as_ref(), "text" | "summary" | "thinking" | "content");
            reasoning_texts(builder, cursor, is_text)
        })?),
        _ => drop(cursor.skip()?),
    }
    Ok(())
}

/// A plain string that is a part's whole text.
pub(super) fn string_part<'a>(
    builder: &mut Builder<'a>,
    cursor: &mut Cursor<'a>,
    kind: PartKind,
) -> Result<(), ReadError> {
    let literals = builder.slots_so_far();
    let text = cursor.string()?;
    builder.literal(text, Placement::Fixed, false);
    let mut part = Part::new(kind, Placement::Fixed);
    part.form = ContentForm::Str;
    part.value = text.quoted();
    builder.part(part, literals)?;
    Ok(())
}

/// The arguments of a call: JSON in a string, or the value itself, which some servers take.
pub(super) fn arguments<'a>(
    builder: &mut Builder<'a>,
    cursor: &mut Cursor<'a>,
    part: &mut Part,
) -> Result<(), ReadError> {
    if cursor.peek()? == Kind::String {
        let text = cursor.string()?;
        builder.literal(text, Placement::Fixed, false);
        part.value = text.quoted();
        part.args = ArgsForm::Text;
    } else {
        part.value = cursor.skip()?;
        part.args = ArgsForm::Value;
    }
    Ok(())
}

/// What a text block holds.
#[derive(Default)]
pub(super) struct TextBlock {
    pub(super) text: Option<JsonStr>,
    pub(super) is_cache_marked: bool,
}

/// Reads a block object whose text is the string member `text_key`.
pub(super) fn text_block(cursor: &mut Cursor<'_>, text_key: &str) -> Result<TextBlock, ReadError> {
    let body = cursor.body();
    let mut block = TextBlock::default();
    cursor.object(|cursor, key| {
        if key.is(body, text_key) {
            match cursor.string_or_skip()? {
                Some(text) => once(&mut block.text, text, key)?,
                None => return Err(shape("a text block's text must be a string", cursor)),
            }
        } else {
            block.is_cache_marked |= key.is(body, "cache_control");
            cursor.skip()?;
        }
        Ok::<_, ReadError>(())
    })?;
    Ok(block)
}

/// A text block as a part of its own.
pub(super) fn text_part<'a>(
    builder: &mut Builder<'a>,
    cursor: &mut Cursor<'a>,
    text_key: &str,
    placement: Placement,
) -> Result<(), ReadError> {
    let literals = builder.slots_so_far();
    let start = cursor.at();
    let block = text_block(cursor, text_key)?;
    let mut part = Part::new(PartKind::Text, placement);
    part.value = Span::new(start, cursor.at());
    if let Some(text) = block.text {
        part.form = ContentForm::Str;
        builder.literal(text, Placement::Fixed, block.is_cache_marked);
    }
    builder.part(part, literals)?;
    Ok(())
}

/// The content of a result: a string, blocks of which `is_text` says which are text, or nothing.
/// Adds its texts as slots and fills the content fields of `part`.
pub(super) fn result_content<'a>(
    builder: &mut Builder<'a>,
    cursor: &mut Cursor<'a>,
    part: &mut Part,
    is_text: impl Fn(&str) -> bool,
) -> Result<(), ReadError> {
    let body = cursor.body();
    match cursor.peek()? {
        Kind::String => {
            let text = cursor.string()?;
            builder.literal(text, Placement::Fixed, false);
            part.form = ContentForm::Str;
            part.value = text.quoted();
        }
        Kind::Array => {
            part.form = ContentForm::Blocks;
            part.value = builder.elements(cursor, |builder, cursor, placement| {
                expect_object(cursor, "a content block must be an object")?;
                let kind = look_ahead(cursor, "type").map(|kind| kind.decode(body));
                if !kind.is_some_and(|kind| is_text(&kind)) {
                    part.has_media = true;
                    cursor.skip()?;
                    return Ok(());
                }
                let block = text_block(cursor, "text")?;
                match block.text {
                    Some(text) => builder.literal(text, placement, block.is_cache_marked),
                    None => part.has_media = true,
                }
                Ok(())
            })?;
        }
        _ => {
            // `null` is an empty result; an object (a screenshot) is kept as it is.
            part.value = cursor.skip()?;
            part.has_media = part.value.of(body) != "null";
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::read::dialect::Dialect;
    use crate::read::view::PartKind;
    use crate::read::wire::read;
    use secateur_json::Limits;

    /// Characters of all thinking in a body.
    fn thinking_chars(dialect: Dialect, turn: &str) -> usize {
        let body = format!(r#"{{"{}":[{turn}]}}"#, dialect.facts().list_key);
        let view = read(body.as_bytes(), dialect, &Limits::default()).unwrap();
        let is_thinking = |part: &_| view.part(*part).kind == PartKind::Thinking;
        let parts: Vec<_> = view.part_ids().filter(is_thinking).collect();
        assert!(!parts.is_empty(), "{body}");
        let separators = |part| view.text_blocks(part).saturating_sub(1);
        let chars = |&part: &_| view.chars(part) - separators(part);
        parts.iter().map(chars).sum()
    }

    #[test]
    fn thinking_counts_its_text_and_no_signature() {
        use Dialect::{AnthropicMessages, GeminiGenerateContent, OpenaiChat, OpenaiResponses};
        for (dialect, expected, turn) in [
            (
                AnthropicMessages,
                5,
                r#"{"role":"assistant","content":[{"type":"thinking","thinking":"caf\u00e9!","signature":"xxxxxxxx"}]}"#,
            ),
            (
                AnthropicMessages,
                0,
                r#"{"role":"assistant","content":[{"type":"redacted_thinking","data":"xxxxxxxx"}]}"#,
            ),
            (
                OpenaiChat,
                4,
                r#"{"role":"assistant","reasoning_content":"hmmm","content":"a"}"#,
            ),
            (
                OpenaiChat,
                4,
                r#"{"role":"assistant","reasoning_details":[{"type":"reasoning.text","text":"hmmm","signature":"xx"}],"content":"a"}"#,
            ),
            (
                OpenaiResponses,
                7,
                r#"{"type":"reasoning","id":"rs","summary":[{"type":"summary_text","text":"abc"},{"type":"summary_text","text":"defg"}],"encrypted_content":"xxxx"}"#,
            ),
            (
                GeminiGenerateContent,
                4,
                r#"{"role":"model","parts":[{"thought":true,"text":"hmmm","thoughtSignature":"xx"}]}"#,
            ),
        ] {
            assert_eq!(thinking_chars(dialect, turn), expected, "{turn}");
        }
    }
}
