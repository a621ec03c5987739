//! Why a portal cannot be opened.

use std::net::SocketAddr;

/// Why a portal cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PortalError {
    /// Anybody could see and switch.
    #[error(
        "{0} is reachable from other machines and the portal has no token: set [portal] token_env, or listen on 127.0.0.1"
    )]
    Open(SocketAddr),
    /// It could be guessed.
    #[error("the portal's token is shorter than {0} characters")]
    ShortToken(usize),
    /// No keys can be made.
    #[error("the machine gives no random bytes")]
    NoRandomness,
}
