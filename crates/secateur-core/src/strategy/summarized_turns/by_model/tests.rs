//! What is planned with a summary, without one, and while it is not there.

use std::collections::BTreeMap;

use crate::plan::edit::SkipReason;
use crate::plan::summary::{Found, Summaries, SummaryKey};
use crate::policy::Policy;
use crate::read::dialect::Dialect;
use crate::strategy::tests::bodies::{Say, body, exchange, model, user};
use crate::{Outcome, Request, prune};

#[derive(Debug, Default)]
struct Known(BTreeMap<SummaryKey, Found>);

impl Summaries for Known {
    fn find(&self, key: &SummaryKey) -> Found {
        self.0.get(key).cloned().unwrap_or(Found::Missing)
    }
}

/// user, call, result, answer, so many times over.
fn session(rounds: usize) -> Vec<Say> {
    let mut says = Vec::new();
    for at in 0..rounds {
        says.push(user(&format!("question {at}, in some more words")));
        let result = format!("result {at} {}", "r".repeat(400));
        says.extend(exchange("read", &result));
        says.push(model(&format!("answer {at}")));
    }
    says.push(user("and now?"));
    says
}

fn run<'b>(dialect: Dialect, body: &'b [u8], known: Option<&Known>, options: &str) -> Outcome<'b> {
    let policy = format!(
        "[m7]\nenabled = true\nmin_messages = 0\nmin_body_chars = 0\nstrategies = [\"summarized-turns\"]\n\
         [summarized-turns]\nmax_turns = 4\nsummary = \"model\"\nsummary_model = \"small\"\n{options}\n"
    );
    let policy = Policy::resolve(None, Some(&policy), &[]).unwrap();
    let request = Request {
        dialect: Some(dialect),
        summaries: known.map(|known| known as &dyn Summaries),
        ..Request::default()
    };
    let outcome = prune(body, &request, &policy);
    assert!(outcome.error.is_none(), "{dialect}: {:?}", outcome.error);
    outcome
}

fn text(outcome: &Outcome<'_>) -> String {
    String::from_utf8(outcome.body.to_vec()).unwrap()
}

#[test]
fn a_missing_summary_is_asked_for_and_replaces_its_turns_once_it_is_there() {
    for dialect in Dialect::ALL {
        let body = body(dialect, &session(4));
        let mut known = Known::default();
        let before = run(dialect, body.as_bytes(), Some(&known), "");
        assert!(
            text(&before).contains("9 turns summarized]\\nTools called: read"),
            "{dialect}: the digest is used meanwhile"
        );
        let [wanted] = &before.wanted[..] else {
            panic!("{dialect}: {:?}", before.wanted);
        };
        assert_eq!(before.report.missing_summaries, [wanted.key]);
        assert_eq!(wanted.model, "small");
        let transcript = &wanted.transcript;
        assert!(transcript.starts_with("User: question 0, in some more words\n\nAssistant calls"));
        assert!(transcript.contains("Result: result 1 rrr"), "{transcript}");
        assert!(!transcript.contains("and now?"), "only what is dropped");
        assert!(!format!("{:?}", before.wanted).contains("question"));

        known
            .0
            .insert(wanted.key, Found::Ready(" They read \"things\". \n".into()));
        let with = run(dialect, body.as_bytes(), Some(&known), "");
        assert!(
            text(&with).contains(r#"9 turns summarized]\nThey read \"things\".""#),
            "{dialect}: {}",
            text(&with)
        );
        assert!(with.wanted.is_empty() && with.report.missing_summaries.is_empty());
        let again = run(dialect, &with.body, Some(&known), "");
        assert_eq!(again.body, with.body, "{dialect}: not idempotent");

        known.0.insert(wanted.key, Found::Declined);
        let declined = run(dialect, body.as_bytes(), Some(&known), "");
        assert_eq!(declined.body, before.body, "{dialect}");
        assert!(declined.wanted.is_empty());
    }
}

#[test]
fn the_turns_after_a_summary_change_in_steps() {
    for dialect in Dialect::ALL {
        let keys: Vec<SummaryKey> = (4..11)
            .map(|rounds| {
                let body = body(dialect, &session(rounds));
                run(dialect, body.as_bytes(), Some(&Known::default()), "").wanted[0].key
            })
            .collect();
        // 17 turns to 41, 13 to 37 of them old: steps of ten end at 10, 20 and 30.
        assert!(keys[0] == keys[1] && keys[1] != keys[2], "{dialect}");
        assert!(keys[2] == keys[3] && keys[3] != keys[5], "{dialect}");
        let mut different = keys.clone();
        different.dedup();
        assert_eq!(different.len(), 3, "{dialect}");
    }
}

#[test]
fn a_key_stands_for_the_content_and_not_for_its_spelling() {
    let known = Known::default();
    let key = |body: &str, options: &str| {
        run(Dialect::OpenaiChat, body.as_bytes(), Some(&known), options).wanted[0].key
    };
    let spelled = body(Dialect::OpenaiChat, &session(4));
    let otherwise = spelled
        .replace("question 0", "\\u0071uestion 0")
        .replace("{\"content\"", "{ \"content\"");
    assert_ne!(spelled, otherwise);
    assert_eq!(key(&spelled, ""), key(&otherwise, ""));
    let changed = spelled.replace("result 0 r", "result 0 s");
    assert_ne!(key(&spelled, ""), key(&changed, ""));
    let other_model = spelled.clone();
    let policy = |model: &str| {
        let text = format!(
            "[m7]\nenabled = true\nmin_messages = 0\nstrategies = [\"summarized-turns\"]\n\
             [summarized-turns]\nmax_turns = 4\nsummary = \"model\"\nsummary_model = \"{model}\"\n"
        );
        let request = Request {
            summaries: Some(&known),
            ..Request::default()
        };
        let policy = Policy::resolve(None, Some(&text), &[]).unwrap();
        prune(other_model.as_bytes(), &request, &policy).wanted[0].key
    };
    assert_ne!(policy("small"), policy("large"));
}

#[test]
fn an_earlier_summary_is_used_until_the_new_one_is_there() {
    let options = "summary_on_miss = \"earlier\"";
    for dialect in Dialect::ALL {
        let mut known = Known::default();
        let short = body(dialect, &session(4));
        let first = run(dialect, short.as_bytes(), Some(&known), options);
        assert_eq!(first.body, short.as_bytes(), "{dialect}: nothing is cut");
        assert_eq!(
            first.report.plan.skips[0].reason,
            SkipReason::SummaryIsMissing
        );
        let key = first.wanted[0].key;
        known.0.insert(key, Found::Ready("The first ten.".into()));
        let second = run(dialect, short.as_bytes(), Some(&known), options);
        let long = body(dialect, &session(7));
        let third = run(dialect, long.as_bytes(), Some(&known), options);
        assert_ne!(third.wanted[0].key, key);
        // Up to the end of the shorter conversation the bytes are the same.
        let shared = text(&second)
            .bytes()
            .zip(text(&third).bytes())
            .take_while(|(a, b)| a == b)
            .count();
        assert!(
            text(&second)[..shared].contains("answer 3"),
            "{dialect}: {}",
            &text(&second)[..shared]
        );
    }
}

#[test]
fn without_anybody_who_makes_summaries_the_digest_is_used() {
    let body = body(Dialect::OpenaiChat, &session(4));
    let outcome = run(Dialect::OpenaiChat, body.as_bytes(), None, "");
    assert!(text(&outcome).contains("Tools called: read"));
    assert!(outcome.wanted.is_empty());
    assert_eq!(outcome.report.missing_summaries.len(), 1);
}

#[test]
fn a_summary_that_is_longer_than_its_turns_is_not_used() {
    let body = body(Dialect::OpenaiChat, &session(4));
    let mut known = Known::default();
    let key = run(Dialect::OpenaiChat, body.as_bytes(), Some(&known), "").wanted[0].key;
    known.0.insert(key, Found::Ready("x".repeat(9000).into()));
    let outcome = run(Dialect::OpenaiChat, body.as_bytes(), Some(&known), "");
    assert!(outcome.body.len() < body.len());
    assert!(text(&outcome).contains("Tools called: read"));
}

#[test]
fn a_policy_that_asks_a_model_must_name_it() {
    let text = "[m7]\nenabled = true\n[summarized-turns]\nsummary = \"model\"\n";
    let error = Policy::resolve(None, Some(text), &[]).unwrap_err();
    assert!(error.message.contains("on line 4"), "{error}");
    let setting = ["summarized-turns.summary_model=small".to_owned()];
    Policy::resolve(None, Some(text), &setting).unwrap();
}
