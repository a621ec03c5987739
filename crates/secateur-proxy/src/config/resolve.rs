//! From the file as written to the configuration as used.

mod keys;
mod storage;
mod upstreams;
mod workload;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use secateur_canary::WatchedWorkload;
use secateur_core::policy::{meant, plain_words};
use toml::Spanned;

use super::error::ConfigError;
use super::file::{File, RawTimeouts};
use super::{
    ClientKey, Config, DEFAULT_WORKLOAD, LedgerConfig, Otlp, Secret, SummaryStore, Timeouts,
    Upstreams, Workload,
};
use crate::config::SummaryBudget;
use crate::limits::TimeBudget;

pub(super) struct Reader<'r> {
    name: &'r str,
    text: &'r str,
    pub(super) folder: &'r Path,
    pub(super) env: &'r dyn Fn(&str) -> Option<String>,
    files: RefCell<Vec<PathBuf>>,
}

pub(super) fn resolve(
    name: &str,
    text: &str,
    folder: &Path,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<Config, ConfigError> {
    let (reader, file) = parse(name, text, folder, env)?;
    reader.config(file)
}

/// The ledger's address alone: whoever reads it needs no credentials of providers and no policies.
pub(super) fn resolve_ledger_url(
    name: &str,
    text: &str,
    folder: &Path,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<Secret, ConfigError> {
    let (reader, file) = parse(name, text, folder, env)?;
    if file.ledger.is_off_without_address() {
        let words =
            "this configuration keeps no ledger ([ledger] enabled = false): name one with --ledger";
        return Err(ConfigError::at(name, text, None, words));
    }
    reader.ledger_url(&file.ledger)
}

fn parse<'r>(
    name: &'r str,
    text: &'r str,
    folder: &'r Path,
    env: &'r dyn Fn(&str) -> Option<String>,
) -> Result<(Reader<'r>, File), ConfigError> {
    let file = toml::from_str(text).map_err(|error| {
        let at = error.span().map(|span| span.start);
        let plain = plain_words(error.message());
        let message = match meant(error.message()) {
            Some(hint) => format!("{plain}: {hint}"),
            None => plain,
        };
        ConfigError::at(name, text, at, message)
    })?;
    let reader = Reader {
        name,
        text,
        folder,
        env,
        files: RefCell::default(),
    };
    Ok((reader, file))
}

/// What is wrong where cuts are to be kept, and there is no ledger for them or no key to keep them under.
fn cannot_capture(
    workloads: &BTreeMap<String, Arc<Workload>>,
    ledger: Option<&LedgerConfig>,
) -> Option<String> {
    let needs = match ledger {
        None => "the ledger: [ledger] says enabled = false",
        Some(ledger) if ledger.capture_key.is_none() => "a key: set [ledger] capture_key_env",
        Some(_) => return None,
    };
    let mut all = workloads.values();
    let capturing = all.find(|workload| workload.capture.is_some())?;
    Some(format!("workload.{}.capture needs {needs}", capturing.name))
}

/// What is wrong where two keys are one: it would belong to one workload or the other, and share a rate.
fn same_keys(keys: &[ClientKey]) -> Option<String> {
    keys.iter().enumerate().find_map(|(at, key)| {
        let mut others = keys.iter().skip(at + 1);
        let other = others.find(|other| other.name == key.name || other.sha256 == key.sha256)?;
        Some(match other.name == key.name {
            true => format!("two keys have the name `{}`", key.name),
            false => format!("the keys `{}` and `{}` are the same", key.name, other.name),
        })
    })
}

/// What one address may take, so that it cannot take everything.
fn most_of(max_connections: usize) -> usize {
    (max_connections * 3 / 4).max(1)
}

impl Reader<'_> {
    pub(super) fn wrong(&self, span: &Range<usize>, message: impl Into<String>) -> ConfigError {
        ConfigError::at(self.name, self.text, Some(span.start), message)
    }

    fn config(&self, file: File) -> Result<Config, ConfigError> {
        let listen = match &file.listen {
            Some(listen) => listen.get_ref().parse().map_err(|_| {
                self.wrong(
                    &listen.span(),
                    "listen: expected an address and a port, like \"127.0.0.1:8787\"",
                )
            })?,
            None => SocketAddr::from(([127, 0, 0, 1], 8787)),
        };
        let upstreams = self.upstreams(&file.upstream, &Upstreams::default())?;
        let names_workloads = !file.workload.is_empty();
        let mut workloads = BTreeMap::new();
        for (name, raw) in file.workload {
            let span = name.span();
            let name = name.into_inner();
            if name.is_empty()
                || !name
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
            {
                return Err(self.wrong(
                    &span,
                    "a workload's name has letters, digits, `-`, `_` and `.` only",
                ));
            }
            let workload = self.workload(&name, raw, &upstreams)?;
            workloads.insert(name, Arc::new(workload));
        }
        let default = workloads
            .entry(DEFAULT_WORKLOAD.to_owned())
            .or_insert_with(|| {
                Arc::new(Workload {
                    name: DEFAULT_WORKLOAD.into(),
                    provider: None,
                    upstreams,
                    policy: None,
                    routes: None,
                    schema: None,
                    budget: TimeBudget::default(),
                    retry_original: true,
                    canary: Arc::new(WatchedWorkload {
                        name: DEFAULT_WORKLOAD.into(),
                        holdout_pct: 0.0,
                        options: Arc::default(),
                    }),
                    capture: None,
                    summary: SummaryBudget::default(),
                })
            });
        let default = Arc::clone(default);
        let keys = file.key.into_iter().map(|key| self.key(key, &workloads));
        let keys = keys.collect::<Result<Vec<_>, _>>()?;
        if let Some(words) = same_keys(&keys) {
            return Err(ConfigError::at(self.name, self.text, None, words));
        }
        let otlp = match file.otlp {
            Some(otlp) => Some(Otlp {
                endpoint: self.url(&otlp.endpoint)?,
                headers: otlp
                    .header_env
                    .iter()
                    .map(|(name, variable)| Ok((name.clone(), self.secret(variable)?)))
                    .collect::<Result<_, ConfigError>>()?,
            }),
            None => None,
        };
        let ledger = self.ledger(file.ledger)?;
        if let Some(words) = cannot_capture(&workloads, ledger.as_ref()) {
            return Err(ConfigError::at(self.name, self.text, None, words));
        }
        let http2_hosts = self.http2_hosts(&file.upstream, &workloads)?;
        let max_connections = self.at_least_one(file.max_connections, 10_000)?;
        Ok(Config {
            listen,
            log: file.log,
            max_body_bytes: self.at_least_one(file.max_body_mb, 32)? << 20,
            max_buffered_bytes: self.at_least_one(file.max_buffered_mb, 1024)? << 20,
            max_connections,
            max_connections_per_address: self
                .at_least_one(file.max_connections_per_address, most_of(max_connections))?,
            timeouts: self.timeouts(&file.timeouts)?,
            workloads,
            keys,
            otlp,
            ledger,
            portal: self.portal(file.portal)?,
            extra_roots: self.roots(&file.upstream)?,
            http2_hosts,
            summaries: SummaryStore {
                folder: file.summaries.folder.map(|folder| self.folder.join(folder)),
                max_bytes: self.at_least_one(file.summaries.max_mb, 64)? << 20,
            },
            files: self.files.take(),
            default,
            names_workloads,
        })
    }

    fn at_least_one(
        &self,
        value: Option<Spanned<usize>>,
        default: usize,
    ) -> Result<usize, ConfigError> {
        match value {
            Some(value) if !(1..=1 << 20).contains(value.get_ref()) => {
                Err(self.wrong(&value.span(), "expected a number from 1 to 1048576"))
            }
            Some(value) => Ok(value.into_inner()),
            None => Ok(default),
        }
    }

    fn timeouts(&self, raw: &RawTimeouts) -> Result<Timeouts, ConfigError> {
        let seconds = |key: &str, value: f64| {
            Duration::try_from_secs_f64(value)
                .ok()
                .filter(|_| value > 0.0)
                .ok_or_else(|| {
                    let at = self.text.find(key);
                    ConfigError::at(
                        self.name,
                        self.text,
                        at,
                        format!("{key}: expected seconds above 0"),
                    )
                })
        };
        Ok(Timeouts {
            connect: seconds("connect_s", raw.connect_s)?,
            response_head: seconds("response_head_s", raw.response_head_s)?,
            response_idle: seconds("response_idle_s", raw.response_idle_s)?,
            request_head: seconds("request_head_s", raw.request_head_s)?,
            response_write: seconds("response_write_s", raw.response_write_s)?,
            min_bytes_per_s: raw.min_bytes_per_s,
            request_idle: seconds("request_idle_s", raw.request_idle_s)?,
            shutdown: seconds("shutdown_s", raw.shutdown_s)?,
        })
    }

    /// Reads another file and remembers that it was read.
    fn file(&self, file: &Spanned<PathBuf>) -> Result<(PathBuf, String), ConfigError> {
        let path = self.folder.join(file.get_ref());
        let text = std::fs::read_to_string(&path)
            .map_err(|error| self.wrong(&file.span(), format!("{}: {error}", path.display())))?;
        self.files.borrow_mut().push(path.clone());
        Ok((path, text))
    }
}

#[cfg(test)]
mod tests;
