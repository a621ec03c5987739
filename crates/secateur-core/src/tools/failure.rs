//! How the text of a failed result starts, for clients that do not mark it: the OpenAI dialects have no mark.

/// Starts that are reports of a failure and hardly anything else.
pub(crate) const SURE_STARTS: [&str; 6] = [
    "Error:",
    "ERROR:",
    "error:",
    "<tool_use_error>",
    "{\"error\"",
    "Traceback (most recent call last)",
];

/// Starts after which a call must not be taken for one that worked. The words alone are enough.
const POSSIBLE_STARTS: [&str; 4] = ["Error", "ERROR", "error", "<tool_use_error>"];

/// Whether a result that starts like this may be a failure.
pub(crate) fn may_be_failure(start: &str) -> bool {
    POSSIBLE_STARTS.iter().any(|error| start.starts_with(error))
}
