//! One request as the ledger keeps it. Holds no prompt text and no credential.

use serde::{Deserialize, Serialize};

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
    pub billed_usd: Option<f64>,
    /// By the provider's own counts, input alone.
    pub billed_input_usd: Option<f64>,
    /// Input tokens not sent, by the provider's own count of the rest.
    pub tokens_saved: Option<i64>,
    /// What these would have cost at the price that this request really paid for its input, less what
    /// the broken cache cost; negative where the cut cost more than it saved.
    pub saved_usd: Option<f64>,
}

/// One request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Row {
    /// The request's id, as in `x-secateur-request-id`. Unique: what is replayed with it is the same row. It begins with
    /// [`id_time`] of `at`: rows are listed, filtered by time and removed in the order of their ids.
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
    /// Whether the list filter for trouble finds it: the client got an error or nothing, the original went out in doubt, or
    /// the provider rejected what was changed.
    #[must_use]
    pub fn is_trouble(&self) -> bool {
        self.is_error() || self.failed_open.is_some() || !self.struck_stack.is_empty()
    }

    /// Whether the client got an error, or nothing (0).
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.status >= 400 || self.status == 0
    }

    /// Whether a model answered and the cost is unknown: the model has no price, or the provider counted no tokens.
    #[must_use]
    pub fn is_unpriced(&self) -> bool {
        self.dialect.is_some() && !self.is_error() && self.receipt.billed_usd.is_none()
    }

    /// Whether no mechanic touched it: it went out as it came, and none failed or was rejected on the way.
    #[must_use]
    pub fn is_passed_through(&self) -> bool {
        self.stack.is_empty() && self.struck_stack.is_empty() && self.failed_open.is_none()
    }
}

/// Hexadecimal digits of the time in an id.
const TIME_DIGITS: usize = 11;
/// The last moment that these can hold, in the year 2527.
pub(crate) const LAST_TIME: Millis = (1 << (4 * TIME_DIGITS)) - 1;

/// What the id of a request of this time begins with: milliseconds since 1970 in 11 hexadecimal digits, so that ids sort
/// by time.
#[must_use]
pub fn id_time(at: Millis) -> String {
    format!("{:0TIME_DIGITS$x}", at.clamp(0, LAST_TIME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_sort_by_time() {
        let times = [-5, 0, 1, 1_794_787_200_000, LAST_TIME - 1, LAST_TIME];
        let ids = times.map(id_time);
        assert!(ids.is_sorted() && ids.iter().all(|id| id.len() == TIME_DIGITS));
        assert_eq!(id_time(i64::MAX), id_time(LAST_TIME));
    }

    #[test]
    fn an_answer_without_a_price_is_unpriced_and_an_error_is_not() {
        let answered = Row {
            dialect: Some("openai-chat".into()),
            status: 200,
            ..Row::default()
        };
        assert!(answered.is_unpriced());
        let changes: [fn(&mut Row); 4] = [
            |row| row.receipt.billed_usd = Some(0.0),
            |row| row.status = 429,
            |row| row.status = 0,
            |row| row.dialect = None,
        ];
        for change in changes {
            let mut row = answered.clone();
            change(&mut row);
            assert!(!row.is_unpriced(), "{row:?}");
        }
    }
}
