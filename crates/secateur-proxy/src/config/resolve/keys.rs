//! Client keys and the credentials that stand behind them.

use std::collections::BTreeMap;
use std::sync::Arc;

use hex::FromHex;
use secateur_core::policy::did_you_mean;
use toml::Spanned;

use super::Reader;
use crate::config::error::ConfigError;
use crate::config::file::RawKey;
use crate::config::{ClientKey, NamePatterns, Secret, Workload};

impl Reader<'_> {
    pub(super) fn key(
        &self,
        raw: RawKey,
        workloads: &BTreeMap<String, Arc<Workload>>,
    ) -> Result<ClientKey, ConfigError> {
        let sha256 = digest(raw.sha256.get_ref()).ok_or_else(|| {
            self.wrong(
                &raw.sha256.span(),
                "key.sha256: expected 64 hexadecimal digits, the SHA-256 of the key",
            )
        })?;
        let workload = self.workload_of_key(&raw, workloads)?;
        let models = match raw.models {
            Some(models) if models.get_ref().iter().any(String::is_empty) => {
                let words = "key.models: expected names of models, like \"gpt-5\" or \"claude-*\"";
                return Err(self.wrong(&models.span(), words));
            }
            Some(models) => Some(NamePatterns::new(models.into_inner())),
            None => None,
        };
        for path in &raw.paths {
            if !path.get_ref().starts_with('/') {
                let words = "key.paths: expected paths, like \"/v1/embeddings\" or \"/v1/files/*\"";
                return Err(self.wrong(&path.span(), words));
            }
        }
        let paths = NamePatterns::new(raw.paths.into_iter().map(Spanned::into_inner));
        let credentials = raw.credential_env.iter();
        let credentials =
            credentials.map(|(&provider, variable)| Ok((provider, self.secret(variable)?)));
        Ok(ClientKey {
            name: raw.name.into_inner().into(),
            sha256,
            workload,
            credentials: credentials.collect::<Result<_, ConfigError>>()?,
            models,
            paths,
            requests_per_minute: raw.requests_per_minute,
        })
    }

    fn workload_of_key(
        &self,
        raw: &RawKey,
        workloads: &BTreeMap<String, Arc<Workload>>,
    ) -> Result<Arc<Workload>, ConfigError> {
        let Some(name) = &raw.workload else {
            let words = format!(
                "the key `{}` names no workload, so its holder could read what was kept of any: add workload = \"…\"",
                raw.name.get_ref()
            );
            return Err(self.wrong(&raw.name.span(), words));
        };
        workloads.get(name.get_ref()).cloned().ok_or_else(|| {
            let known = workloads.keys().map(String::as_str);
            let words = format!(
                "key.workload: there is no workload `{}`: {}",
                name.get_ref(),
                did_you_mean(name.get_ref(), known)
            );
            self.wrong(&name.span(), words)
        })
    }

    pub(in crate::config) fn secret(
        &self,
        variable: &Spanned<String>,
    ) -> Result<Secret, ConfigError> {
        match (self.env)(variable.get_ref()) {
            Some(value) if http::HeaderValue::from_str(&value).is_ok() && !value.is_empty() => {
                Ok(Secret::new(&value))
            }
            Some(_) => Err(self.wrong(
                &variable.span(),
                "the environment variable does not hold a credential",
            )),
            None => Err(self.wrong(
                &variable.span(),
                format!(
                    "the environment variable `{}` is not set",
                    variable.get_ref()
                ),
            )),
        }
    }
}

fn digest(digits: &str) -> Option<[u8; 32]> {
    <[u8; 32]>::from_hex(digits).ok()
}
