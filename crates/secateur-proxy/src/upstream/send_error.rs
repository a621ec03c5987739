//! Why an upstream gave no response.

use std::error::Error;

use hyper_util::client::legacy;

use super::connect_failure::ConnectFailure;

/// Why there is no response.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SendError {
    /// The request's URL names no server.
    #[error("the address has no scheme or no host")]
    NoAddress,
    /// There is no connection.
    #[error("{0}")]
    Connect(Box<ConnectFailure>),
    /// The response is not valid HTTP.
    #[error("the response is not valid HTTP: {0}")]
    Framing(&'static str),
    /// The connection ended before it gave a response.
    #[error("the connection broke: {0}")]
    Broke(String),
}

impl From<ConnectFailure> for SendError {
    fn from(failure: ConnectFailure) -> Self {
        Self::Connect(Box::new(failure))
    }
}

impl From<hyper::Error> for SendError {
    fn from(error: hyper::Error) -> Self {
        Self::Broke(error.to_string())
    }
}

impl From<legacy::Error> for SendError {
    fn from(error: legacy::Error) -> Self {
        // The client's own words name the step alone; its source says what happened.
        let Some(source) = error.source() else {
            return Self::Broke(error.to_string());
        };
        match source.downcast_ref::<ConnectFailure>() {
            Some(failure) => failure.clone().into(),
            None => Self::Broke(source.to_string()),
        }
    }
}
