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
