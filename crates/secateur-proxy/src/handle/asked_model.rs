//! The model that a body asks, where the client's key may ask some models only.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;

use super::forwarding::Forwarding;
use crate::limits::OverBudget;
use crate::mechanic::models_in_body;
use crate::refusal::Refusal;
use crate::shared::Shared;
use crate::wire::encoding::{DecodeError, Encoding, decode_watched};

/// Checks the models that a body names against the key's list. A body that names none passes only on paths that the
/// key lists itself, such as those of files.
///
/// # Errors
/// The key may not ask one of them, or which one it asks cannot be told.
pub(super) async fn check_asked_model(
    shared: &Arc<Shared>,
    forwarding: &Forwarding,
    body: &Bytes,
) -> Result<(), Refusal> {
    let workload = &forwarding.workload;
    let (budget, started) = (workload.budget, Instant::now());
    let slot = shared
        .slots
        .acquire(&workload.name, budget.for_bytes(body.len()));
    let slot = slot.await.ok_or(Refusal::NoRoom)?;
    let encoding = Encoding::of(&forwarding.head.headers);
    let (body, max_bytes) = (body.clone(), forwarding.config.max_body_bytes);
    let byte_budget = Arc::clone(&shared.byte_budget);
    let reading = tokio::task::spawn_blocking(move || {
        let _slot = slot;
        if encoding == Encoding::Identity {
            return Ok(models_in_body(&body));
        }
        let mut reservation = byte_budget.reserve();
        let mut watch = |bytes: usize| {
            if started.elapsed() > budget.for_bytes(bytes) * 2 {
                return Err(DecodeError::OverTime);
            }
            let grown = reservation.grow_to(bytes);
            grown.map_err(|OverBudget| DecodeError::NoRoom)
        };
        let decoded = decode_watched(encoding, &body, max_bytes, &mut watch)?;
        Ok(models_in_body(&decoded))
    });
    let asked = match reading.await {
        Ok(Ok(asked)) => asked,
        Ok(Err(DecodeError::NoRoom | DecodeError::OverTime)) => return Err(Refusal::NoRoom),
        Ok(Err(_)) | Err(_) => None,
    };
    match asked {
        Some(names) if !names.is_empty() => forwarding.grant.check_models(&names),
        _ if !forwarding.route.is_for_models => Ok(()),
        _ => Err(Refusal::ModelUnreadable),
    }
}
