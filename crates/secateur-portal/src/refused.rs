//! Why there is no page.

use bytes::Bytes;
use http::Response;
use secateur_ledger::LedgerError;

/// Why a page was not made.
pub(crate) enum Refused {
    NotFound(&'static str),
    /// What the address takes instead.
    Method(&'static str),
    BadForm(&'static str),
    ForeignForm,
    Ledger(LedgerError),
}

impl From<LedgerError> for Refused {
    fn from(error: LedgerError) -> Self {
        Self::Ledger(error)
    }
}

/// A page, or why there is none.
pub(crate) type Made = Result<Response<Bytes>, Refused>;
