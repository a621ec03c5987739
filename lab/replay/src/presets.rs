//! Settings of `steady` along the frontier, from careful to bold.

use crate::steady::{NEVER, Steady};

/// Name and setting, from careful to bold. The second is the one that the ablation takes apart.
pub fn presets() -> Vec<(&'static str, Steady)> {
    let steady = Steady {
        arrival_max_chars: 3000,
        arrival_head: 1125,
        arrival_tail: 1125,
        age_command: 2.0,
        age_search: 2.0,
        past_turn_factor: 0.5,
        touch_edited: 3.0,
        touch_past_turn: 8.0,
        touch_unedited: 8.0,
        min_chars: 2000,
        horizon: 4.0,
        min_round_tokens: 3000.0,
        ..Steady::lossless()
    };
    let even = Steady {
        min_chars: 1000,
        horizon: 6.0,
        min_round_tokens: 1000.0,
        ..steady.clone()
    };
    let bold = Steady {
        age_search: 4.0,
        age_edit: 8.0,
        age_task: 8.0,
        age_other: 4.0,
        past_turn_factor: 0.25,
        touch_past_turn: 4.0,
        touch_named: 60.0,
        touch_unedited: 12.0,
        min_chars: 300,
        horizon: 8.0,
        min_round_tokens: 300.0,
        ..steady.clone()
    };
    let mut short = Steady::lossless();
    short.shorten();
    let shorter = Steady {
        arrival_max_chars: 6000,
        search_max_chars: 1500,
        age_edit: 4.0,
        touch_unedited: NEVER,
        min_chars: 1000,
        horizon: 8.0,
        min_round_tokens: 1000.0,
        trigger: 50_000.0,
        age_old_string: 1.0,
        bare: short.bare,
        brief: short.brief,
        short_lines: short.short_lines,
        short_chars: short.short_chars,
        ..steady.clone()
    };
    let shorter_bold = Steady {
        search_max_chars: 1500,
        trigger: 50_000.0,
        age_old_string: 1.0,
        bare: short.bare,
        brief: short.brief,
        short_lines: short.short_lines,
        short_chars: short.short_chars,
        ..bold.clone()
    };
    vec![
        ("lossless", Steady::lossless()),
        ("steady", steady.clone()),
        (
            "steady, arrivals only",
            Steady {
                horizon: 0.0,
                ..steady.clone()
            },
        ),
        (
            "steady, horizon 5",
            Steady {
                horizon: 5.0,
                ..steady.clone()
            },
        ),
        ("even", even.clone()),
        (
            "even, commands stay",
            Steady {
                age_command: NEVER,
                ..even.clone()
            },
        ),
        (
            "even, horizon 8",
            Steady {
                horizon: 8.0,
                min_chars: 500,
                min_round_tokens: 300.0,
                ..even.clone()
            },
        ),
        (
            "even, unedited files stay",
            Steady {
                touch_unedited: NEVER,
                horizon: 8.0,
                ..even
            },
        ),
        ("bold", bold.clone()),
        (
            "bold, named 15",
            Steady {
                touch_named: 15.0,
                min_round_tokens: 100.0,
                ..bold.clone()
            },
        ),
        (
            "bolder",
            Steady {
                age_command: 1.0,
                age_search: 1.0,
                touch_edited: 2.0,
                touch_past_turn: 1.0,
                touch_unedited: 5.0,
                touch_named: 10.0,
                horizon: 12.0,
                ..bold.clone()
            },
        ),
        (
            "lossless, all numbers",
            Steady {
                sparse: false,
                ..Steady::lossless()
            },
        ),
        (
            "steady, all numbers",
            Steady {
                sparse: false,
                ..steady
            },
        ),
        (
            "bold, all numbers",
            Steady {
                sparse: false,
                ..bold
            },
        ),
        ("preset steady-lossless", short),
        ("preset steady", shorter),
        ("preset steady-bold", shorter_bold),
    ]
}
