//! Ids by which cut text can be asked for.

use secateur_core::Dialect;
use secateur_core::policy::Policy;
use secateur_core::recall::{RecallId, removed};
use secateur_core::{Request, prune};
use serde_json::json;

use super::conversation::{Step, assistant, body, tool, user};

fn steps() -> Vec<Step> {
    let mut steps = vec![user("fix the build")];
    for at in 0..12 {
        let output = format!("output {at}: caf\u{e9}\n").repeat(900);
        steps.push(tool(
            "bash",
            json!({"command": format!("make {at}")}),
            output,
        ));
        steps.push(assistant("next"));
    }
    steps.extend([user("and now?"), assistant("done"), user("thanks")]);
    steps
}

fn request(dialect: Dialect) -> Request<'static> {
    Request {
        dialect: Some(dialect),
        ..Request::default()
    }
}

#[test]
fn every_placeholder_carries_the_id_of_the_text_that_was_there() {
    for preset in ["openclaw-aggressive", "steady"] {
        for dialect in Dialect::ALL {
            let body = body(dialect, "", &steps());
            let settings = ["recall=placeholder".to_owned()];
            let policy = Policy::resolve(Some(preset), None, &settings).unwrap();
            let outcome = prune(body.as_bytes(), &request(dialect), &policy);
            let out = String::from_utf8_lossy(&outcome.body);
            let cut = removed(body.as_bytes(), &request(dialect), &outcome.report.plan).unwrap();
            assert!(!cut.is_empty(), "{preset} {dialect}");
            for text in &cut {
                assert_eq!(text.id, RecallId::of(&text.text));
                assert!(text.text.contains("output ") && text.text.len() > 1_000);
                assert!(
                    out.contains(&format!("[recall:{}]", text.id)),
                    "{preset} {dialect}"
                );
                let after = text.after.as_deref().unwrap_or_default();
                let spelled = serde_json::to_string(after).unwrap();
                assert!(
                    out.contains(spelled.trim_matches('"')),
                    "{preset} {dialect}: {after}"
                );
                let in_report = outcome.report.cuts.iter();
                assert!(in_report.clone().any(|cut| cut.recall == Some(text.id)));
            }
            assert_eq!(out.matches("[recall:").count(), cut.len());
            let again = prune(out.as_bytes(), &request(dialect), &policy);
            assert_eq!(again.body, out.as_bytes(), "{preset} {dialect}");
        }
    }
}

#[test]
fn ids_in_the_report_leave_the_bytes_as_they_are_without_them() {
    for dialect in Dialect::ALL {
        let body = body(dialect, "", &steps());
        let with = |setting: &str| {
            let policy = Policy::resolve(Some("openclaw-aggressive"), None, &[setting.to_owned()]);
            prune(body.as_bytes(), &request(dialect), &policy.unwrap())
        };
        let (off, report) = (with("recall=off"), with("recall=report"));
        assert_eq!(off.body, report.body);
        assert!(off.report.cuts.iter().all(|cut| cut.recall.is_none()));
        assert!(report.report.cuts.iter().all(|cut| cut.recall.is_some()));
    }
}
