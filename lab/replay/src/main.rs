//! Replay benchmark on real sessions: the peers' table, then the search for `steady`.

mod compact;
mod features;
mod peers;
mod plan;
mod relevance;
mod repeats;
mod search;
mod steady;
mod study;

use std::path::PathBuf;

use secateur_replay::{Policy, Pruned, Session, read_path, replay};

fn row(name: &str, sessions: &[Session], policy: &dyn Policy) {
    let start = std::time::Instant::now();
    let t = replay(sessions, &[policy], 0, &|_, _| {}).swap_remove(0);
    println!(
        "{name:58} {:.3} {:.4}  {:.3} {:.3}  tok {:.3} read {:.3} rounds {:.1}  {:.2}s",
        t.bill(),
        t.worst(),
        t.ids(),
        t.lines(),
        t.tokens(),
        t.cache_read_share(),
        t.rounds_per_session(),
        start.elapsed().as_secs_f64()
    );
}

fn main() {
    let path = std::env::args().nth(1).map_or_else(
        || PathBuf::from("../shared/data/sessions/claude-code.jsonl.gz"),
        PathBuf::from,
    );
    let Ok(loaded) = read_path(&path) else {
        println!("{} is absent: nothing to replay", path.display());
        return;
    };
    let s = &loaded.sessions;
    println!(
        "{} sessions, {} unreadable, {} requests",
        s.len(),
        loaded.unreadable.len(),
        s.iter().map(|s| s.boundaries().count()).sum::<usize>()
    );
    if std::env::args().nth(2).as_deref() == Some("study") {
        study::sources(s, false);
        study::sources(s, true);
        features::reads(s);
        return;
    }
    if std::env::args().nth(2).as_deref() == Some("search") {
        let want: Vec<f64> = std::env::args()
            .skip(3)
            .filter_map(|a| a.parse().ok())
            .collect();
        let goal = search::Goal {
            ids: want.first().copied().unwrap_or(0.99),
            lines: want.get(1).copied().unwrap_or(0.98),
        };
        search::descend(s, &goal, steady::Steady::default());
        return;
    }
    if std::env::args().nth(2).as_deref() == Some("rank") {
        features::unedited(s);
        return;
    }
    if std::env::args().nth(2).as_deref() == Some("try") {
        use steady::Steady as S;
        let inf = 1e9;
        let base = S::default();
        let none = S {
            arrival_max_chars: 1_000_000_000,
            age_command: inf,
            age_search: inf,
            age_edit: inf,
            age_task: inf,
            age_other: inf,
            touch_edited: inf,
            touch_unedited: inf,
            touch_past_turn: inf,
            touch_named: inf,
            touch_superseded: inf,
            ..base.clone()
        };
        row("lossless", s, &none);
        row(
            "compact only",
            s,
            &S {
                repeat_lines: 0,
                ..none.clone()
            },
        );
        row(
            "lossless 2 80",
            s,
            &S {
                repeat_lines: 2,
                repeat_chars: 80,
                ..none.clone()
            },
        );
        row("base", s, &base);
        return;
    }
    row(
        "no pruning 1.000 1.00 1.000 1.000",
        s,
        &|s: &Session, u: usize| Pruned::whole(s, u),
    );
    row(
        "mask 10: 1.371 2.06 .955 .897",
        s,
        &peers::mask_all_but_last(10),
    );
    for mode in 0..3 {
        row(
            "window 20: 1.401 2.18 .842 .828",
            s,
            &peers::sliding_window(20, mode),
        );
    }
    row("tessera: 1.014 1.28 .991 .997", s, &peers::tessera_m7);
    for c in [true, false] {
        row(
            "opencode: 1.005 1.08 1.000 1.000",
            s,
            &peers::Opencode {
                cadence_user_turns: c,
            },
        );
    }
    row(
        "oc adaptive: .968 1.16 .994 .980",
        s,
        &peers::openclaw(false),
    );
    row(
        "oc aggressive: .860 1.43 .919 .812",
        s,
        &peers::openclaw(true),
    );
    for sticky in [true, false] {
        for oldest_first in [true, false] {
            for with_fixed in [true, false] {
                row(
                    &format!(
                        "clear100k sticky {sticky} oldest {oldest_first} fixed {with_fixed} .866 1.17 .965 .917"
                    ),
                    s,
                    &peers::ClearOldest {
                        trigger_tokens: 1e5,
                        keep: 3,
                        with_fixed,
                        sticky,
                        oldest_first,
                    },
                );
            }
        }
    }
    for with_fixed in [false, true] {
        row(
            "rounds 25: .834 1.13 .964 .918",
            s,
            &peers::MaskInRounds {
                keep: 10,
                min_gain: 0.25,
                with_fixed,
            },
        );
        row(
            "rounds 50: .830 1.01 .972 .934",
            s,
            &peers::MaskInRounds {
                keep: 10,
                min_gain: 0.5,
                with_fixed,
            },
        );
        row(
            "keep 30 rounds 30: .933 1.13 .987 .967",
            s,
            &peers::MaskInRounds {
                keep: 30,
                min_gain: 0.3,
                with_fixed,
            },
        );
    }
    row("floor: ~.65 .98 .89 .74", s, &peers::floor);
}
