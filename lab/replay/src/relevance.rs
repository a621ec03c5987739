//! Which lines of a result the conversation is about.
//!
//! The focus is the set of words that people and the model itself have used: user text, the model's text,
//! thinking and arguments. A line scores the rarity of the focus words in it; its neighbours inherit a share.

use std::collections::HashMap;

/// Words of the conversation and how common each is in results.
#[derive(Debug, Default)]
pub struct Focus {
    /// Word → request at which it was last mentioned.
    mentioned: HashMap<Box<str>, usize>,
    /// Word → number of result lines that have it.
    common: HashMap<Box<str>, u32>,
    lines: u32,
}

/// Words of 4+ characters; numbers do not count.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .filter(|w| w.len() >= 4 && !w.bytes().all(|b| b.is_ascii_digit()))
}

impl Focus {
    pub fn mention(&mut self, text: &str, request: usize) {
        for word in words(text) {
            if let Some(at) = self.mentioned.get_mut(word) {
                *at = request;
            } else {
                self.mentioned.insert(word.into(), request);
            }
        }
    }

    pub fn observe(&mut self, result: &str) {
        for line in result.lines() {
            self.lines += 1;
            for word in words(line) {
                if let Some(n) = self.common.get_mut(word) {
                    *n += 1;
                } else {
                    self.common.insert(word.into(), 1);
                }
            }
        }
    }

    fn line_score(&self, line: &str, now: usize, half_life: f32) -> f32 {
        let mut score = 0.0;
        for word in words(line) {
            if let Some(&at) = self.mentioned.get(word) {
                let df = self.common.get(word).copied().unwrap_or(1).max(1);
                #[expect(clippy::cast_precision_loss, reason = "small counts")]
                let (rarity, age) = (
                    (self.lines.max(1) as f32 / df as f32).ln().max(0.0),
                    (now - at) as f32,
                );
                score += rarity * (0.5f32).powf(age / half_life);
            }
        }
        score
    }

    /// Share of the text's characters that ranks at least as high as each line.
    pub fn percentiles(&self, text: &str, reach: usize, now: usize, half_life: f32) -> Vec<f64> {
        let lines: Vec<&str> = text.lines().collect();
        let score = self.scores(&lines, reach, now, half_life);
        let mut order: Vec<usize> = (0..lines.len()).collect();
        order.sort_by(|&a, &b| score[b].total_cmp(&score[a]).then(a.cmp(&b)));
        let total: usize = lines.iter().map(|l| l.len() + 1).sum();
        let mut out = vec![1.0; lines.len()];
        let mut used = 0;
        for i in order {
            used += lines[i].len() + 1;
            out[i] = used as f64 / total as f64;
        }
        out
    }

    fn scores(&self, lines: &[&str], reach: usize, now: usize, half_life: f32) -> Vec<f32> {
        let raw: Vec<f32> = lines
            .iter()
            .map(|l| self.line_score(l, now, half_life))
            .collect();
        let mut score = raw.clone();
        for (i, &s) in raw.iter().enumerate() {
            for d in 1..=reach {
                #[expect(clippy::cast_precision_loss, reason = "small counts")]
                let share = s * (1.0 - d as f32 / (reach + 1) as f32);
                if i >= d {
                    score[i - d] += share;
                }
                if i + d < lines.len() {
                    score[i + d] += share;
                }
            }
        }
        score
    }

    /// Keeps about `budget` characters: the best lines and their neighbours, in order, with a note for each gap.
    pub fn digest(
        &self,
        text: &str,
        budget: usize,
        reach: usize,
        now: usize,
        half_life: f32,
    ) -> String {
        let lines: Vec<&str> = text.lines().collect();
        let score = self.scores(&lines, reach, now, half_life);
        let mut order: Vec<usize> = (0..lines.len()).collect();
        order.sort_by(|&a, &b| score[b].total_cmp(&score[a]).then(a.cmp(&b)));
        let mut keep = vec![false; lines.len()];
        let mut used = 0;
        for i in order {
            let n = lines[i].chars().count() + 1;
            if used + n > budget {
                break;
            }
            used += n;
            keep[i] = true;
        }
        // A gap of a line or two costs as much as its note.
        let mut i = 0;
        while i < lines.len() {
            if keep[i] {
                i += 1;
                continue;
            }
            let end = (i..lines.len()).find(|&j| keep[j]).unwrap_or(lines.len());
            if lines[i..end]
                .iter()
                .map(|l| l.chars().count() + 1)
                .sum::<usize>()
                <= 40
            {
                keep[i..end].iter_mut().for_each(|k| *k = true);
            }
            i = end;
        }
        let mut out = String::with_capacity(budget + 200);
        let mut i = 0;
        while i < lines.len() {
            if keep[i] {
                out.push_str(lines[i]);
                out.push('\n');
                i += 1;
            } else {
                let end = (i..lines.len()).find(|&j| keep[j]).unwrap_or(lines.len());
                out.push_str(&format!("[... {} lines left out]\n", end - i));
                i = end;
            }
        }
        out
    }
}
