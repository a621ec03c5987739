//! What a request has in common with many others. Fields as in [`Row`].

use std::sync::Arc;

use crate::plain::Figures;
use crate::record::fit_row;
use crate::row::{ReceiptRow, Row};

/// See the module. Cheap comparisons that tell most requests apart come first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in Row")]
pub struct Alike<'a> {
    pub status: u16,
    pub upstream_status: Option<u16>,
    pub is_stream: bool,
    pub held_out: bool,
    pub bypassed: bool,
    pub tokens_are_exact: bool,
    pub workload: &'a str,
    pub model: Option<&'a str>,
    pub stack: &'a str,
    pub provider: &'a str,
    pub dialect: Option<&'a str>,
    pub key: Option<&'a str>,
    pub ended: &'a str,
    pub routed_to: Option<&'a str>,
    pub failed_open: Option<&'a str>,
    pub struck_stack: &'a str,
    pub price_date: Option<&'a str>,
}

impl Alike<'_> {
    /// A row with this, its id and its figures, and nothing else.
    #[must_use]
    pub fn row(&self, id: &str, figures: &Figures) -> Row {
        let mut row = Row {
            id: id.to_owned(),
            status: self.status,
            upstream_status: self.upstream_status,
            is_stream: self.is_stream,
            held_out: self.held_out,
            bypassed: self.bypassed,
            workload: self.workload.into(),
            model: self.model.map(Into::into),
            stack: self.stack.into(),
            provider: self.provider.into(),
            dialect: self.dialect.map(Into::into),
            key: self.key.map(Into::into),
            ended: self.ended.into(),
            routed_to: self.routed_to.map(Into::into),
            failed_open: self.failed_open.map(Into::into),
            struck_stack: self.struck_stack.into(),
            receipt: ReceiptRow {
                tokens_are_exact: self.tokens_are_exact,
                price_date: self.price_date.map(Into::into),
                ..ReceiptRow::default()
            },
            ..Row::default()
        };
        figures.put_numbers_into(&mut row);
        row
    }
}

/// What requests have in common, for whoever records many of them and knows without comparing names which are alike.
#[derive(Clone, Debug)]
pub struct Likeness(pub(crate) Arc<Row>);

impl Alike<'_> {
    /// The same, to be kept.
    #[must_use]
    pub fn keep(&self) -> Likeness {
        let mut row = self.row("", &Figures::default());
        fit_row(&mut row);
        Likeness(Arc::new(row))
    }
}

/// What is alike in two requests, but for names.
type Marks = (u16, Option<u16>, [bool; 4]);

const NAMES: usize = 11;
/// Stands for a name that is not there; no name is as long.
const NONE: u16 = u16::MAX;

impl<'a> Alike<'a> {
    fn marks(&self) -> Marks {
        let flags = [
            self.is_stream,
            self.held_out,
            self.bypassed,
            self.tokens_are_exact,
        ];
        (self.status, self.upstream_status, flags)
    }

    fn names(&self) -> [Option<&'a str>; NAMES] {
        [
            Some(self.workload),
            self.model,
            Some(self.stack),
            Some(self.provider),
            self.dialect,
            self.key,
            Some(self.ended),
            self.routed_to,
            self.failed_open,
            Some(self.struck_stack),
            self.price_date,
        ]
    }
}

/// The same, kept for comparing. All of it lies in one place: a request that comes in finds little of the last one's
/// memory at hand.
#[derive(Debug)]
pub(crate) struct KeptAlike {
    marks: Marks,
    lengths: [u16; NAMES],
    names: Box<[u8]>,
}

impl KeptAlike {
    /// `None`: a name is too long to be one.
    pub(crate) fn of(alike: &Alike<'_>) -> Option<Self> {
        let (mut lengths, mut names) = ([NONE; NAMES], Vec::new());
        for (length, name) in lengths.iter_mut().zip(alike.names()) {
            let Some(name) = name else { continue };
            *length = u16::try_from(name.len()).ok().filter(|&n| n < NONE)?;
            names.extend_from_slice(name.as_bytes());
        }
        Some(Self {
            marks: alike.marks(),
            lengths,
            names: names.into(),
        })
    }

    pub(crate) fn is(&self, alike: &Alike<'_>) -> bool {
        let mut rest = &*self.names;
        let is_next = |(name, &length): (Option<&str>, &u16)| {
            let Some(name) = name else {
                return length == NONE;
            };
            let Some((kept, behind)) = rest.split_at_checked(name.len()) else {
                return false;
            };
            rest = behind;
            usize::from(length) == name.len() && kept == name.as_bytes()
        };
        self.marks == alike.marks() && alike.names().into_iter().zip(&self.lengths).all(is_next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each differs from the first in one thing, also where the same letters follow each other.
    fn different() -> Vec<Alike<'static>> {
        let one = Alike {
            status: 200,
            workload: "work",
            model: Some("m"),
            provider: "p",
            ended: "complete",
            ..Alike::default()
        };
        let changes: [fn(&mut Alike<'static>); 21] = [
            |_| (),
            |one| one.status = 201,
            |one| one.upstream_status = Some(200),
            |one| one.is_stream = true,
            |one| one.held_out = true,
            |one| one.bypassed = true,
            |one| one.tokens_are_exact = true,
            |one| (one.workload, one.model) = ("wor", Some("km")),
            |one| (one.workload, one.model) = ("workm", Some("")),
            |one| (one.workload, one.model) = ("workm", None),
            |one| one.workload = "",
            |one| one.model = Some("n"),
            |one| one.model = None,
            |one| one.stack = "m7",
            |one| one.provider = "q",
            |one| one.dialect = Some("d"),
            |one| one.key = Some(""),
            |one| one.ended = "completely",
            |one| one.routed_to = Some("r"),
            |one| one.failed_open = Some("f"),
            |one| one.struck_stack = "m7",
        ];
        let changed = changes.iter().map(|change| {
            let mut one = one;
            change(&mut one);
            one
        });
        let dated = Alike {
            price_date: Some("2026-11"),
            ..one
        };
        changed.chain([dated]).collect()
    }

    #[test]
    fn what_is_kept_is_found_again_and_nothing_else() {
        let all = different();
        for (at, one) in all.iter().enumerate() {
            let kept = KeptAlike::of(one).unwrap();
            for (other_at, other) in all.iter().enumerate() {
                assert_eq!(kept.is(other), at == other_at, "{one:?} {other:?}");
            }
        }
    }

    #[test]
    fn what_is_too_long_for_a_name_is_not_kept() {
        let long = "x".repeat(usize::from(NONE));
        let of = |name| {
            KeptAlike::of(&Alike {
                key: Some(name),
                ..Alike::default()
            })
        };
        assert!(of(&long).is_none() && of(&long[1..]).is_some());
    }
}
