//! Who may read the metrics and the status.

use http::Request;

use crate::access::Grant;
use crate::config::Config;
use crate::own_names::{host_of, is_known_host};
use crate::shared::Shared;

/// Anybody on this machine, or anybody with a client key. A page under another name that resolves to this machine is not on it.
pub(super) fn may_read_metrics<B>(shared: &Shared, config: &Config, request: &Request<B>) -> bool {
    let (headers, uri) = (request.headers(), request.uri());
    if config.is_loopback() {
        let portal = config.portal.as_ref();
        let names = portal.map_or(&[][..], |portal| &portal.hosts);
        if is_known_host(host_of(headers, uri), true, names) {
            return true;
        }
        if config.keys.is_empty() {
            return false;
        }
    }
    Grant::of(config, headers, uri.query(), &shared.limits).is_ok()
}
