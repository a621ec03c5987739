//! A replay as one page: no script, nothing from elsewhere, light and dark.

use std::fmt::Write as _;

use secateur_ledger::shown::in_line;
use secateur_replay::{Measure, Step};

use super::bars::{self, Day};
use super::plot::{COLOURS, Course, Kept, bill_against_kept, context_over_time, escape};
use super::show::LEGEND;
use super::{Replay, sheet};
use crate::table::{counted, thousands};

const STYLE: &str = "\
:root { color-scheme: light dark; --back: #fff; --text: #1d2330; --dim: #667085; --rule: #e3e6ec;
  --c0: #0b6bcb; --c1: #c2410c; --c2: #15803d; --c3: #9333ea; --c4: #be123c; --c5: #0f766e; --c6: #a16207; --c7: #475569; }
@media (prefers-color-scheme: dark) { :root { --back: #12151c; --text: #e6e9f0; --dim: #97a0b3; --rule: #2b313d;
  --c0: #6cb6ff; --c1: #fb923c; --c2: #4ade80; --c3: #c084fc; --c4: #fb7185; --c5: #2dd4bf; --c6: #facc15; --c7: #cbd5e1; } }
body { margin: 2rem auto; max-width: 64rem; padding: 0 1rem; background: var(--back); color: var(--text);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
p, figcaption, li { color: var(--dim); } figure { margin: 0; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-size: .82rem; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .35rem .45rem; border-bottom: 1px solid var(--rule); white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
.over { color: var(--c4); font-weight: 600; } .under { color: var(--c2); }
.key { display: inline-block; width: .8em; height: .8em; border-radius: 50%; margin-right: .5em; background: currentColor; }
svg { width: 100%; height: auto; } svg text { fill: var(--text); font: 12px system-ui, sans-serif; }
svg .tick, svg .axis { fill: var(--dim); } .grid { stroke: var(--rule); } .one { stroke: var(--dim); stroke-dasharray: 4 4; }
.dot, .round { fill: currentColor; } .tie { stroke: currentColor; opacity: .4; }
.course { fill: none; stroke: currentColor; stroke-width: 2; }
.text { text-align: left; } .headline { font-size: 1.15rem; color: var(--text); } .paid { fill: var(--dim); opacity: .45; } .with { fill: var(--c2); }
.without { fill: none; stroke: var(--dim); stroke-width: 2; stroke-dasharray: 5 4; }
";

/// The page. `traces` has one course of the session called `id` for each policy.
pub(super) fn page(replay: &Replay, id: &str, traces: &[Vec<Step>]) -> String {
    let mut out = String::from(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Secateur replay</title>\n<style>\n",
    );
    out.push_str(STYLE);
    for colour in 0..COLOURS {
        let _ = writeln!(out, ".c{colour} {{ color: var(--c{colour}); }}");
    }
    let _ = writeln!(
        out,
        "</style>\n</head>\n<body>\n<h1>Secateur replay</h1>\n<p>{}, {}.</p>",
        counted(replay.sessions as u64, "session"),
        counted(replay.requests as u64, "request")
    );
    let is_kept_known = replay.measure == Measure::CostAndKept;
    if replay.has_prices() {
        spending(&mut out, replay);
    }
    if is_kept_known || !replay.has_prices() {
        table(&mut out, replay);
    }
    if is_kept_known {
        kept(&mut out, replay);
    }
    course(&mut out, replay, id, traces);
    unreadable(&mut out, replay);
    out.push_str("</body>\n</html>\n");
    out
}

fn table(out: &mut String, replay: &Replay) {
    out.push_str(
        "<div class=\"scroll\"><table>\n<thead><tr><th>policy</th><th>bill</th><th>worst</th><th>ids</th>\
         <th>lines</th><th>tokens</th><th>cache reads</th><th>rounds/session</th><th>skips</th><th>pruned</th>\
         <th>unchanged</th><th>failed open</th></tr></thead>\n<tbody>\n",
    );
    for (at, entrant) in replay.entrants.iter().enumerate() {
        let (total, counted) = (&entrant.totals, &entrant.counted);
        let cost = |ratio: f64| {
            let class = if ratio > 1.0 { "over" } else { "under" };
            format!("<td class=\"{class}\">{ratio:.4}</td>")
        };
        let _ = writeln!(
            out,
            "<tr><td><span class=\"key c{}\"></span>{}</td>{}{}<td>{:.4}</td><td>{:.4}</td><td>{:.3}</td>\
             <td>{:.3}</td><td>{:.1}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            at % COLOURS,
            escape(&entrant.name),
            cost(total.bill()),
            cost(total.worst()),
            total.ids(),
            total.lines(),
            total.tokens(),
            total.cache_read_share(),
            total.rounds_per_session(),
            thousands(counted.skipped()),
            thousands(counted.pruned),
            thousands(counted.unchanged),
            thousands(counted.failed_open),
        );
    }
    let _ = writeln!(out, "</tbody></table></div>\n<p>{}</p>", escape(LEGEND));
}

/// The sentence, the days, the tables and the notes.
fn spending(out: &mut String, replay: &Replay) {
    for policy in 0..replay.entrants.len() {
        let headline = sheet::headline(replay, policy);
        let _ = writeln!(out, "<p class=\"headline\">{}</p>", escape(&headline));
    }
    let days: Vec<Day> = sheet::days(replay)
        .map(|(name, line)| Day {
            name,
            paid_usd: line.paid_usd,
            with_usd: line.paid_usd - line.saved_usd(0),
        })
        .collect();
    let _ = writeln!(
        out,
        "<figure>\n{}<figcaption>Wide bars: paid. Narrow bars: with pruning.</figcaption>\n</figure>",
        bars::days(&days)
    );
    for sheet in sheet::sheets(replay) {
        let _ = writeln!(out, "<h2>{}</h2>", escape(&sheet.title));
        out.push_str("<div class=\"scroll\"><table>\n<thead><tr>");
        for (at, head) in sheet.heads.iter().enumerate() {
            let _ = write!(out, "<th{}>{head}</th>", side(at, sheet.left));
        }
        out.push_str("</tr></thead>\n<tbody>\n");
        for row in &sheet.rows {
            out.push_str("<tr>");
            for (at, cell) in row.iter().enumerate() {
                let _ = write!(out, "<td{}>{}</td>", side(at, sheet.left), escape(cell));
            }
            out.push_str("</tr>\n");
        }
        out.push_str("</tbody></table></div>\n");
    }
    out.push_str("<ul>\n");
    for note in sheet::notes(replay) {
        let _ = writeln!(out, "<li>{}</li>", escape(&note));
    }
    out.push_str("</ul>\n");
}

/// Texts are on the left side of their column.
fn side(column: usize, left: usize) -> &'static str {
    if column < left { " class=\"text\"" } else { "" }
}

fn kept(out: &mut String, replay: &Replay) {
    let kept: Vec<Kept<'_>> = replay
        .entrants
        .iter()
        .map(|entrant| Kept {
            name: &entrant.name,
            bill: entrant.totals.bill(),
            ids: entrant.totals.ids(),
            lines: entrant.totals.lines(),
        })
        .collect();
    let _ = writeln!(
        out,
        "<h2>Bill against what is kept</h2>\n<figure>\n{}<figcaption>Circles: ids. Squares: lines. \
         Left of the dashed line is cheaper than no pruning; higher is better.</figcaption>\n</figure>",
        bill_against_kept(&kept),
    );
}

fn course(out: &mut String, replay: &Replay, id: &str, traces: &[Vec<Step>]) {
    let courses: Vec<Course<'_>> = replay
        .entrants
        .iter()
        .zip(traces)
        .map(|(entrant, steps)| Course {
            name: &entrant.name,
            tokens: steps.iter().map(|step| step.tokens).collect(),
            rounds: (0..steps.len()).filter(|&at| steps[at].round).collect(),
        })
        .collect();
    let without: Vec<f64> = traces
        .first()
        .map(|steps| steps.iter().map(|step| step.full_tokens).collect())
        .unwrap_or_default();
    let _ = writeln!(
        out,
        "<h2>One session over time</h2>\n<p>{}, {} requests</p>\n<figure>\n{}<figcaption>Dashed: without \
         pruning. Triangles: rounds, where new cuts were taken.</figcaption>\n</figure>",
        escape(id),
        thousands(without.len()),
        context_over_time(&without, &courses),
    );
}

fn unreadable(out: &mut String, replay: &Replay) {
    if replay.gaps.unreadable.is_empty() {
        return;
    }
    let _ = writeln!(
        out,
        "<h2>Rows that could not be read: {}</h2>\n<ul>",
        thousands(replay.gaps.unreadable_rows())
    );
    for row in &replay.gaps.unreadable {
        let _ = writeln!(
            out,
            "<li>{}: {}</li>",
            escape(&in_line(&row.place)),
            escape(&in_line(&row.reason))
        );
    }
    out.push_str("</ul>\n");
}
