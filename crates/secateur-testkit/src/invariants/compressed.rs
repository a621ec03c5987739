//! What M3 may do: take white space out of texts, and nothing else.

use serde_json::Value;

use super::demand;

/// Same members, same order of turns and parts, same words. Only strings may differ, and only by
/// white space that is gone.
pub(super) fn only_whitespace_is_gone(body: &[u8], out: &[u8]) -> Result<(), String> {
    let parse = |bytes| serde_json::from_slice::<Value>(bytes).map_err(|error| error.to_string());
    same_words(&parse(body)?, &parse(out)?)
}

fn same_words(was: &Value, is: &Value) -> Result<(), String> {
    match (was, is) {
        (Value::String(was), Value::String(is)) => {
            demand!(
                was == is || (bare(was) == bare(is) && is.len() < was.len()),
                "more than white space is gone: {was:?} became {is:?}"
            );
            Ok(())
        }
        (Value::Array(was), Value::Array(is)) => {
            demand!(was.len() == is.len(), "an element is gone");
            was.iter()
                .zip(is)
                .try_for_each(|(was, is)| same_words(was, is))
        }
        (Value::Object(was), Value::Object(is)) => {
            demand!(was.keys().eq(is.keys()), "a member is gone");
            was.values()
                .zip(is.values())
                .try_for_each(|(was, is)| same_words(was, is))
        }
        _ => {
            demand!(was == is, "{was} became {is}");
            Ok(())
        }
    }
}

fn bare(text: &str) -> String {
    text.split_whitespace().collect()
}
