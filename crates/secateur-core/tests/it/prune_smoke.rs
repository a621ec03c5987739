//! One long conversation through the whole flow, in every dialect.

use std::borrow::Cow;

use secateur_core::Dialect;
use secateur_core::policy::Policy;
use secateur_core::report::Verdict;
use secateur_core::{Request, prune};

fn conversation(dialect: Dialect, turns: usize) -> String {
    let turn = |at: usize| {
        let (role, text) = if at.is_multiple_of(2) {
            ("user", "question")
        } else {
            ("assistant", "answer")
        };
        match dialect {
            Dialect::GeminiGenerateContent => {
                let role = if role == "assistant" { "model" } else { role };
                format!(r#"{{"role":"{role}","parts":[{{"text":"{text} {at}"}}]}}"#)
            }
            _ => format!(r#"{{"role":"{role}","content":"{text} {at}"}}"#),
        }
    };
    let turns: Vec<String> = (0..turns).map(turn).collect();
    let key = dialect.facts().list_key;
    format!(
        r#"{{"model":"m", "{key}": [ {} ] , "x":1.0}}"#,
        turns.join(" , ")
    )
}

#[test]
fn drops_the_middle_and_leaves_every_other_byte() {
    let policy = Policy::preset("tessera").unwrap();
    for dialect in Dialect::ALL {
        let request = Request {
            dialect: Some(dialect),
            ..Request::default()
        };
        let body = conversation(dialect, 21);
        let outcome = prune(body.as_bytes(), &request, &policy);
        assert_eq!(
            outcome.report.verdict,
            Verdict::Pruned,
            "{dialect}: {:?}",
            outcome.error
        );
        let out = String::from_utf8(outcome.body.into_owned()).unwrap();
        assert_eq!(outcome.report.turns_removed, 12, "{dialect}");
        assert!(
            out.contains("question 0\"")
                && out.contains("answer 13\"")
                && !out.contains("question 12\"")
        );
        assert!(
            out.starts_with(&body[..20]) && out.ends_with(" ] , \"x\":1.0}"),
            "{out}"
        );
        let again = prune(out.as_bytes(), &request, &policy);
        assert!(matches!(again.body, Cow::Borrowed(_)), "idempotent");
    }
}

#[test]
fn short_conversations_come_back_as_the_same_slice() {
    let policy = Policy::preset("tessera").unwrap();
    for dialect in Dialect::ALL {
        let request = Request {
            dialect: Some(dialect),
            ..Request::default()
        };
        let body = conversation(dialect, 12);
        let outcome = prune(body.as_bytes(), &request, &policy);
        assert!(matches!(outcome.body, Cow::Borrowed(same) if std::ptr::eq(same, body.as_bytes())));
    }
}
