//! A search over the open parts finds the same rounds as a plan made from scratch.

use proptest::prelude::{ProptestConfig, any, prop, prop_assert_eq, prop_oneof, proptest};
use proptest::strategy::Strategy as Generator;
use serde_json::{Value, json};

use super::*;
use crate::cost::Terms;
use crate::cost::cache::MarkerPattern;
use crate::plan::context::ModelFacts;
use crate::plan::edit::{Piece, StrategyId};
use crate::policy::Policy;
use crate::read::dialect::Dialect;
use crate::read::wire;
use crate::strategy::{self, Strategy, Work};
use secateur_json::Limits;

/// A strategy that plans the whole conversation where the other one cuts part by part.
#[derive(Debug)]
struct Secretive<'s>(&'s dyn Strategy);

impl Strategy for Secretive<'_> {
    fn id(&self) -> StrategyId {
        self.0.id()
    }

    fn work(&self) -> Work<'_> {
        match self.0.work() {
            Work::PartByPart(_) => Work::Whole(Box::new(|context| strategy::plan(self.0, context))),
            other => other,
        }
    }
}

/// One step of an agent.
#[derive(Clone, Debug)]
enum Step {
    Read {
        file: usize,
        from: usize,
        lines: usize,
    },
    Edit {
        file: usize,
        line: usize,
        works: bool,
    },
    Run {
        lines: usize,
    },
    Search {
        lines: usize,
    },
    Ask {
        file: usize,
    },
}

fn code(file: usize, line: usize) -> String {
    format!("    let value_{line} = compute_number({line}) + offset_of_file_{file}();")
}

fn messages(steps: &[(Step, bool)]) -> Vec<Value> {
    let mut messages = vec![json!({"role": "user", "content": "Make it work."})];
    for (at, (step, thinks)) in steps.iter().enumerate() {
        let path = |file: &usize| format!("src/file_{file}.rs");
        let listing = |lines: std::ops::Range<usize>, file: usize| {
            let lines = lines.map(|line| format!("{:>6}→{}\n", line + 1, code(file, line)));
            lines.collect::<String>()
        };
        let (name, input, output, is_error) = match step {
            Step::Read { file, from, lines } => (
                "Read",
                json!({"file_path": path(file)}),
                listing(*from..from + lines, *file),
                false,
            ),
            Step::Edit { file, line, works } => (
                "Edit",
                json!({"file_path": path(file), "old_string": code(*file, *line).repeat(4),
                       "new_string": format!("{}\n{}\n", code(*file, line + 1), code(*file, line + 2))}),
                listing(*line..line + 9, *file),
                !works,
            ),
            Step::Run { lines } => (
                "Bash",
                json!({"command": "make"}),
                (0..*lines)
                    .map(|line| format!("building target number {} of step {at}\n", line % 40))
                    .collect(),
                false,
            ),
            Step::Search { lines } => (
                "Grep",
                json!({"pattern": "compute"}),
                (0..*lines)
                    .map(|line| format!("src/file_{}.rs:{line}:{}\n", line % 3, code(1, line)))
                    .collect(),
                false,
            ),
            Step::Ask { file } => {
                messages.push(json!({"role": "assistant", "content": "Shall I go on?"}));
                messages.push(json!({"role": "user", "content": format!("Yes, {}", path(file))}));
                continue;
            }
        };
        let mut content = Vec::new();
        if *thinks {
            content.push(json!({"type": "thinking", "thinking": "Hm.", "signature": "abcd"}));
        }
        let id = format!("call_{at}");
        content.push(json!({"type": "tool_use", "id": id, "name": name, "input": input}));
        messages.push(json!({"role": "assistant", "content": content}));
        messages.push(json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": id, "content": output, "is_error": is_error}]}));
    }
    messages
}

fn steps() -> impl Generator<Value = Vec<(Step, bool)>> {
    let step = prop_oneof![
        4 => (0..3_usize, 0..60_usize, 1..50_usize)
            .prop_map(|(file, from, lines)| Step::Read { file, from, lines }),
        3 => (0..3_usize, 0..60_usize, prop::bool::weighted(0.8))
            .prop_map(|(file, line, works)| Step::Edit { file, line, works }),
        3 => (1..120_usize).prop_map(|lines| Step::Run { lines }),
        1 => (1..40_usize).prop_map(|lines| Step::Search { lines }),
        1 => (0..3_usize).prop_map(|file| Step::Ask { file }),
    ];
    prop::collection::vec((step, prop::bool::weighted(0.2)), 1..60)
}

/// Settings of `steady` with which small conversations take rounds.
fn policy() -> impl Generator<Value = Policy> {
    let age = || prop::sample::select(vec![0, 1, 2, 3, 8]);
    let ages = (age(), age(), age(), age(), age(), age());
    let rounds = (0..2000_usize, 1..60_usize, 0..3_usize);
    let others = (
        prop::sample::select(vec![0, 25, 50, 100, 250]),
        prop::sample::select(vec![0, 100, 400]),
        0..3_usize,
    );
    (ages, rounds, others).prop_map(|(ages, rounds, (past, min_chars, after))| {
        let settings = [
            format!("stale-results.commands={}", ages.0),
            format!("stale-results.searches={}", ages.1),
            format!("stale-results.edits={}", ages.2),
            format!("stale-results.past_files={}", ages.3),
            format!("stale-results.named_files={}", ages.4),
            format!("stale-results.other_files={}", ages.5),
            format!("stale-results.past_percent={past}"),
            format!("stale-results.min_chars={min_chars}"),
            format!("replaced-text.after_requests={after}"),
            format!("rounds.min_gain_chars={}", rounds.0),
            format!("rounds.horizon={}", rounds.1),
            format!("rounds.retry_percent={}", rounds.2),
            "rounds.trigger_chars=0".to_owned(),
        ];
        Policy::resolve(Some("steady"), None, &settings).unwrap()
    })
}

fn folded(
    body: &str,
    policy: &Policy,
    is_bound: bool,
    strategies: &[&dyn Strategy],
) -> (Plan, Account) {
    let dialect = Dialect::AnthropicMessages;
    let view = wire::read(body.as_bytes(), dialect, &Limits::default()).unwrap();
    let model = ModelFacts {
        window_tokens: 200_000,
        thinking_is_bound: is_bound,
        may_drop_block: false,
    };
    let terms = Terms::of(Some("claude-opus-4-6"), Some(dialect));
    let markers = crate::cost::cache::markers(&view, terms.rules.kind);
    let client = MarkerPattern::of(&view, terms.rules, terms.cache, 2.6, &markers);
    let patterns = Patterns::new(&view, client, None);
    let inputs = PlanInputs::new(&view, model, None);
    let mut draft = Draft::new(&view);
    let account = fold(
        &inputs,
        &patterns,
        &policy.rounds,
        |_| true,
        strategies,
        &mut draft,
    );
    (draft.into_plan(), account)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_look_leads_to_the_rounds_of_a_plan_made_anew(
        steps in steps(),
        policy in policy(),
        is_bound in any::<bool>(),
    ) {
        let body = json!({"model": "claude", "messages": messages(&steps)}).to_string();
        let strategies = policy.strategies();
        let secretive: Vec<Secretive<'_>> = strategies.iter().map(|one| Secretive(*one)).collect();
        let secretive: Vec<&dyn Strategy> = secretive.iter().map(|one| one as _).collect();
        let (plan, account) = folded(&body, &policy, is_bound, &strategies);
        let (whole, whole_account) = folded(&body, &policy, is_bound, &secretive);
        prop_assert_eq!(plan.edits, whole.edits);
        prop_assert_eq!(plan.skips, whole.skips);
        let whole_account = Account { visits: account.visits, ..whole_account };
        prop_assert_eq!(account, whole_account);
    }

    #[test]
    fn what_a_note_points_to_is_above_it(steps in steps(), policy in policy()) {
        let body = json!({"model": "claude", "messages": messages(&steps)}).to_string();
        let (plan, _) = folded(&body, &policy, false, &policy.strategies());
        prop_assert_eq!(false_notes(&body, &plan), Vec::<String>::new());
    }
}

/// The lines that notes stand for and that do not stand above them.
fn false_notes(body: &str, plan: &Plan) -> Vec<String> {
    let dialect = Dialect::AnthropicMessages;
    let view = wire::read(body.as_bytes(), dialect, &Limits::default()).unwrap();
    let (mut above, mut missing) = (String::new(), Vec::new());
    for part in view.part_ids() {
        let came = view.text(part);
        let sent = plan.edits.iter().find_map(|edit| match &edit.action {
            Action::Rewrite(edited, pieces) if *edited == part => Some(pieces),
            _ => None,
        });
        let sent: String = match sent {
            None => came.to_string(),
            Some(pieces) => pieces
                .iter()
                .map(|piece| match piece {
                    Piece::Keep(range) => &came[range.clone()],
                    Piece::Note(words) => words,
                })
                .collect(),
        };
        let is_note = |line: &&str| {
            let ends = [" above]", " unchanged]", " as written]", " as shown]"];
            let is_first = line.contains(" unchanged since the earlier read of ");
            line.starts_with('[') && (is_first || ends.iter().any(|end| line.ends_with(end)))
        };
        for note in sent.lines().filter(is_note) {
            let words = note.trim_start_matches('[').split(' ');
            let is_number = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit());
            let numbers = words.into_iter().find(is_number).unwrap_or_default();
            if note.contains(&format!("{numbers} line")) {
                continue;
            }
            let (first, last) = numbers.split_once('-').unwrap_or((numbers, numbers));
            let (Ok(first), Ok(last)) = (first.parse::<usize>(), last.parse::<usize>()) else {
                continue;
            };
            for number in first..=last {
                let start = format!("{number:>6}→");
                let line = came
                    .lines()
                    .find_map(|line| line.strip_prefix(&start))
                    .unwrap();
                if !above.contains(line) {
                    missing.push(format!("{part:?}: {line}"));
                }
            }
        }
        above.push_str(&sent);
        above.push_str(&view.args(part));
    }
    missing
}

#[test]
fn a_result_that_notes_point_to_keeps_what_they_stand_for() {
    let read = |from, lines| {
        (
            Step::Read {
                file: 0,
                from,
                lines,
            },
            false,
        )
    };
    // A second reading points to a piece of the first one and is itself too short to be cleared.
    let mut steps = vec![read(0, 50), read(30, 25)];
    steps.extend((0..20).map(|_| (Step::Run { lines: 1 }, false)));
    let body = json!({"model": "claude", "messages": messages(&steps)}).to_string();
    let settings = [
        "rounds.trigger_chars=0",
        "rounds.min_gain_chars=0",
        "rounds.horizon=60",
        "stale-results.past_files=2",
        "stale-results.other_files=2",
        "stale-results.min_chars=2600",
    ];
    let policy = Policy::resolve(Some("steady"), None, &settings.map(str::to_owned)).unwrap();
    let (plan, _) = folded(&body, &policy, false, &policy.strategies());
    let around = plan
        .edits
        .iter()
        .find(|edit| edit.effect == crate::plan::edit::Effect::KeepsCitedLines);
    let around = around.expect("one result is cleared around a note");
    assert!(
        around.chars_after > 1300 && around.chars_after < 2200,
        "{around:?}"
    );
    assert_eq!(false_notes(&body, &plan), Vec::<String>::new());
}

#[test]
fn the_conversations_of_these_tests_take_rounds() {
    let steps: Vec<(Step, bool)> = (0..40)
        .map(|at| {
            let (file, from, lines) = (at % 2, at % 7 * 5, 40);
            let step = match at % 3 {
                0 => Step::Run { lines: 80 },
                _ => Step::Read { file, from, lines },
            };
            (step, false)
        })
        .collect();
    let body = json!({"model": "claude", "messages": messages(&steps)}).to_string();
    let settings = ["rounds.trigger_chars=0".to_owned()];
    let policy = Policy::resolve(Some("steady"), None, &settings).unwrap();
    let (_, account) = folded(&body, &policy, false, &policy.strategies());
    assert!(account.rounds > 2, "{account:?}");
}
