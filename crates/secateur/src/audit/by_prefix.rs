//! A row by its id, or by the first characters of it that no other row has.

use secateur_ledger::{After, Filter, Ledger, Millis, Row};

use super::answer;
use crate::failure::Failure;

/// An id begins with its time in milliseconds, in so many hexadecimal digits.
const TIME_DIGITS: usize = 11;
/// Shorter beginnings stand for days of requests.
const MIN_CHARS: usize = 6;
/// Rows that are asked for at once.
const PAGE: u32 = 2_000;
/// How many rows are searched, at most.
const MAX_ROWS: usize = 200_000;

pub(super) fn find(ledger: &Ledger, id: &str) -> Result<Row, Failure> {
    if let Some(row) = answer(ledger.row(id))? {
        return Ok(row);
    }
    let none = || {
        Failure::bad_input(format!(
            "the ledger has no row `{id}`: it may be past its days, or of another ledger (--ledger)"
        ))
    };
    let (since, until) = times(id).ok_or_else(none)?;
    let filter = Filter {
        since: Some(since),
        until: Some(until),
        ..Filter::default()
    };
    let mut found: Vec<String> = Vec::new();
    let mut looked_at = 0;
    let mut after: Option<After> = None;
    while looked_at < MAX_ROWS {
        let page = answer(ledger.rows(&filter, after.as_ref(), PAGE))?;
        let Some(last) = page.last() else { break };
        after = Some(After::from(last));
        looked_at += page.len();
        let fits = page.into_iter().filter(|row| row.id.starts_with(id));
        found.extend(fits.map(|row| row.id));
    }
    match found.as_slice() {
        [] => Err(none()),
        [only] => answer(ledger.row(only))?.ok_or_else(none),
        several => {
            let some: Vec<&str> = several.iter().take(3).map(String::as_str).collect();
            Err(Failure::bad_input(format!(
                "{} ids begin with `{id}`: {}{}",
                several.len(),
                some.join(", "),
                if several.len() > some.len() {
                    ", …"
                } else {
                    ""
                }
            )))
        }
    }
}

/// When the requests arrived whose ids begin like this; `None`: it is too short, or not the beginning of an id.
fn times(id: &str) -> Option<(Millis, Millis)> {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if id.len() < MIN_CHARS || !id.bytes().all(is_digit) {
        return None;
    }
    let time = &id[..id.len().min(TIME_DIGITS)];
    let filled = |digit: char| {
        let rest = TIME_DIGITS - time.len();
        let digits: String = time
            .chars()
            .chain(std::iter::repeat_n(digit, rest))
            .collect();
        Millis::from_str_radix(&digits, 16).ok()
    };
    Some((filled('0')?, filled('f')? + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_of_an_id_is_a_span_of_time() {
        let at: Millis = 1_794_973_602_123;
        let id = format!("{at:011x}0123456789abcdef");
        for length in MIN_CHARS..=id.len() {
            let (since, until) = times(&id[..length]).unwrap();
            assert!((since..until).contains(&at), "{length}");
        }
        assert_eq!(times(&id).unwrap(), (at, at + 1));
        assert_eq!(times("1a2b"), None);
        assert_eq!(times("not-an-id"), None);
    }
}
