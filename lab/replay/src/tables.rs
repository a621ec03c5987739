//! The tables: peers against the published figures, the frontier, what each rule brings.

use secateur_replay::{PartKind, Policy, Pruned, Session, Totals, replay};

use crate::oracle::Oracle;
use crate::peers;
use crate::presets::presets;
use crate::steady::{NEVER, Steady};

/// One line of a table.
pub fn print_row(name: &str, t: &Totals) {
    println!(
        "{name:46} {:.4} {:.4}  {:.4} {:.4}  tokens {:.3} cache reads {:.3} rounds {:.1}",
        t.bill(),
        t.worst(),
        t.ids(),
        t.lines(),
        t.tokens(),
        t.cache_read_share(),
        t.rounds_per_session()
    );
}

fn print_all(rows: &[(String, &dyn Policy)], sessions: &[Session]) -> Vec<Totals> {
    let policies: Vec<&dyn Policy> = rows.iter().map(|(_, p)| *p).collect();
    let totals = replay(sessions, &policies, 0, &|_, _| {});
    println!("{:46} bill   worst   ids    lines", "");
    for ((name, _), t) in rows.iter().zip(&totals) {
        print_row(name, t);
    }
    totals
}

/// The peers, with the published bill, worst, ids and lines in the name.
pub fn peers(sessions: &[Session]) {
    let whole = |s: &Session, u: usize| Pruned::whole(s, u);
    let (mask, window) = (peers::mask_all_but_last(10), peers::sliding_window(20));
    let (adaptive, aggressive) = (peers::openclaw(false), peers::openclaw(true));
    let opencode = peers::Opencode;
    let clear = peers::ClearOver {
        trigger_tokens: 100_000.0,
        keep: 3,
    };
    let rounds = |keep, min_gain| peers::MaskInRounds { keep, min_gain };
    let no_results = |s: &Session, u: usize| {
        let mut pruned = Pruned::whole(s, u);
        pruned
            .messages
            .iter_mut()
            .for_each(|m| m.parts.retain(|p| p.kind != PartKind::ToolResult));
        pruned
    };
    let (r25, r50, r30) = (rounds(10, 0.25), rounds(10, 0.5), rounds(30, 0.3));
    let rows: Vec<(String, &dyn Policy)> = vec![
        ("no pruning 1.000 1.00 1.000 1.000".into(), &whole),
        ("mask all but 10 1.371 2.06 .955 .897".into(), &mask),
        ("window 20 1.401 2.18 .842 .828".into(), &window),
        ("tessera m7 1.014 1.28 .991 .997".into(), &peers::tessera_m7),
        ("opencode 1.005 1.08 1.000 1.000".into(), &opencode),
        ("openclaw adaptive .968 1.16 .994 .980".into(), &adaptive),
        (
            "openclaw aggressive .860 1.43 .919 .812".into(),
            &aggressive,
        ),
        ("clear over 100 k .866 1.17 .965 .917".into(), &clear),
        ("mask in rounds 25 % .834 1.13 .964 .918".into(), &r25),
        ("mask in rounds 50 % .830 1.01 .972 .934".into(), &r50),
        ("keep 30, rounds 30 % .933 1.13 .987 .967".into(), &r30),
        ("floor ~.65 .98 .89 .74".into(), &peers::floor),
        (
            "oracle: results with no later line go at age 1".into(),
            &Oracle,
        ),
        ("bound: no results at all".into(), &no_results),
    ];
    print_all(&rows, sessions);
}

/// Our settings, and which published rows each one beats on all counts.
pub fn frontier(sessions: &[Session]) {
    const PUBLISHED: [(&str, f64, f64, f64); 10] = [
        ("mask 10", 1.371, 0.955, 0.897),
        ("window 20", 1.401, 0.842, 0.828),
        ("tessera", 1.014, 0.991, 0.997),
        ("opencode", 1.005, 1.0, 1.0),
        ("adaptive", 0.968, 0.994, 0.980),
        ("aggressive", 0.860, 0.919, 0.812),
        ("clear 100 k", 0.866, 0.965, 0.917),
        ("rounds 25", 0.834, 0.964, 0.918),
        ("rounds 50", 0.830, 0.972, 0.934),
        ("keep 30", 0.933, 0.987, 0.967),
    ];
    let presets = presets();
    let rows: Vec<(String, &dyn Policy)> = presets
        .iter()
        .map(|(n, o)| ((*n).to_owned(), o as &dyn Policy))
        .collect();
    let totals = print_all(&rows, sessions);
    for (peer, bill, ids, lines) in PUBLISHED {
        // The published figures have three digits.
        let beats = |t: &Totals| {
            t.bill() < bill
                && t.ids() > ids - 0.0005
                && t.lines() > lines - 0.0005
                && t.worst() <= 1.0
        };
        let by: Vec<&str> = presets
            .iter()
            .zip(&totals)
            .filter(|(_, t)| beats(t))
            .map(|((n, _), _)| *n)
            .collect();
        println!(
            "{peer:12} beaten by {}",
            if by.is_empty() {
                "none".to_owned()
            } else {
                by.join(", ")
            }
        );
    }
}

/// The recommended setting with each rule off in turn.
pub fn ablation(sessions: &[Session]) {
    let Some((name, base)) = presets().into_iter().nth(1) else {
        return;
    };
    let base = &base;
    let variants: Vec<(&str, Steady)> = vec![
        (name, base.clone()),
        (
            "no repeats",
            Steady {
                repeat_lines: 0,
                ..base.clone()
            },
        ),
        (
            "no compact listings",
            Steady {
                compact: false,
                ..base.clone()
            },
        ),
        (
            "all line numbers",
            Steady {
                sparse: false,
                ..base.clone()
            },
        ),
        (
            "no arrival trims",
            Steady {
                arrival_max_chars: usize::MAX,
                ..base.clone()
            },
        ),
        (
            "edited files stay",
            Steady {
                touch_edited: NEVER,
                ..base.clone()
            },
        ),
        (
            "past turns stay",
            Steady {
                touch_past_turn: NEVER,
                ..base.clone()
            },
        ),
        (
            "unedited files stay",
            Steady {
                touch_unedited: NEVER,
                touch_named: NEVER,
                ..base.clone()
            },
        ),
        (
            "named files as others",
            Steady {
                touch_named: base.touch_unedited,
                ..base.clone()
            },
        ),
        (
            "commands stay",
            Steady {
                age_command: NEVER,
                ..base.clone()
            },
        ),
        (
            "searches stay",
            Steady {
                age_search: NEVER,
                ..base.clone()
            },
        ),
        (
            "edit results stay",
            Steady {
                age_edit: NEVER,
                ..base.clone()
            },
        ),
        (
            "reports and others stay",
            Steady {
                age_task: NEVER,
                age_other: NEVER,
                ..base.clone()
            },
        ),
        (
            "horizon x2",
            Steady {
                horizon: base.horizon * 2.0,
                ..base.clone()
            },
        ),
        (
            "horizon x0.5",
            Steady {
                horizon: base.horizon * 0.5,
                ..base.clone()
            },
        ),
        (
            "debt 1 %",
            Steady {
                debt: 0.01,
                ..base.clone()
            },
        ),
        (
            "debt without limit",
            Steady {
                debt: 1e9,
                ..base.clone()
            },
        ),
    ];
    let rows: Vec<(String, &dyn Policy)> = variants
        .iter()
        .map(|(n, o)| ((*n).to_owned(), o as &dyn Policy))
        .collect();
    print_all(&rows, sessions);
}

/// Settings given as `preset,name=value,name=value`, one per argument.
pub fn attempts(sessions: &[Session], arguments: impl Iterator<Item = String>) {
    let mut rows = Vec::new();
    for argument in arguments {
        let mut fields = argument.split(',');
        let base = fields.next().unwrap_or_default();
        let Some((_, mut options)) = crate::presets::presets()
            .into_iter()
            .find(|(n, _)| *n == base)
        else {
            println!("unknown setting {base}");
            continue;
        };
        for field in fields {
            let known = field
                .split_once('=')
                .and_then(|(name, value)| Some(options.set(name, value.parse().ok()?)));
            if known != Some(true) {
                println!("unknown option {field}");
            }
        }
        rows.push((argument, options));
    }
    let policies: Vec<&dyn Policy> = rows.iter().map(|(_, o)| o as &dyn Policy).collect();
    let totals = replay(sessions, &policies, 0, &|_, _| {});
    for ((name, _), t) in rows.iter().zip(&totals) {
        println!(
            "{:.4} {:.4} ids {:.4} lines {:.4} rounds {:5.1}  {name}",
            t.bill(),
            t.worst(),
            t.ids(),
            t.lines(),
            t.rounds_per_session()
        );
    }
    crate::search::cross_validate(&crate::search::GOALS, &totals);
}
