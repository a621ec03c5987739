//! The metrics by name, with their labels.

use std::borrow::Cow;
use std::sync::atomic::AtomicU64;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::{Family, MetricConstructor};
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// Names and values of the labels of one series.
pub(super) type Labels<const N: usize> = [(&'static str, Cow<'static, str>); N];

/// Copies the values.
pub(super) fn labels<const N: usize>(of: [(&'static str, &str); N]) -> Labels<N> {
    of.map(|(name, value)| (name, Cow::Owned(value.to_owned())))
}

type Count<const N: usize> = Family<Labels<N>, Counter>;
type Usd<const N: usize> = Family<Labels<N>, Counter<f64, AtomicU64>>;
type Net<const N: usize> = Family<Labels<N>, Gauge<f64, AtomicU64>>;
type Seconds<const N: usize> = Family<Labels<N>, Histogram, Buckets>;

/// Upper bounds of the buckets of a histogram, in seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Buckets(&'static [f64]);

impl MetricConstructor<Histogram> for Buckets {
    fn new_metric(&self) -> Histogram {
        Histogram::new(self.0.iter().copied())
    }
}

/// What the proxy takes.
const ADDED: Buckets = Buckets(&[
    0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.05, 0.1, 0.3, 1.0,
]);
/// What a model takes.
const UPSTREAM: Buckets = Buckets(&[
    0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0,
]);

macro_rules! families {
    ($($field:ident: $kind:ty = $make:expr, $name:literal, $help:literal;)*) => {
        /// See the module. The library adds `_total` to the names of counters.
        #[derive(Debug)]
        pub(super) struct Families {
            $(pub(super) $field: $kind,)*
        }

        /// All names, for the test that finds them in the documentation.
        #[cfg(test)]
        pub(super) const NAMES: &[&str] = &[$($name),*];

        impl Families {
            pub(super) fn register(registry: &mut Registry) -> Self {
                let registry = registry.sub_registry_with_prefix("secateur");
                let families = Self { $($field: $make,)* };
                $(registry.register($name, $help, families.$field.clone());)*
                families
            }
        }
    };
}

families! {
    requests: Count<5> = Family::default(), "requests",
        "Requests by workload, client key, dialect, status and end";
    in_flight: Gauge = Gauge::default(), "in_flight_requests",
        "Requests that are being processed";
    added_latency: Seconds<1> = Family::new_with_constructor(ADDED), "added_latency_seconds",
        "Time in the proxy before a request was sent to the upstream";
    first_byte: Seconds<2> = Family::new_with_constructor(UPSTREAM), "upstream_first_byte_seconds",
        "From sending a request to the first byte of its response";
    upstream: Seconds<2> = Family::new_with_constructor(UPSTREAM), "upstream_latency_seconds",
        "From sending a request to the last byte of its response";
    response_bytes: Count<1> = Family::default(), "response_bytes",
        "Bytes of responses";
    upstream_errors: Count<2> = Family::default(), "upstream_errors",
        "Upstream responses of 500 and above, and requests without a complete response";
    unknown_workloads: Count<1> = Family::default(), "unknown_workloads",
        "Requests that named a workload that the configuration does not have";
    no_workload: Count<1> = Family::default(), "no_workload",
        "Requests that named no workload and passed untouched, while other workloads change requests";
    mechanics_applied: Count<2> = Family::default(), "mechanics_applied",
        "Requests that a mechanic changed";
    skips: Count<3> = Family::default(), "skips",
        "Requests that a mechanic left alone, and why";
    plan_skips: Count<2> = Family::default(), "plan_skips",
        "Turns and parts that a strategy left alone, and why";
    failed_open: Count<2> = Family::default(), "failed_open",
        "Requests whose original was sent although a mechanic was on, and why";
    retried_original: Count<2> = Family::default(), "retried_original",
        "Requests whose changed body the provider rejected, by the stack that was rejected";
    chars_saved: Count<1> = Family::default(), "chars_saved",
        "Characters that were not sent";
    tokens_saved: Count<1> = Family::default(), "tokens_saved",
        "Input tokens that were not sent, at each request's own ratio of tokens to characters";
    tokens: Count<4> = Family::default(), "tokens",
        "Tokens that providers counted, by kind";
    billed_usd: Usd<3> = Family::default(), "billed_usd",
        "The providers' counts at list prices, in US dollars";
    saved_usd: Net<3> = Family::default(), "saved_usd_total",
        "What changes saved, in US dollars; it falls where a change cost more than it saved";
    spent_usd: Usd<2> = Family::default(), "spent_usd",
        "What the proxy's own calls cost, in US dollars: net is saved less spent";
    priced: Count<1> = Family::default(), "priced_requests",
        "Requests with a known cost, which are the ones in the dollars";
    unpriced: Count<1> = Family::default(), "unpriced_requests",
        "Answers whose cost is unknown: no price for the model, or no token counts";
    cache_misses: Count<2> = Family::default(), "cache_misses",
        "Requests that read clearly less from the provider's cache than predicted, by cause";
    implausible_usage: Count<1> = Family::default(), "implausible_usage",
        "Responses whose token counts cannot be true";
    shadow_calls: Count<3> = Family::default(), "shadow_calls",
        "Requests that were sampled to be sent unchanged too, and the result";
    scores: Count<3> = Family::default(), "canary_scores",
        "Scores by workload, stack and scorer; the stack `original` compares originals with themselves";
    score_sum: Usd<3> = Family::default(), "canary_score_sum",
        "The sum of these scores; divided by their number it is the mean";
    rollbacks: Count<2> = Family::default(), "stack_rollbacks",
        "Automatic rollbacks";
    warnings: Count<3> = Family::default(), "stack_warnings",
        "Warnings by workload, stack and signal";
    summaries: Count<2> = Family::default(), "summaries",
        "Requests that needed a summary by a model, and the outcome";
    summary_calls: Count<2> = Family::default(), "summary_calls",
        "Calls for summaries";
    summary_tokens: Count<2> = Family::default(), "summary_tokens",
        "Tokens that providers counted for summaries";
    captured_texts: Count<2> = Family::default(), "captured_texts",
        "Removed texts that were to be kept, and the result";
    connections: Gauge = Gauge::default(), "connections",
        "Open client connections";
    connections_refused: Count<1> = Family::default(), "connections_refused",
        "Connections beyond the limits or without a request, by reason";
    config_reloads: Count<1> = Family::default(), "config_reloads",
        "Configuration files that were taken over or refused";
}
