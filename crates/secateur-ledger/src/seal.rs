//! Encryption of captured text: XChaCha20-Poly1305, a random nonce per text, bound to its workload and
//! id so that one text cannot be put in another's place.

use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305, XNonce};

use crate::error::LedgerError;

const NONCE_BYTES: usize = 24;

pub(crate) struct Seal {
    cipher: XChaCha20Poly1305,
}

impl std::fmt::Debug for Seal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Seal")
    }
}

/// The length in front keeps `a` + `bc` and `ab` + `c` apart.
fn bound_to(workload: &str, id: &str) -> Vec<u8> {
    format!("{}:{workload}{id}", workload.len()).into_bytes()
}

impl Seal {
    pub(crate) fn new(key: &[u8; 32]) -> Self {
        Self {
            cipher: XChaCha20Poly1305::new(key.into()),
        }
    }

    /// The nonce, then the sealed text.
    pub(crate) fn close(
        &self,
        workload: &str,
        id: &str,
        text: &str,
    ) -> Result<Vec<u8>, LedgerError> {
        let mut nonce = [0_u8; NONCE_BYTES];
        getrandom::fill(&mut nonce)
            .map_err(|error| LedgerError::Unreachable(format!("no random numbers: {error}")))?;
        let payload = Payload {
            msg: text.as_bytes(),
            aad: &bound_to(workload, id),
        };
        let sealed = self
            .cipher
            .encrypt(&XNonce::from(nonce), payload)
            .map_err(|_| LedgerError::BadValue("a text too long to seal".into()))?;
        Ok([nonce.as_slice(), &sealed].concat())
    }

    pub(crate) fn open(
        &self,
        workload: &str,
        id: &str,
        sealed: &[u8],
    ) -> Result<String, LedgerError> {
        let wrong = || LedgerError::WrongCaptureKey { id: id.to_owned() };
        let (nonce, sealed) = sealed
            .split_first_chunk::<NONCE_BYTES>()
            .ok_or_else(wrong)?;
        let payload = Payload {
            msg: sealed,
            aad: &bound_to(workload, id),
        };
        let text = self
            .cipher
            .decrypt(&XNonce::from(*nonce), payload)
            .map_err(|_| wrong())?;
        String::from_utf8(text).map_err(|_| wrong())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_opens_with_its_key_in_its_place_only() {
        let seal = Seal::new(&[1; 32]);
        let sealed = seal.close("work", "id", "the secret text").unwrap();
        assert!(!sealed.windows(6).any(|window| window == b"secret"));
        assert_eq!(seal.open("work", "id", &sealed).unwrap(), "the secret text");
        assert!(seal.open("wor", "kid", &sealed).is_err());
        assert!(seal.open("work", "other", &sealed).is_err());
        assert!(Seal::new(&[2; 32]).open("work", "id", &sealed).is_err());
        let mut bent = sealed.clone();
        *bent.last_mut().unwrap() ^= 1;
        assert!(seal.open("work", "id", &bent).is_err());
        assert!(seal.open("work", "id", &sealed[..10]).is_err());
        assert_ne!(sealed, seal.close("work", "id", "the secret text").unwrap());
    }
}
