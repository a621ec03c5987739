//! Why no connection to an upstream came about, in words that tell an operator what to mend.

use std::error::Error;
use std::fmt::{Display, Formatter};
use std::io::ErrorKind;

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectFailureKind {
    /// The name does not resolve.
    Dns,
    /// Nobody listens there.
    Refused,
    /// There was no TLS: a certificate that is not trusted, or no TLS at the other end.
    Tls,
    /// It took too long.
    Timeout,
    /// Something else.
    Other,
}

impl ConnectFailureKind {
    /// Its name in logs and metrics.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Dns => "upstream-dns",
            Self::Refused => "upstream-refused",
            Self::Tls => "upstream-tls",
            Self::Timeout => "upstream-connect-timeout",
            Self::Other => "upstream-unreachable",
        }
    }

    fn of(error: &(dyn Error + 'static)) -> Self {
        let mut next = Some(error);
        // Where names are resolved, hyper-util says so in its own error alone.
        let mut is_dns = false;
        while let Some(error) = next {
            if error.is::<rustls::Error>() {
                return Self::Tls;
            }
            is_dns |= error.to_string().starts_with("dns error");
            let io = error.downcast_ref::<std::io::Error>();
            match io.map(std::io::Error::kind) {
                Some(ErrorKind::ConnectionRefused) => return Self::Refused,
                Some(ErrorKind::TimedOut) => return Self::Timeout,
                _ => {}
            }
            // An error of the system may hold another one, which is not its source.
            let inner = io.and_then(std::io::Error::get_ref);
            let inner = inner.map(|inner| inner as &(dyn Error + 'static));
            next = inner.or_else(|| error.source());
        }
        if is_dns { Self::Dns } else { Self::Other }
    }
}

/// A connection that did not come about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConnectFailure {
    pub(crate) kind: ConnectFailureKind,
    /// Of the upstream, without credentials and path.
    pub(crate) host: String,
    /// What the system or the TLS library says.
    pub(crate) detail: String,
}

impl ConnectFailure {
    /// `in_handshake`: it happened while TLS was agreed on. Where the far end breaks off there, no error says so.
    pub(super) fn new(host: &str, error: &(dyn Error + 'static), in_handshake: bool) -> Self {
        let mut detail = error.to_string();
        let mut source = error.source();
        while let Some(error) = source {
            let words = error.to_string();
            if !detail.contains(&words) {
                detail = format!("{detail}: {words}");
            }
            source = error.source();
        }
        Self {
            kind: match ConnectFailureKind::of(error) {
                ConnectFailureKind::Other if in_handshake => ConnectFailureKind::Tls,
                kind => kind,
            },
            host: host.to_owned(),
            detail,
        }
    }

    pub(super) fn timeout(host: &str) -> Self {
        Self {
            kind: ConnectFailureKind::Timeout,
            host: host.to_owned(),
            detail: "it took too long".to_owned(),
        }
    }
}

impl Display for ConnectFailure {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let (host, detail) = (&self.host, &self.detail);
        match self.kind {
            ConnectFailureKind::Dns => {
                write!(f, "the upstream's name {host} cannot be resolved: {detail}")
            }
            ConnectFailureKind::Refused => {
                write!(f, "the upstream {host} refused the connection: {detail}")
            }
            ConnectFailureKind::Tls => {
                write!(
                    f,
                    "there is no TLS connection to the upstream {host}: {detail}"
                )
            }
            ConnectFailureKind::Timeout => {
                write!(f, "the upstream {host} did not take the connection in time")
            }
            ConnectFailureKind::Other => {
                write!(f, "the upstream {host} could not be reached: {detail}")
            }
        }
    }
}

impl Error for ConnectFailure {}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(error: impl Error + 'static) -> ConnectFailureKind {
        ConnectFailure::new("example.org", &error, false).kind
    }

    #[test]
    fn causes_are_told_apart() {
        let io = |kind: ErrorKind| std::io::Error::from(kind);
        assert_eq!(
            kind(io(ErrorKind::ConnectionRefused)),
            ConnectFailureKind::Refused
        );
        assert_eq!(kind(io(ErrorKind::TimedOut)), ConnectFailureKind::Timeout);
        assert_eq!(
            kind(io(ErrorKind::NetworkUnreachable)),
            ConnectFailureKind::Other
        );
        let eof = ConnectFailure::new("example.org", &io(ErrorKind::UnexpectedEof), true);
        assert_eq!(eof.kind, ConnectFailureKind::Tls);
        let tls = rustls::Error::General("bad certificate".to_owned());
        let wrapped = std::io::Error::new(ErrorKind::InvalidData, tls);
        let failure = ConnectFailure::new("example.org", &wrapped, true);
        assert_eq!(failure.kind, ConnectFailureKind::Tls);
        let words = failure.to_string();
        assert!(
            words.contains("example.org") && words.contains("bad certificate"),
            "{words}"
        );
    }
}
