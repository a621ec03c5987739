//! Values on their way into and out of a database.

use std::borrow::Cow;

use crate::error::LedgerError;

/// On its way in it borrows what it can; what comes out owns itself.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value<'v> {
    Null,
    Bool(bool),
    Int(i64),
    Real(f64),
    Text(Cow<'v, str>),
    Bytes(Cow<'v, [u8]>),
}

impl<'v> Value<'v> {
    pub(crate) fn text(text: &'v str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }

    pub(crate) fn maybe_text(text: Option<&'v str>) -> Self {
        text.map_or(Self::Null, Self::text)
    }

    pub(crate) fn owned(text: impl Into<String>) -> Self {
        Self::Text(Cow::Owned(text.into()))
    }

    /// Counts beyond 2^63 cannot occur; they are stored as the largest that can.
    pub(crate) fn count(count: u64) -> Self {
        Self::Int(i64::try_from(count).unwrap_or(i64::MAX))
    }

    pub(crate) fn maybe_count(count: Option<u64>) -> Self {
        count.map_or(Self::Null, Self::count)
    }

    pub(crate) fn maybe_real(number: Option<f64>) -> Self {
        number.map_or(Self::Null, Self::Real)
    }

    fn unfit<T>(self, wanted: &str) -> Result<T, LedgerError> {
        let kind = match self {
            Self::Null => "nothing",
            Self::Bool(_) => "a truth value",
            Self::Int(_) => "a whole number",
            Self::Real(_) => "a number",
            Self::Text(_) => "a text",
            Self::Bytes(_) => "bytes",
        };
        Err(LedgerError::Unreadable(format!(
            "{kind} stands where {wanted} should"
        )))
    }

    pub(crate) fn into_text(self) -> Result<String, LedgerError> {
        match self {
            Self::Text(text) => Ok(text.into_owned()),
            other => other.unfit("a text"),
        }
    }

    pub(crate) fn into_maybe_text(self) -> Result<Option<String>, LedgerError> {
        match self {
            Self::Null => Ok(None),
            other => other.into_text().map(Some),
        }
    }

    pub(crate) fn into_int(self) -> Result<i64, LedgerError> {
        match self {
            Self::Int(number) => Ok(number),
            Self::Bool(is) => Ok(i64::from(is)),
            other => other.unfit("a whole number"),
        }
    }

    pub(crate) fn into_maybe_int(self) -> Result<Option<i64>, LedgerError> {
        match self {
            Self::Null => Ok(None),
            other => other.into_int().map(Some),
        }
    }

    pub(crate) fn into_count(self) -> Result<u64, LedgerError> {
        let number = self.into_int()?;
        u64::try_from(number).or_else(|_| Self::Int(number).unfit("a count"))
    }

    pub(crate) fn into_maybe_count(self) -> Result<Option<u64>, LedgerError> {
        match self {
            Self::Null => Ok(None),
            other => other.into_count().map(Some),
        }
    }

    pub(crate) fn into_real(self) -> Result<f64, LedgerError> {
        match self {
            Self::Real(number) => Ok(number),
            Self::Int(number) => Ok(number as f64),
            other => other.unfit("a number"),
        }
    }

    pub(crate) fn into_maybe_real(self) -> Result<Option<f64>, LedgerError> {
        match self {
            Self::Null => Ok(None),
            other => other.into_real().map(Some),
        }
    }

    pub(crate) fn into_bool(self) -> Result<bool, LedgerError> {
        match self {
            Self::Bool(is) => Ok(is),
            Self::Int(number) => Ok(number != 0),
            other => other.unfit("a truth value"),
        }
    }

    pub(crate) fn into_bytes(self) -> Result<Vec<u8>, LedgerError> {
        match self {
            Self::Bytes(bytes) => Ok(bytes.into_owned()),
            other => other.unfit("bytes"),
        }
    }
}
