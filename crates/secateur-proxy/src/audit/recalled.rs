//! What the process remembers of a conversation, for the event of one of its requests.

use std::time::Duration;

use secateur_core::cost::cache::Life;

use super::ChangedPlace;

/// A change that the client made to what it had sent before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClientChange {
    /// The first place that differs.
    pub place: ChangedPlace,
    /// The share of the incoming prompt before it, in bytes.
    pub share_before: f64,
}

/// What is known of a request from the earlier ones of its conversation. Empty after a restart.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Recalled {
    /// From the start of the request before to the start of this one.
    pub idle: Option<Duration>,
    /// The lifetime that the last marker of the request asks for, where its blocks were read.
    pub life: Option<Life>,
    /// What the client changed since the request before.
    pub change: Option<ClientChange>,
    /// Characters of a body for each token that the provider billed, learned from earlier requests.
    pub chars_per_token: Option<f64>,
}
