//! Blocks of a body that another thread hashes.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use secateur_core::Dialect;
use secateur_core::cost::Terms;
use secateur_core::cost::cache::BlockList;
use secateur_core::internal::json::{Cursor, JsonError, Limits};
use tokio::sync::OwnedSemaphorePermit;

/// A request with more blocks is not remembered.
const MAX_BLOCKS: usize = 1 << 14;

/// The blocks of one incoming body, once they are there.
#[derive(Clone, Debug, Default)]
pub(crate) struct PendingBlocks(Arc<OnceLock<BlockList>>);

impl PendingBlocks {
    pub(super) fn start(
        permit: OwnedSemaphorePermit,
        body: Bytes,
        dialect: Dialect,
        path_model: Option<String>,
    ) -> Self {
        let pending = Self::default();
        let slot = Arc::clone(&pending.0);
        tokio::task::spawn_blocking(move || {
            let _permit = permit;
            if let Some(list) = blocks_of(&body, dialect, path_model) {
                // Nobody else fills it.
                let _ = slot.set(list);
            }
        });
        pending
    }

    /// `None`: not ready, not wanted, or no body to speak of.
    pub(crate) fn get(&self) -> Option<&BlockList> {
        self.0.get()
    }
}

/// The blocks of a body, without the markers of its model's kind of cache.
pub(super) fn blocks_of(
    body: &[u8],
    dialect: Dialect,
    path_model: Option<String>,
) -> Option<BlockList> {
    let model = path_model.or_else(|| model_of(body));
    let kind = Terms::of(model.as_deref(), Some(dialect)).rules.kind;
    let list = BlockList::of(body, dialect, kind).ok()?;
    (list.blocks.len() <= MAX_BLOCKS).then_some(list)
}

fn model_of(body: &[u8]) -> Option<String> {
    let mut cursor = Cursor::new(body, &Limits::default()).ok()?;
    let text = cursor.body();
    let mut model = None;
    let read = cursor.object(|cursor, key| {
        if key.is(text, "model") {
            model = cursor
                .string_or_skip()?
                .map(|name| name.decode(text).into_owned());
        } else {
            cursor.skip()?;
        }
        Ok::<_, JsonError>(())
    });
    read.ok().and(model)
}
