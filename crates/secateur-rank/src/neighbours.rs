//! Evidence from the chunk before and the chunk after, when both come from the same document.

use std::collections::HashMap;

use crate::Chunk;

/// For each chunk, the better score of its two neighbours that carry the same title.
///
/// Chunks without titles count as one document cut in order. Chunks of one title count only if all of them are
/// adjacent: where they are apart, their order is that of a search, and two are side by side by chance.
pub(crate) fn best_beside(chunks: &[Chunk<'_>], scores: &[f32]) -> Vec<f32> {
    let same = |a: usize, b: usize| chunks[a].title == chunks[b].title;
    let mut runs: HashMap<&str, u32> = HashMap::new();
    for together in chunks.chunk_by(|one, next| one.title == next.title) {
        if let Some(title) = together.first().and_then(|chunk| chunk.title) {
            *runs.entry(title).or_default() += 1;
        }
    }
    let together = |at: usize| {
        let title = chunks[at].title;
        title.is_none_or(|title| runs.get(title) == Some(&1))
    };
    let score = |at: usize, beside: Option<usize>| {
        let beside = beside.filter(|&other| other < chunks.len() && same(at, other));
        beside.map_or(0.0, |other| scores[other])
    };
    (0..chunks.len())
        .map(|at| match together(at) {
            true => score(at, at.checked_sub(1)).max(score(at, Some(at + 1))),
            false => 0.0,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_count_within_a_document_that_is_in_one_piece() {
        let chunk = |title| Chunk { title, text: "" };
        let (a, b) = (chunk(Some("a")), chunk(Some("b")));
        let scores = [0.1, 0.9, 0.2, 0.4];
        assert_eq!(best_beside(&[a, a, b, b], &scores), [0.9, 0.1, 0.4, 0.2]);
        assert_eq!(best_beside(&[a, a, b, a], &scores), [0.0; 4]);
        let none = chunk(None);
        assert_eq!(best_beside(&[none; 4], &scores), [0.9, 0.2, 0.9, 0.2]);
        assert!(best_beside(&[], &[]).is_empty());
    }
}
