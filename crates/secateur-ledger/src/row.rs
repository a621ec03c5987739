//! One request as the ledger keeps it. Holds no prompt text and no credential.

use serde::{Deserialize, Serialize};

use crate::alike::Alike;

/// Milliseconds since 1970-01-01 UTC.
pub type Millis = i64;

/// What one link of the chain decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepRow {
    /// `m1`, `m3`, `m7` or `m8`.
    pub mechanic: String,
    /// Why it did nothing; `None`: it fired.
    pub skipped: Option<String>,
}

/// What M3 did, where it fired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompressRow {
    /// Characters of the body as it came.
    pub chars_before: u64,
    /// Characters of the body as sent.
    pub chars_after: u64,
}

/// Tokens as the provider counted them. `input` includes what was read from and written to the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UsageRow {
    /// All input tokens.
    pub input: Option<u64>,
    /// Of these, read from the prompt cache.
    pub cache_read: Option<u64>,
    /// Of these, written to the prompt cache.
    pub cache_write: Option<u64>,
    /// Output tokens.
    pub output: Option<u64>,
}

/// What was predicted before sending and what it really cost. US dollars at list prices.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReceiptRow {
    /// Input tokens of the body as it came.
    pub predicted_tokens_before: Option<u64>,
    /// Input tokens of the body as sent.
    pub predicted_tokens_after: Option<u64>,
    /// Of these, what the provider was expected to read from its cache.
    pub predicted_cache_read: Option<u64>,
    /// Of these, what it was expected to write to it.
    pub predicted_cache_write: Option<u64>,
    /// Whether these were counted with the model's own vocabulary; else an estimate.
    pub tokens_are_exact: bool,
    /// Input cost had nothing been cut.
    pub predicted_usd_without: Option<f64>,
    /// Input cost of the body as sent.
    pub predicted_usd_with: Option<f64>,
    /// Further turns after which the cut has paid for the cache it broke.
    pub break_even_turns: Option<f64>,
    /// Date of the price table.
    pub price_date: Option<String>,
    /// By the provider's own counts, input and output.
    pub actual_usd: Option<f64>,
    /// By the provider's own counts, input alone.
    pub actual_input_usd: Option<f64>,
    /// Input tokens not sent, by the provider's own count of the rest.
    pub tokens_saved: Option<i64>,
    /// What these would have cost at the price that this request really paid for its input, less what
    /// the broken cache cost; negative where the cut cost more than it saved.
    pub saved_usd: Option<f64>,
}

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Row {
    /// The request's id, as in `x-secateur-request-id`. Unique: what is replayed with it is the same row.
    pub id: String,
    /// When it came in.
    pub at: Millis,
    /// The workload.
    pub workload: String,
    /// The client key's name.
    pub key: Option<String>,
    /// A stable hash of what identifies the conversation.
    pub session: Option<String>,
    /// Whose API.
    pub provider: String,
    /// The wire format; `None` for paths that are only passed through.
    pub dialect: Option<String>,
    /// The model that was asked for.
    pub model: Option<String>,
    /// The model that M1 chose instead.
    pub routed_to: Option<String>,
    /// The mechanics that fired, sorted and joined by `+`; empty: none.
    pub stack: String,
    /// The chain, link by link.
    pub steps: Vec<StepRow>,
    /// Why the original went out although a mechanic was on.
    pub failed_open: Option<String>,
    /// The stack that the provider rejected before the original was sent; empty: none.
    pub struck_stack: String,
    /// Whether `x-secateur-bypass` was set.
    pub bypassed: bool,
    /// Whether its session is kept unpruned for comparison.
    pub held_out: bool,
    /// Bytes of the body that came in.
    pub bytes_before: u64,
    /// Bytes of the body that went out.
    pub bytes_after: u64,
    /// Characters of the body that came in, where it was counted.
    pub chars_before: Option<u64>,
    /// Characters of the body that went out, where it was counted.
    pub chars_after: Option<u64>,
    /// Messages that came in.
    pub messages_before: Option<u64>,
    /// Messages that went out.
    pub messages_after: Option<u64>,
    /// Turns dropped by M7.
    pub turns_removed: u64,
    /// RAG chunks kept.
    pub rag_kept: u64,
    /// RAG chunks dropped.
    pub rag_dropped: u64,
    /// What M3 did; `None` unless it fired.
    pub compress: Option<CompressRow>,
    /// The byte of the first edit: the cached prefix survives up to here.
    pub first_edit_at: Option<u64>,
    /// The upstream's status; `None`: there was no response.
    pub upstream_status: Option<u16>,
    /// The status that the client got.
    pub status: u16,
    /// Whether the response was a stream of events.
    pub is_stream: bool,
    /// Bytes of the response.
    pub response_bytes: u64,
    /// Microseconds spent in the proxy before the request went out.
    pub added_us: u64,
    /// Microseconds from sending the request to the response's head.
    pub upstream_head_us: Option<u64>,
    /// Microseconds from the first byte in to the last byte out.
    pub total_us: u64,
    /// What the provider counted.
    pub usage: UsageRow,
    /// What it cost.
    pub receipt: ReceiptRow,
    /// How it ended.
    pub ended: String,
    /// What was cut and left, by whom and why: the engine's report as JSON.
    pub plan: Option<String>,
}

impl Row {
    /// Whether a mechanic looked at it: else there is nothing to say.
    pub(crate) fn has_change(&self) -> bool {
        let receipt = &self.receipt;
        !self.steps.is_empty()
            || self.turns_removed + self.rag_kept + self.rag_dropped > 0
            || self.compress.is_some()
            || [
                self.chars_before,
                self.chars_after,
                self.messages_before,
                self.messages_after,
                self.first_edit_at,
                receipt.predicted_tokens_before,
                receipt.predicted_tokens_after,
                receipt.predicted_cache_read,
                receipt.predicted_cache_write,
            ]
            .iter()
            .any(Option::is_some)
            || receipt.tokens_saved.is_some()
            || [
                receipt.predicted_usd_without,
                receipt.predicted_usd_with,
                receipt.break_even_turns,
                receipt.saved_usd,
            ]
            .iter()
            .any(Option::is_some)
    }

    /// What it has in common with others.
    pub(crate) fn alike(&self) -> Alike<'_> {
        Alike {
            status: self.status,
            upstream_status: self.upstream_status,
            is_stream: self.is_stream,
            held_out: self.held_out,
            bypassed: self.bypassed,
            tokens_are_exact: self.receipt.tokens_are_exact,
            workload: &self.workload,
            model: self.model.as_deref(),
            stack: &self.stack,
            provider: &self.provider,
            dialect: self.dialect.as_deref(),
            key: self.key.as_deref(),
            ended: &self.ended,
            routed_to: self.routed_to.as_deref(),
            failed_open: self.failed_open.as_deref(),
            struck_stack: &self.struck_stack,
            price_date: self.receipt.price_date.as_deref(),
        }
    }
}
