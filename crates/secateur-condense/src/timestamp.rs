//! Timestamps at the start of a line. In a log they cost a quarter of the characters.

/// The length of a leading timestamp with the blank after it, or 0.
///
/// Accepts a bracketed or bare date, time or both, as long as it holds a clock time
/// (`12:34:56`) and is followed by a blank: `2026-05-07T02:58:33.1164075Z `,
/// `[12:34:56] `, `2026-05-07 02:58:33,123 `, `May  7 02:58:33 `.
pub(super) fn timestamp_len(line: &[u8]) -> usize {
    let mut at = usize::from(line.first() == Some(&b'['));
    let bracketed = at == 1;
    at = after_month(line, at);
    let mut clock = false;
    let mut last_digit = false;
    let limit = line.len().min(48);
    while at < limit {
        let byte = line[at];
        match byte {
            b'0'..=b'9' => last_digit = true,
            b':' if last_digit => {
                clock |= is_clock_tail(line, at);
                last_digit = false;
            }
            b'-' | b'/' | b'.' | b',' | b'+' | b'T' => {
                if !(last_digit || clock) {
                    return 0;
                }
                last_digit = false;
            }
            b'Z' if clock => {}
            b']' if bracketed && clock => {
                let end = at + 1;
                return end + usize::from(line.get(end) == Some(&b' '));
            }
            b' ' if clock && !bracketed => return at + 1,
            b' ' if last_digit && line.get(at + 1).is_some_and(u8::is_ascii_digit) => {}
            _ => return 0,
        }
        at += 1;
    }
    0
}

/// What comes before the text of a log's lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Prefix {
    None,
    /// A timestamp.
    Time,
    /// Two columns (job, step) and a timestamp, as hosted CI prints logs of several jobs.
    Columns,
}

impl Prefix {
    /// The length of this prefix of a line, byte order mark included, or 0.
    pub(super) fn len(self, line: &[u8]) -> usize {
        let columns = match self {
            Self::None => return 0,
            Self::Time => 0,
            Self::Columns => match two_columns(line) {
                Some(columns) => columns,
                None => return 0,
            },
        };
        let mark = if line[columns..].starts_with("\u{feff}".as_bytes()) {
            3
        } else {
            0
        };
        match timestamp_len(&line[columns + mark..]) {
            0 => 0,
            stamp => columns + mark + stamp,
        }
    }

    /// The prefix that most of these lines have.
    pub(super) fn of(lines: &[&[u8]]) -> Self {
        let seen = lines.len();
        let most = |prefix: Self| {
            let found = lines.iter().filter(|line| prefix.len(line) > 0).count();
            seen >= 3 && found * 10 >= seen * 6
        };
        [Self::Time, Self::Columns]
            .into_iter()
            .find(|prefix| most(*prefix))
            .unwrap_or(Self::None)
    }
}

/// Behind the second tab, if it comes early.
fn two_columns(line: &[u8]) -> Option<usize> {
    let mut tabs = line
        .iter()
        .take(160)
        .enumerate()
        .filter(|(_, byte)| **byte == b'\t')
        .map(|(at, _)| at);
    tabs.next()?;
    tabs.next().map(|at| at + 1)
}

/// Whether `:` at `at` begins `:MM:SS`.
fn is_clock_tail(line: &[u8], at: usize) -> bool {
    let digit = |offset: usize| line.get(at + offset).is_some_and(u8::is_ascii_digit);
    digit(1) && digit(2) && line.get(at + 3) == Some(&b':') && digit(4) && digit(5)
}

/// Skips the month name of a syslog date.
fn after_month(line: &[u8], at: usize) -> usize {
    const MONTHS: &[u8] = b"JanFebMarAprMayJunJulAugSepOctNovDec";
    let named = line
        .get(at..at + 3)
        .is_some_and(|word| MONTHS.chunks(3).any(|month| month == word));
    if !named || line.get(at + 3) != Some(&b' ') {
        return at;
    }
    at + 4 + usize::from(line.get(at + 4) == Some(&b' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_log_timestamps_are_recognised_whole() {
        for stamp in [
            "2026-05-07T02:58:33.1164075Z ",
            "2026-05-07 02:58:33,123 ",
            "[12:34:56] ",
            "12:34:56.789 ",
            "May  7 02:58:33 ",
            "[2026-05-07 02:58:33] ",
            "2026-05-07T02:58:33+02:00 ",
        ] {
            assert_eq!(
                timestamp_len(format!("{stamp}error: x").as_bytes()),
                stamp.len(),
                "{stamp}"
            );
        }
    }

    #[test]
    fn job_and_step_columns_belong_to_the_prefix() {
        let line = "lint\tRun lint\t2026-02-04T23:38:36.7071793Z with:";
        assert_eq!(Prefix::of(&[line.as_bytes(); 4]), Prefix::Columns);
        assert_eq!(&line[Prefix::Columns.len(line.as_bytes())..], "with:");
        assert_eq!(Prefix::of(&["a\tb\tc".as_bytes(); 4]), Prefix::None);
    }

    #[test]
    fn numbers_that_are_not_times_stay() {
        for line in [
            "12 passed",
            "3:14 error",
            "1.2.3 released",
            "Mayor of x",
            "",
            "[1/20] Compiling",
            "12:34:56",
        ] {
            assert_eq!(timestamp_len(line.as_bytes()), 0, "{line}");
        }
    }
}
