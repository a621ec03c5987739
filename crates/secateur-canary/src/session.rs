//! Which conversation a request belongs to: a hash that stays the same while it grows.
//!
//! The first of these that is there: the header `x-secateur-session`; an id of the conversation in
//! the body (`metadata.session_id`, `prompt_cache_key`, `conversation`, a `metadata.user_id` that
//! names a session); else the instructions and the first user turn, together with the person
//! (`metadata.user_id`, `user`) where one is named.
//!
//! **Invariant:** what was read is not kept. The hash is of the text alone, so that it is the same in
//! every process, and cut to 64 bits.

use secateur_core::Dialect;
use secateur_core::internal::json::{Cursor, JsonError, Kind, Limits};
use sha2::{Digest, Sha256};

/// The header in which a client names its conversation.
pub const SESSION_HEADER: &str = "x-secateur-session";

/// The members that hold instructions outside the list of turns.
const INSTRUCTIONS: [&str; 4] = [
    "system",
    "instructions",
    "systemInstruction",
    "system_instruction",
];

#[derive(Default)]
struct Found {
    session_id: Option<String>,
    cache_key: Option<String>,
    conversation: Option<String>,
    user_id: Option<String>,
    user: Option<String>,
    instructions: Sha256,
    first_user: Option<Sha256>,
}

/// The key of a request's conversation; `None`: nothing identifies it.
#[must_use]
pub fn session_key(
    workload: &str,
    header: Option<&str>,
    body: &[u8],
    dialect: Dialect,
) -> Option<String> {
    if let Some(id) = header.filter(|id| !id.is_empty()) {
        return Some(hashed(workload, "header", &[id.as_bytes()]));
    }
    let found = find(body, dialect)?;
    // Some clients put a session into what is meant for a person.
    let session_of_user = found.user_id.as_ref().filter(|id| id.contains("session"));
    let ids = [
        ("session", found.session_id.as_ref()),
        ("cache-key", found.cache_key.as_ref()),
        ("conversation", found.conversation.as_ref()),
        ("user-session", session_of_user),
    ];
    for (kind, id) in ids {
        if let Some(id) = id {
            return Some(hashed(workload, kind, &[id.as_bytes()]));
        }
    }
    let first_user = found.first_user?.finalize();
    let person = found.user_id.or(found.user).unwrap_or_default();
    let instructions = found.instructions.finalize();
    Some(hashed(
        workload,
        "opening",
        &[person.as_bytes(), &instructions, &first_user],
    ))
}

fn hashed(workload: &str, kind: &str, parts: &[&[u8]]) -> String {
    let mut hasher = Sha256::new();
    for part in [b"secateur session".as_slice(), workload.as_bytes()]
        .into_iter()
        .chain([kind.as_bytes()])
        .chain(parts.iter().copied())
    {
        // With its length, so that no two lists of parts read the same.
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part);
    }
    let digest = hasher.finalize();
    digest[..8]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn find(body: &[u8], dialect: Dialect) -> Option<Found> {
    let list_key = dialect.facts().list_key;
    let mut found = Found::default();
    let mut cursor = Cursor::new(body, &Limits::default()).ok()?;
    let read = cursor.object(|cursor, key| {
        let key = key.decode(cursor.body());
        match &*key {
            "metadata" => metadata(cursor, &mut found)?,
            "prompt_cache_key" => found.cache_key = text(cursor)?,
            "user" => found.user = text(cursor)?,
            "conversation" => found.conversation = conversation(cursor)?,
            key if key == list_key => turns(cursor, &mut found)?,
            key if INSTRUCTIONS.contains(&key) => texts(cursor, &mut found.instructions)?,
            _ => drop(cursor.skip()?),
        }
        Ok::<_, JsonError>(())
    });
    read.ok().map(|_| found)
}

fn text(cursor: &mut Cursor<'_>) -> Result<Option<String>, JsonError> {
    let body = cursor.body();
    let read = cursor.string_or_skip()?;
    Ok(read
        .map(|text| text.decode(body).into_owned())
        .filter(|text| !text.is_empty()))
}

fn metadata(cursor: &mut Cursor<'_>, found: &mut Found) -> Result<(), JsonError> {
    if cursor.peek()? != Kind::Object {
        return cursor.skip().map(drop);
    }
    cursor
        .object(|cursor, key| {
            match &*key.decode(cursor.body()) {
                "session_id" => found.session_id = text(cursor)?,
                "user_id" => found.user_id = text(cursor)?,
                _ => drop(cursor.skip()?),
            }
            Ok(())
        })
        .map(drop)
}

/// The Responses API names a conversation by its id, or by an object with it.
fn conversation(cursor: &mut Cursor<'_>) -> Result<Option<String>, JsonError> {
    if cursor.peek()? != Kind::Object {
        return text(cursor);
    }
    let mut id = None;
    cursor.object(|cursor, key| {
        if key.is(cursor.body(), "id") {
            id = text(cursor)?;
        } else {
            cursor.skip()?;
        }
        Ok::<_, JsonError>(())
    })?;
    Ok(id)
}

/// The turns up to the first of the user's.
fn turns(cursor: &mut Cursor<'_>, found: &mut Found) -> Result<(), JsonError> {
    if cursor.peek()? == Kind::String {
        let mut hasher = Sha256::new();
        texts(cursor, &mut hasher)?;
        found.first_user = Some(hasher);
        return Ok(());
    }
    if cursor.peek()? != Kind::Array {
        return cursor.skip().map(drop);
    }
    cursor
        .array(|cursor, _| {
            if found.first_user.is_none() && cursor.peek()? == Kind::Object {
                turn(&mut cursor.fork(), found)?;
            }
            cursor.skip().map(drop)
        })
        .map(drop)
}

fn turn(cursor: &mut Cursor<'_>, found: &mut Found) -> Result<(), JsonError> {
    let mut hasher = Sha256::new();
    let mut role = None;
    let mut has_content = false;
    cursor.object(|cursor, key| {
        match &*key.decode(cursor.body()) {
            "role" => role = text(cursor)?,
            "content" | "parts" => {
                has_content = true;
                texts(cursor, &mut hasher)?;
            }
            _ => drop(cursor.skip()?),
        }
        Ok::<_, JsonError>(())
    })?;
    match role.as_deref() {
        Some("system" | "developer") => found.instructions.update(hasher.finalize()),
        // Gemini leaves the role out for the user.
        Some("user") | None if has_content => found.first_user = Some(hasher),
        _ => {}
    }
    Ok(())
}

/// All texts below a value. Cache markers, images and ids move about and do not count.
fn texts(cursor: &mut Cursor<'_>, hasher: &mut Sha256) -> Result<(), JsonError> {
    match cursor.peek()? {
        Kind::String => {
            let body = cursor.body();
            hasher.update(cursor.string()?.decode(body).as_bytes());
            hasher.update([0]);
            Ok(())
        }
        Kind::Array => cursor.array(|cursor, _| texts(cursor, hasher)).map(drop),
        Kind::Object => cursor
            .object(|cursor, key| match &*key.decode(cursor.body()) {
                "text" | "content" | "parts" => texts(cursor, hasher),
                _ => cursor.skip().map(drop),
            })
            .map(drop),
        _ => cursor.skip().map(drop),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn key(body: &Value, dialect: Dialect) -> Option<String> {
        session_key("w", None, body.to_string().as_bytes(), dialect)
    }

    #[test]
    fn a_conversation_keeps_its_key_while_it_grows_in_every_dialect() {
        let turn = |dialect, role: &str, words: &str| match dialect {
            Dialect::GeminiGenerateContent => json!({"role": role, "parts": [{"text": words}]}),
            _ => json!({"role": role, "content": words}),
        };
        for dialect in Dialect::ALL {
            let list = dialect.facts().list_key;
            let body = |first: &str, more: usize| {
                let mut turns = vec![turn(dialect, "user", first)];
                turns.extend((0..more).map(|_| turn(dialect, "assistant", "so")));
                json!({"model": "m", list: turns})
            };
            let short = key(&body("one", 0), dialect).unwrap();
            assert_eq!(key(&body("one", 5), dialect).unwrap(), short);
            assert_ne!(key(&body("two", 5), dialect).unwrap(), short);
            assert_eq!(short.len(), 16);
        }
    }

    #[test]
    fn cache_markers_and_spelling_do_not_change_the_key() {
        let plain = json!({"system": "s", "messages": [{"role": "user", "content": "café"}]});
        let marked = json!({"messages": [{"role": "user",
            "content": [{"type": "text", "text": "café", "cache_control": {"type": "ephemeral"}}]}],
            "system": [{"type": "text", "text": "s"}]});
        let dialect = Dialect::AnthropicMessages;
        assert_eq!(key(&plain, dialect), key(&marked, dialect));
        let escaped = plain.to_string().replace('é', "\\u00e9");
        assert_eq!(
            session_key("w", None, escaped.as_bytes(), dialect),
            key(&plain, dialect)
        );
    }

    #[test]
    fn what_names_the_conversation_best_wins() {
        let chat = Dialect::OpenaiChat;
        let with = |more: &Value, words: &str| {
            let mut body = json!({"messages": [{"role": "user", "content": words}]});
            let fields = more.as_object().unwrap().clone();
            body.as_object_mut().unwrap().extend(fields);
            key(&body, chat).unwrap()
        };
        for id in [
            json!({"prompt_cache_key": "a"}),
            json!({"metadata": {"session_id": "a"}}),
            json!({"metadata": {"user_id": "user_1_session_2"}}),
            json!({"conversation": {"id": "a"}}),
        ] {
            assert_eq!(with(&id, "one"), with(&id, "two"), "{id}");
        }
        // A person has many conversations.
        for id in [json!({"user": "a"}), json!({"metadata": {"user_id": "a"}})] {
            assert_ne!(with(&id, "one"), with(&id, "two"), "{id}");
            assert_ne!(with(&id, "one"), with(&json!({}), "one"));
        }
        let body = br#"{"messages":[]}"#;
        let header = session_key("w", Some("mine"), body, chat).unwrap();
        assert_ne!(
            Some(&header),
            session_key("v", Some("mine"), body, chat).as_ref()
        );
        assert!(!header.contains("mine"));
        assert_eq!(session_key("w", None, body, chat), None);
        assert_eq!(session_key("w", None, b"not json", chat), None);
    }
}
