//! Where requests go.

use std::collections::BTreeMap;

use http::Uri;

use super::Provider;

/// A base URL per provider; some have none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upstreams(BTreeMap<Provider, Base>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Base {
    url: Uri,
    /// Whether the configuration says nothing about it.
    is_built_in: bool,
}

impl Default for Upstreams {
    fn default() -> Self {
        let built_in = |provider: Provider| {
            let url = Uri::from_static(provider.built_in_base()?);
            let is_built_in = true;
            Some((provider, Base { url, is_built_in }))
        };
        Self(Provider::ALL.into_iter().filter_map(built_in).collect())
    }
}

impl Upstreams {
    /// The base URL for a provider; `None`: the configuration has none.
    #[must_use]
    pub fn of(&self, provider: Provider) -> Option<&Uri> {
        self.0.get(&provider).map(|base| &base.url)
    }

    /// Whether a provider's requests go where they go without any configuration.
    #[must_use]
    pub fn is_built_in(&self, provider: Provider) -> bool {
        self.0.get(&provider).is_some_and(|base| base.is_built_in)
    }

    /// Another base URL for a provider.
    pub fn set(&mut self, provider: Provider, url: Uri) {
        let is_built_in = false;
        self.0.insert(provider, Base { url, is_built_in });
    }

    /// The providers that have a base URL, with it.
    pub fn all(&self) -> impl Iterator<Item = (Provider, &Uri)> {
        self.0.iter().map(|(provider, base)| (*provider, &base.url))
    }
}
