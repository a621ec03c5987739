//! Members and elements of JSON values in a body that was read before: what is no JSON has none.

use secateur_json::{Cursor, JsonError, Kind, Span};

/// Deeper than any body that was read.
pub(super) const ANY_DEPTH: usize = 1024;

/// The elements of an array as written; another value is its own only element, and `null` has none.
pub(super) fn elements(value: &str) -> Vec<&str> {
    let mut found = Vec::new();
    match value.as_bytes().first() {
        Some(b'[') => {
            let mut cursor = Cursor::over(value, ANY_DEPTH);
            let _ = cursor.array(|cursor, _| {
                found.push(cursor.skip()?.of(value));
                Ok::<_, JsonError>(())
            });
        }
        Some(b'n') | None => {}
        Some(_) => found.push(value),
    }
    found
}

/// The text of an object's last member of that name.
pub(super) fn member<'v>(object: &'v str, name: &str) -> Option<&'v str> {
    let mut found = None;
    for_each_member(object, |key, value| {
        if key == name {
            found = Some(value);
        }
    });
    found
}

/// Calls `each` with the name and the text of each member. A value that is no object has none.
pub(super) fn for_each_member<'v>(object: &'v str, mut each: impl FnMut(&str, &'v str)) {
    let mut cursor = Cursor::over(object, ANY_DEPTH);
    if cursor.peek() != Ok(Kind::Object) {
        return;
    }
    let _ = cursor.object(|cursor, key| {
        cursor.peek()?;
        let value = cursor.skip()?.of(object);
        each(&key.decode(object), value);
        Ok::<_, JsonError>(())
    });
}

/// The values of an object's members of that name. None where the text is no object.
pub(super) fn members(object: &str, name: &str) -> Vec<Span> {
    let mut found = Vec::new();
    let mut cursor = Cursor::over(object, ANY_DEPTH);
    if cursor.peek() == Ok(Kind::Object) {
        let _ = cursor.object(|cursor, key| {
            cursor.peek()?;
            let value = cursor.skip()?;
            if key.is(object, name) {
                found.push(value);
            }
            Ok::<_, JsonError>(())
        });
    }
    found
}

/// The text of an object's first member of that name, without its quotes, where it is a string.
pub(super) fn string_member(object: &str, name: &str) -> Option<String> {
    let value = members(object, name).first()?.of(object);
    let text = value.strip_prefix('"')?.strip_suffix('"')?;
    Some(text.to_owned())
}
