//! Who is looking: a signed cookie with an id, an end and a name. Nothing is kept on the server
//! except the ids of sessions that were ended early: here, and those that a token opened in the ledger as well,
//! so that they stay ended over restarts and on other replicas.
//!
//! Everybody gets a session, so that forms can be bound to it; a guest's opens nothing where a token
//! is needed.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use ring::hmac;
use secateur_ledger::Millis;
use secateur_ledger::shown::is_unseen;

use super::token::{PortalToken, random};
use crate::portal_error::PortalError;

/// Longer names are cut.
const MAX_NAME_CHARS: usize = 40;
/// More ended sessions than this are not remembered; the oldest are forgotten first.
const MAX_ENDED: usize = 10_000;

/// A visitor's session, as its cookie holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Session {
    pub(crate) id: String,
    /// Whether the token was shown.
    pub(crate) is_member: bool,
    /// What the person calls themselves; may be empty.
    pub(crate) name: String,
    pub(crate) ends_at: Millis,
}

/// Signs and reads sessions.
pub(crate) struct Sessions {
    key: hmac::Key,
    lasts: Millis,
    ended: Mutex<BTreeMap<String, Millis>>,
}

impl std::fmt::Debug for Sessions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sessions(…)")
    }
}

impl Sessions {
    /// # Errors
    /// The machine gives no random bytes.
    pub(crate) fn new(token: Option<&PortalToken>, lasts: Millis) -> Result<Self, PortalError> {
        let key = match token.and_then(PortalToken::session_key) {
            Some(key) => key,
            None => random::<32>()?,
        };
        Ok(Self {
            key: hmac::Key::new(hmac::HMAC_SHA256, &key),
            lasts,
            ended: Mutex::default(),
        })
    }

    /// A new session.
    pub(crate) fn begin(
        &self,
        is_member: bool,
        name: &str,
        now: Millis,
    ) -> Result<Session, PortalError> {
        let name: String = name
            .trim()
            .chars()
            .filter(|letter| !letter.is_control() && !is_unseen(*letter))
            .take(MAX_NAME_CHARS)
            .collect();
        Ok(Session {
            id: hex::encode(random::<16>()?),
            is_member,
            name,
            ends_at: now + self.lasts,
        })
    }

    fn payload(session: &Session) -> String {
        let kind = if session.is_member { "member" } else { "guest" };
        let name = hex::encode(session.name.as_bytes());
        format!("{kind}.{}.{}.{name}", session.id, session.ends_at)
    }

    /// The cookie's value.
    pub(crate) fn seal(&self, session: &Session) -> String {
        self.sign(&Self::payload(session))
    }

    /// A text with its signature behind a dot.
    pub(crate) fn sign(&self, payload: &str) -> String {
        let tag = hmac::sign(&self.key, payload.as_bytes());
        format!("{payload}.{}", hex::encode(tag.as_ref()))
    }

    /// The text, if the signature behind it is ours.
    pub(crate) fn verify<'t>(&self, signed: &'t str) -> Option<&'t str> {
        let (payload, tag) = signed.rsplit_once('.')?;
        hmac::verify(&self.key, payload.as_bytes(), &hex::decode(tag).ok()?).ok()?;
        Some(payload)
    }

    /// The session behind a cookie's value, if it is ours, has not run out and was not ended.
    pub(crate) fn read(&self, cookie: &str, now: Millis) -> Option<Session> {
        let mut fields = self.verify(cookie)?.split('.');
        let is_member = match fields.next()? {
            "member" => true,
            "guest" => false,
            _ => return None,
        };
        let id = fields.next()?.to_owned();
        let ends_at = fields.next()?.parse().ok()?;
        let name = String::from_utf8(hex::decode(fields.next()?).ok()?).ok()?;
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        if ends_at <= now || ended.contains_key(&id) {
            return None;
        }
        Some(Session {
            id,
            is_member,
            name,
            ends_at,
        })
    }

    /// Ends a session before its time.
    pub(crate) fn end(&self, session: &Session, now: Millis) {
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        ended.retain(|_, ends_at| *ends_at > now);
        if ended.len() >= MAX_ENDED
            && let Some(oldest) = ended
                .iter()
                .min_by_key(|(_, at)| **at)
                .map(|(id, _)| id.clone())
        {
            ended.remove(&oldest);
        }
        ended.insert(session.id.clone(), session.ends_at);
    }

    /// Seconds until a session ends.
    pub(crate) fn seconds_left(session: &Session, now: Millis) -> i64 {
        (session.ends_at - now).max(0) / 1000
    }

    /// What a form of this session carries. A page of another origin cannot read it.
    pub(crate) fn form_key(&self, session: &Session) -> String {
        hex::encode(hmac::sign(&self.key, format!("form.{}", session.id).as_bytes()).as_ref())
    }

    /// Whether a form carries what it must.
    pub(crate) fn takes_form(&self, session: &Session, key: &str) -> bool {
        let Ok(tag) = hex::decode(key) else {
            return false;
        };
        hmac::verify(&self.key, format!("form.{}", session.id).as_bytes(), &tag).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sessions() -> Sessions {
        Sessions::new(None, 1000).unwrap()
    }

    #[test]
    fn a_session_is_read_back_until_it_runs_out_or_is_ended() {
        let sessions = sessions();
        let session = sessions.begin(true, " Ann.<b>\u{7}\u{202e} ", 5).unwrap();
        assert_eq!(session.name, "Ann.<b>");
        let cookie = sessions.seal(&session);
        assert!(
            cookie
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'.')
        );
        assert_eq!(sessions.read(&cookie, 10), Some(session.clone()));
        assert_eq!(sessions.read(&cookie, 1005), None);
        sessions.end(&session, 10);
        assert_eq!(sessions.read(&cookie, 10), None);
    }

    #[test]
    fn a_changed_or_foreign_cookie_is_nobodys() {
        let (ours, theirs) = (sessions(), sessions());
        let guest = ours.begin(false, "", 0).unwrap();
        let cookie = ours.seal(&guest);
        assert_eq!(ours.read(&cookie.replacen("guest", "member", 1), 1), None);
        assert_eq!(theirs.read(&cookie, 1), None);
        for broken in ["", ".", "....", "guest.1.2.3.zz", "é.é"] {
            assert_eq!(ours.read(broken, 1), None, "{broken}");
        }
    }

    #[test]
    fn a_form_belongs_to_its_session() {
        let sessions = sessions();
        let (one, other) = (
            sessions.begin(true, "", 0).unwrap(),
            sessions.begin(true, "", 0).unwrap(),
        );
        assert!(sessions.takes_form(&one, &sessions.form_key(&one)));
        assert!(!sessions.takes_form(&one, &sessions.form_key(&other)));
        assert!(!sessions.takes_form(&one, "") && !sessions.takes_form(&one, "00"));
    }

    #[test]
    fn sessions_hold_over_a_restart_where_the_token_is_known() {
        let token = PortalToken::from_text("correct horse battery").unwrap();
        let before = Sessions::new(Some(&token), 1000).unwrap();
        let after = Sessions::new(Some(&token), 1000).unwrap();
        let cookie = before.seal(&before.begin(true, "Ann", 0).unwrap());
        assert!(
            after
                .read(&cookie, 1)
                .is_some_and(|session| session.is_member)
        );
        let hashed = PortalToken::from_sha256([0; 32]);
        let (one, other) = (
            Sessions::new(Some(&hashed), 9).unwrap(),
            Sessions::new(Some(&hashed), 9).unwrap(),
        );
        assert_eq!(
            other.read(&one.seal(&one.begin(true, "", 0).unwrap()), 1),
            None
        );
    }
}
