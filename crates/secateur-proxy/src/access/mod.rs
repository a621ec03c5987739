//! Who may come in: virtual client keys, hashed at rest, and how often.

mod credential_owner;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use http::{HeaderMap, HeaderName, HeaderValue, header};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

pub(crate) use self::credential_owner::{check_owner, drop_foreign};
use crate::config::{ClientKey, Config, Provider};
use crate::refusal::Refusal;
use crate::route::Route;
use crate::wire::headers::{ANTHROPIC_KEY, AZURE_KEY, GOOGLE_KEY};
use crate::wire::names::loggable;

/// A client key can also come here; then the provider's own credential passes untouched.
pub(crate) const KEY_HEADER: HeaderName = HeaderName::from_static("x-secateur-key");

/// Headers by which some servers take a request for another one than its method and path say.
const OVERRIDES: [&str; 5] = [
    "x-http-method-override",
    "x-http-method",
    "x-method-override",
    "x-original-url",
    "x-rewrite-url",
];

/// The SHA-256 of a key, as the configuration wants it.
#[must_use]
pub fn hash_key(key: &str) -> String {
    hex::encode(Sha256::digest(key.as_bytes()))
}

/// Where a key was presented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Own,
    Native,
}

fn presented<'h>(headers: &'h HeaderMap, query: Option<&'h str>) -> Option<(&'h str, Place)> {
    let text = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    if let Some(key) = headers
        .get(KEY_HEADER)
        .and_then(|value| value.to_str().ok())
    {
        return Some((key, Place::Own));
    }
    let bearer = text(&header::AUTHORIZATION)
        .and_then(|value| value.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .map(|(_, key)| key.trim());
    let in_query = || query?.split('&').find_map(|pair| pair.strip_prefix("key="));
    bearer
        .or_else(|| text(&ANTHROPIC_KEY))
        .or_else(|| text(&GOOGLE_KEY))
        .or_else(|| text(&AZURE_KEY))
        .or_else(in_query)
        .map(|key| (key, Place::Native))
}

/// The key that a request presents. Every key is compared, each in constant time.
fn find<'k>(keys: &'k [ClientKey], key: &str) -> Option<&'k ClientKey> {
    let digest = Sha256::digest(key.as_bytes());
    let mut found = None;
    for candidate in keys {
        if bool::from(candidate.sha256.as_slice().ct_eq(digest.as_slice())) {
            found = Some(candidate);
        }
    }
    found
}

/// What a request may do.
#[derive(Clone, Debug, Default)]
pub(crate) struct Grant {
    key: Option<ClientKey>,
    replaces: bool,
}

impl Grant {
    /// Judges a request.
    pub(crate) fn of(
        config: &Config,
        headers: &HeaderMap,
        query: Option<&str>,
        limits: &RateLimits,
    ) -> Result<Self, Refusal> {
        if config.keys.is_empty() {
            return Ok(Self::default());
        }
        let (key, place) = presented(headers, query).ok_or(Refusal::NoKey)?;
        let key = find(&config.keys, key).ok_or(Refusal::WrongKey)?;
        limits.take(key, Instant::now())?;
        Ok(Self {
            replaces: place == Place::Native || !key.credentials.is_empty(),
            key: Some(key.clone()),
        })
    }

    pub(crate) fn key(&self) -> Option<&ClientKey> {
        self.key.as_ref()
    }

    /// Whether the key belongs to the workload that a request names, by its path or its header.
    ///
    /// # Errors
    /// It belongs to another one.
    pub(crate) fn check_workload(&self, named: &[Option<&str>]) -> Result<(), Refusal> {
        let Some(key) = &self.key else {
            return Ok(());
        };
        let own = &key.workload.name;
        match named.iter().flatten().find(|name| **name != &**own) {
            Some(other) => Err(Refusal::OtherWorkload {
                own: Arc::clone(own),
                asked: loggable(other),
            }),
            None => Ok(()),
        }
    }

    /// Whether the key may be used for a request, as far as its head tells.
    ///
    /// # Errors
    /// It may not call this path, or not ask this model.
    pub(crate) fn check_route(&self, route: &Route) -> Result<(), Refusal> {
        let Some(key) = &self.key else {
            return Ok(());
        };
        if !route.is_for_models && !key.paths.matches(&route.path) {
            return Err(Refusal::PathNotAllowed);
        }
        match &route.path_model {
            Some(model) => self.check_models(std::slice::from_ref(model)),
            None => Ok(()),
        }
    }

    /// Whether the model must be looked for in the body.
    pub(crate) fn limits_models(&self) -> bool {
        self.key.as_ref().is_some_and(|key| key.models.is_some())
    }

    /// Whether the key may ask all of these models.
    ///
    /// # Errors
    /// It may not ask one of them.
    pub(crate) fn check_models(&self, names: &[String]) -> Result<(), Refusal> {
        let models = self.key.as_ref().and_then(|key| key.models.as_ref());
        match models {
            Some(models) if !names.iter().all(|name| models.matches(name)) => {
                Err(Refusal::ModelNotAllowed)
            }
            _ => Ok(()),
        }
    }

    /// Puts the upstream's credential in the place of the client's key.
    ///
    /// # Errors
    /// The key has no credential for this provider.
    pub(crate) fn replace_credential(
        &self,
        provider: Provider,
        headers: &mut HeaderMap,
    ) -> Result<(), Refusal> {
        if self.key.is_some() {
            for name in OVERRIDES {
                headers.remove(name);
            }
        }
        let Some(key) = self.key.as_ref().filter(|_| self.replaces) else {
            return Ok(());
        };
        let credential = key
            .credentials
            .get(&provider)
            .ok_or(Refusal::NoCredential)?
            .reveal();
        for name in [header::AUTHORIZATION, ANTHROPIC_KEY, GOOGLE_KEY, AZURE_KEY] {
            headers.remove(name);
        }
        let (name, value) = match provider {
            Provider::Openai | Provider::Bedrock | Provider::Vertex | Provider::CodeAssist => {
                (header::AUTHORIZATION, format!("Bearer {credential}"))
            }
            Provider::Anthropic => (ANTHROPIC_KEY, credential.to_owned()),
            Provider::Gemini => (GOOGLE_KEY, credential.to_owned()),
            Provider::Azure => (AZURE_KEY, credential.to_owned()),
        };
        let mut value = HeaderValue::from_str(&value).map_err(|_| Refusal::NoCredential)?;
        value.set_sensitive(true);
        headers.insert(name, value);
        Ok(())
    }

    /// Whether the client's own credential goes to the upstream, also in the query.
    pub(crate) fn keeps_credential(&self) -> bool {
        !self.replaces
    }

    /// The query without the client's key.
    pub(crate) fn query(&self, query: Option<&str>) -> Option<String> {
        let query = query?;
        if !self.replaces {
            return Some(query.to_owned());
        }
        let kept: Vec<&str> = query
            .split('&')
            .filter(|pair| !pair.starts_with("key="))
            .collect();
        (!kept.is_empty()).then(|| kept.join("&"))
    }
}

/// One bucket a key: it holds a minute's worth of requests and fills evenly.
#[derive(Debug, Default)]
pub(crate) struct RateLimits {
    buckets: Mutex<HashMap<Arc<str>, (f64, Instant)>>,
}

impl RateLimits {
    fn take(&self, key: &ClientKey, now: Instant) -> Result<(), Refusal> {
        if key.requests_per_minute == 0 {
            return Ok(());
        }
        let size = f64::from(key.requests_per_minute);
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let (level, at) = buckets.entry(Arc::clone(&key.name)).or_insert((size, now));
        *level =
            (*level + now.saturating_duration_since(*at).as_secs_f64() * size / 60.0).min(size);
        *at = now;
        if *level < 1.0 {
            let wait = (1.0 - *level) * 60.0 / size;
            return Err(Refusal::RateLimited {
                retry_after_s: wait.ceil() as u64,
            });
        }
        *level -= 1.0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use std::time::Duration;

    fn key(per_minute: u32) -> ClientKey {
        ClientKey {
            name: "a".into(),
            sha256: Sha256::digest(b"sk-virtual").into(),
            workload: Arc::clone(
                Config::read("c", "", Path::new("."), &|_| None)
                    .unwrap()
                    .default_workload(),
            ),
            models: None,
            paths: crate::config::NamePatterns::default(),
            credentials: [(Provider::Anthropic, crate::config::Secret::new("real"))].into(),
            requests_per_minute: per_minute,
        }
    }

    #[test]
    fn a_bucket_holds_a_minute_and_fills_evenly() {
        let limits = RateLimits::default();
        let (key, now) = (key(60), Instant::now());
        for _ in 0..60 {
            limits.take(&key, now).unwrap();
        }
        assert_eq!(
            limits.take(&key, now),
            Err(Refusal::RateLimited { retry_after_s: 1 })
        );
        limits
            .take(&key, now + Duration::from_millis(1100))
            .unwrap();
        assert!(
            limits
                .take(&key, now + Duration::from_millis(1100))
                .is_err()
        );
    }

    #[test]
    fn a_key_is_found_wherever_clients_put_theirs() {
        let keys = [key(0)];
        for (name, value) in [
            ("authorization", "Bearer sk-virtual"),
            ("authorization", "bearer sk-virtual"),
            ("x-api-key", "sk-virtual"),
            ("x-goog-api-key", "sk-virtual"),
            ("api-key", "sk-virtual"),
            ("x-secateur-key", "sk-virtual"),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(name, HeaderValue::from_static(value));
            let (found, _) = presented(&headers, None).unwrap();
            assert!(find(&keys, found).is_some(), "{name}");
        }
        assert_eq!(
            presented(&HeaderMap::new(), Some("alt=sse&key=k"))
                .unwrap()
                .0,
            "k"
        );
        assert!(find(&keys, "sk-other").is_none());
        assert_eq!(hash_key("abc").len(), 64);
    }

    #[test]
    fn the_credential_takes_the_place_of_the_key() {
        let grant = Grant {
            key: Some(key(0)),
            replaces: true,
        };
        let mut headers = HeaderMap::new();
        headers.insert(
            "authorization",
            HeaderValue::from_static("Bearer sk-virtual"),
        );
        grant
            .replace_credential(Provider::Anthropic, &mut headers)
            .unwrap();
        assert!(!headers.contains_key("authorization"));
        assert_eq!(headers["x-api-key"], "real");
        assert_eq!(
            grant.replace_credential(Provider::Openai, &mut headers),
            Err(Refusal::NoCredential)
        );
        assert_eq!(
            grant.query(Some("key=sk-virtual&alt=sse")).as_deref(),
            Some("alt=sse")
        );
        assert_eq!(grant.query(Some("key=sk-virtual")), None);
    }
}
