//! The token that opens the portal. Only its hash is kept.

use ring::digest::{SHA256, digest};
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};
use secateur_proxy::config::MIN_TOKEN_CHARS;
use subtle::ConstantTimeEq;

use crate::portal_error::PortalError;

/// The hash of the token that opens the portal.
#[derive(Clone)]
pub struct PortalToken {
    sha256: [u8; 32],
    /// Known only where the token itself was: sessions then hold over restarts and replicas.
    session_key: Option<[u8; 32]>,
}

impl std::fmt::Debug for PortalToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PortalToken(…)")
    }
}

fn sha256(bytes: &[u8]) -> [u8; 32] {
    let mut out = [0; 32];
    for (to, from) in out.iter_mut().zip(digest(&SHA256, bytes).as_ref()) {
        *to = *from;
    }
    out
}

impl PortalToken {
    /// From the token itself, as an environment variable holds it. Sessions are signed with a key
    /// made from it, so that every replica with the same token takes them.
    ///
    /// # Errors
    /// It is shorter than 16 characters.
    pub fn from_text(token: &str) -> Result<Self, PortalError> {
        if token.chars().count() < MIN_TOKEN_CHARS {
            return Err(PortalError::ShortToken(MIN_TOKEN_CHARS));
        }
        let key = hmac::Key::new(hmac::HMAC_SHA256, token.as_bytes());
        let mut session_key = [0; 32];
        let tag = hmac::sign(&key, b"secateur portal session");
        for (to, from) in session_key.iter_mut().zip(tag.as_ref()) {
            *to = *from;
        }
        Ok(Self {
            sha256: sha256(token.as_bytes()),
            session_key: Some(session_key),
        })
    }

    /// From the SHA-256 of the token. Who can read the hash cannot sign a session with it: the
    /// sessions' key is then random, and sessions end with the process.
    #[must_use]
    pub fn from_sha256(sha256: [u8; 32]) -> Self {
        Self {
            sha256,
            session_key: None,
        }
    }

    /// Whether this is the token, in a time that does not tell how much of it is right.
    pub(crate) fn is(&self, token: &str) -> bool {
        self.sha256.ct_eq(&sha256(token.as_bytes())).into()
    }

    pub(super) fn session_key(&self) -> Option<[u8; 32]> {
        self.session_key
    }
}

/// Bytes that nobody can guess.
pub(super) fn random<const N: usize>() -> Result<[u8; N], PortalError> {
    let mut bytes = [0; N];
    SystemRandom::new()
        .fill(&mut bytes)
        .map_err(|_| PortalError::NoRandomness)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_token_itself_opens() {
        let token = PortalToken::from_text("correct horse battery").unwrap();
        assert!(token.is("correct horse battery"));
        assert!(!token.is("correct horse batterz") && !token.is(""));
        let hashed = PortalToken::from_sha256(sha256(b"correct horse battery"));
        assert!(hashed.is("correct horse battery"));
        assert!(PortalToken::from_text("short").is_err());
        assert_eq!(format!("{token:?}"), "PortalToken(…)");
    }
}
