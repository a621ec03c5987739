//! What a body asks to be cached, wherever it says so.

use crate::json::Cursor;
use crate::report::CacheMarks;
use crate::view::View;

/// The key of a cache marker.
const CACHE_MARKER: &str = "cache_control";

/// A search, and a walk over the top level only where one is found outside the turns.
pub(crate) fn cache_marks(view: &View<'_>) -> CacheMarks {
    // Inside a text the quotes would be escaped.
    let quoted = format!("\"{CACHE_MARKER}\"");
    let has = |text: &str| memchr::memmem::find(text.as_bytes(), quoted.as_bytes()).is_some();
    let (body, list) = (view.body(), view.list());
    if !has(body) {
        return CacheMarks::None;
    }
    if list.is_some_and(|list| has(list.of(body))) {
        return CacheMarks::Turns;
    }
    // On the top level it is for the request as a whole. The body was read with its own limit, so this depth
    // always does.
    let mut is_for_all = false;
    let read = Cursor::over(body, 1024).object(|cursor, key| {
        is_for_all |= key.is(body, CACHE_MARKER);
        cursor.skip().map(drop)
    });
    match read {
        Ok(_) if !is_for_all => CacheMarks::Head,
        _ => CacheMarks::Turns,
    }
}
