//! What the fuzz targets check, as plain functions, so that ordinary tests can drive them too.

use std::borrow::Cow;
use std::sync::LazyLock;

use secateur_core::cost::cache::{BlockList, CacheKind};
use secateur_core::dialect::{self, Dialect};
use secateur_core::internal::json::{Cursor, Limits};
use secateur_core::internal::view::View;
use secateur_core::report::Verdict;
use secateur_core::{Request, check::check, prune};

use crate::invariants::{Fate, agree, hold};
use crate::policies::{self, Named};
use crate::recipe::{Mode, Recipe};

/// A few sets of options; making them is slower than a prune.
static POLICIES: LazyLock<Vec<Vec<Named>>> = LazyLock::new(|| (0..8).map(policies::all).collect());

/// Any bytes, in every dialect: no panic, and what cannot be read comes back as it is.
///
/// # Errors
/// What went wrong.
pub fn raw_read(bytes: &[u8]) -> Result<(), String> {
    let limits = Limits::default();
    let named = POLICIES[0].first();
    for dialect in [None].into_iter().chain(Dialect::ALL.map(Some)) {
        let request = Request {
            dialect,
            ..Request::default()
        };
        let known = dialect.map_or_else(|| dialect::detect(bytes, &limits), Ok);
        let read = known.and_then(|known| dialect::read(bytes, known, &limits));
        match &read {
            Ok(view) => {
                drop(check(view));
                markers_agree(view)?;
            }
            Err(error) => drop(error.explain(bytes)),
        }
        let Some(named) = named else { continue };
        let outcome = prune(bytes, &request, &named.policy);
        if outcome.body.len() > bytes.len() {
            return Err(format!("{dialect:?}: grew"));
        }
        if let Err(error) = &read {
            let is_same = matches!(outcome.body, Cow::Borrowed(same) if std::ptr::eq(same, bytes));
            if !is_same || !matches!(outcome.report.verdict, Verdict::FailedOpen(_)) {
                return Err(format!("{dialect:?}: changed although {error}"));
            }
        }
    }
    Ok(())
}

/// Both readers of cache markers find the same ones: the one that plans, and the one that bills.
///
/// # Errors
/// What each of them counts.
pub fn markers_agree(view: &View<'_>) -> Result<(), String> {
    for kind in [
        CacheKind::Marked,
        CacheKind::Breakpoints,
        CacheKind::Automatic,
    ] {
        let planned = secateur_core::cost::cache::markers(view, kind);
        let billed = BlockList::of(view.body().as_bytes(), view.dialect(), kind)
            .map_err(|error| error.to_string())?;
        let top_level = planned.top_level.map(|(life, _)| life);
        if planned.count() != billed.marker_count() || top_level != billed.top_level {
            return Err(format!(
                "{}, {kind:?}: {planned:?} is planned with, {} markers are billed",
                view.dialect(),
                billed.marker_count()
            ));
        }
    }
    Ok(())
}

/// Bytes as a recipe: every promise, with two of the strategies and presets. The first byte picks
/// the dialect, the mode and the options, the length picks the policies.
///
/// # Errors
/// The promise that was broken.
pub fn structured_prune(bytes: &[u8]) -> Result<Vec<Fate>, String> {
    let (pick, rest) = bytes.split_first().unwrap_or((&0, &[]));
    let dialect = Dialect::ALL[usize::from(pick & 3)];
    let mode = if pick & 4 == 0 {
        Mode::Valid
    } else {
        Mode::Dirty
    };
    // Longer recipes find no more, only more slowly.
    let recipe = Recipe::from_bytes(mode, rest.get(..300).unwrap_or(rest));
    let body = recipe.body(dialect);
    agree(dialect, &body).map_err(|apart| format!("{dialect}: {apart}"))?;
    if let Ok(view) = dialect::read(&body, dialect, &Limits::default()) {
        markers_agree(&view)?;
    }
    let policies = &POLICIES[usize::from(pick >> 5)];
    let turn = bytes.len();
    let some = policies
        .iter()
        .cycle()
        .skip(turn % policies.len().max(1))
        .take(2);
    let judge = |named: &Named| {
        hold(dialect, &body, named).map_err(|broken| format!("{dialect}, {}: {broken}", named.name))
    };
    some.map(judge).collect()
}

/// The scanner and serde_json agree on what is JSON, and on where its strings end.
///
/// # Errors
/// What they disagree on.
pub fn scanner_vs_serde(bytes: &[u8]) -> Result<(), String> {
    let limits = Limits {
        max_depth: 100,
        ..Limits::default()
    };
    // serde_json's `IgnoredAny` has no limit on depth that could be set to the scanner's.
    let depth = bytes
        .iter()
        .filter(|byte| matches!(byte, b'[' | b'{'))
        .count();
    if depth > limits.max_depth || bytes.starts_with(b"\xef\xbb\xbf") {
        return Ok(());
    }
    let scan = || {
        let mut cursor = Cursor::new(bytes, &limits)?;
        cursor.skip()?;
        cursor.finish()
    };
    let theirs = std::str::from_utf8(bytes)
        .is_ok_and(|text| serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok());
    let ours = scan();
    if ours.is_ok() != theirs {
        return Err(format!("the scanner says {ours:?}, serde_json {theirs}"));
    }
    if let Ok(text) = serde_json::from_slice::<String>(bytes) {
        let body = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
        let found = Cursor::over(body, 1)
            .string()
            .map_err(|error| error.to_string())?;
        if found.decode(body) != text || found.chars() != text.chars().count() {
            return Err(format!(
                "decoded {:?} instead of {text:?}",
                found.decode(body)
            ));
        }
    }
    Ok(())
}
