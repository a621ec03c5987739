//! Whose a client's credential is, where it shows.
//!
//! Clients are set up by hand, and a base URL is easily swapped with another one's. The built-in upstreams are the
//! providers' own hosts, so what shows to be another provider's credential is not sent there. Configured upstreams may take
//! whatever they take.

use http::{HeaderMap, HeaderName, header};

use crate::access::{ANTHROPIC_KEY, AZURE_KEY, GOOGLE_KEY};
use crate::config::Provider;
use crate::error_shape::Refusal;

/// How credentials begin.
const STARTS: [(&str, Provider); 5] = [
    ("sk-ant-", Provider::Anthropic),
    ("sk-proj-", Provider::Openai),
    ("sk-svcacct-", Provider::Openai),
    ("AIza", Provider::Gemini),
    ("ya29.", Provider::Gemini),
];

/// Whether the credentials of a request may go to a provider's own host.
///
/// # Errors
/// One of them shows to be another provider's.
pub(crate) fn check_owner(headers: &HeaderMap, provider: Provider) -> Result<(), Refusal> {
    let names = [header::AUTHORIZATION, ANTHROPIC_KEY, GOOGLE_KEY];
    let values = names.iter().flat_map(|name| headers.get_all(name));
    for text in values.filter_map(|value| value.to_str().ok()) {
        let credential = match text.split_once(' ') {
            Some((_, token)) => token.trim_start(),
            None => text,
        };
        let owner = STARTS
            .iter()
            .find(|(start, _)| credential.starts_with(start));
        match owner {
            Some(&(_, owner)) if owner != provider => {
                return Err(Refusal::ForeignCredential { owner, provider });
            }
            _ => {}
        }
    }
    Ok(())
}

/// Takes out the headers in which only other providers look for a credential.
pub(crate) fn drop_foreign(headers: &mut HeaderMap, provider: Provider) {
    let owners: [(HeaderName, Provider); 3] = [
        (ANTHROPIC_KEY, Provider::Anthropic),
        (GOOGLE_KEY, Provider::Gemini),
        (AZURE_KEY, Provider::Azure),
    ];
    for (name, owner) in owners {
        if owner != provider {
            headers.remove(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_goes_to_no_other_providers_host() {
        use Provider::{Anthropic, Gemini, Openai};
        for (name, value, provider, owner) in [
            (
                "authorization",
                "Bearer sk-ant-oat01-x",
                Openai,
                Some(Anthropic),
            ),
            ("authorization", "Bearer sk-ant-oat01-x", Anthropic, None),
            ("authorization", "Bearer sk-proj-x", Openai, None),
            ("authorization", "Bearer sk-proj-x", Gemini, Some(Openai)),
            ("authorization", "Bearer ya29.x", Openai, Some(Gemini)),
            ("x-api-key", "AIzax", Anthropic, Some(Gemini)),
            ("authorization", "Bearer anything", Openai, None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            let expected = match owner {
                Some(owner) => Err(Refusal::ForeignCredential { owner, provider }),
                None => Ok(()),
            };
            assert_eq!(check_owner(&headers, provider), expected, "{value}");
        }
    }

    #[test]
    fn headers_of_other_providers_stay_behind() {
        let mut headers = HeaderMap::new();
        for name in ["x-api-key", "x-goog-api-key", "api-key", "authorization"] {
            headers.insert(name, "x".parse().unwrap());
        }
        drop_foreign(&mut headers, Provider::Anthropic);
        let mut names: Vec<&str> = headers.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["authorization", "x-api-key"]);
    }
}
