//! Evidence from the chunk before and the chunk behind, when both come from the same document.

use crate::Chunk;

/// For each chunk, the better score of its two neighbours that carry the same title.
/// Chunks without titles count as one document cut in order.
pub(crate) fn best_beside(chunks: &[Chunk<'_>], scores: &[f32]) -> Vec<f32> {
    let same = |a: usize, b: usize| chunks[a].title == chunks[b].title;
    (0..chunks.len())
        .map(|i| {
            let before = if i > 0 && same(i, i - 1) {
                scores[i - 1]
            } else {
                0.0
            };
            let after = if i + 1 < chunks.len() && same(i, i + 1) {
                scores[i + 1]
            } else {
                0.0
            };
            before.max(after)
        })
        .collect()
}
