use super::*;

#[test]
fn the_running_mean_looks_back_over_a_window() {
    let score = |at: i64, score: f64| Score {
        id: at.to_string(),
        at,
        request: None,
        workload: "w".into(),
        stack: "m7".into(),
        scorer: "client".into(),
        score,
    };
    let scores: Vec<Score> = (0..60)
        .rev()
        .map(|at| score(at, if at < 30 { 1.0 } else { 0.0 }))
        .collect();
    let points = running(&scores);
    assert_eq!(points.len(), 60);
    assert!((points[29].1 - 1.0).abs() < 1e-12 && points[59].1.abs() < 1e-12);
    assert!((points[44].1 - 0.5).abs() < 1e-12);
}

#[test]
fn a_loss_against_held_out_sessions_is_more_and_not_less_than_nothing() {
    let loss = Holdout {
        held_sessions: 3,
        pruned_sessions: 30,
        saving: -0.03,
        low: -0.08,
        high: 0.02,
        ..Holdout::default()
    };
    let view = holdout(&loss).unwrap();
    assert_eq!(
        (&*view.saving, view.way, view.is_loss),
        ("3.0 %", "more", true)
    );
    assert_eq!((&*view.low, &*view.high), ("8.0 % more", "2.0 % less"));
    let picture = view.picture.to_string();
    assert!(
        picture.contains(">8.0 % more<") && picture.contains(">2.0 % less<"),
        "{picture}"
    );
}

fn standing(samples: usize, mean: f64, is_breach: bool) -> Standing {
    Standing {
        verdict: Verdict {
            mean,
            samples,
            log_evidence: 0.0,
            is_breach,
        },
        floor: 0.95,
        noise: None,
        min_samples: 30,
    }
}

#[test]
fn a_verdict_is_the_canarys_own() {
    let told = |samples, mean, is_breach| verdict(&standing(samples, mean, is_breach), false);
    assert_eq!(told(0, 1.0, false), (String::new(), ""));
    assert_eq!(
        told(3, 1.0, false),
        ("3 of 30 scores, no verdict yet".into(), "")
    );
    assert_eq!(told(30, 0.5, true).1, "bad");
    assert_eq!(told(30, 0.94, false).1, "warn");
    assert_eq!(told(30, 0.96, false).1, "good");
    assert_eq!(verdict(&standing(0, 1.0, false), true).0, "switched off");
}

#[test]
fn noise_is_named_in_the_legend_and_is_no_stack() {
    let day = |stack: &str| DayScore {
        day: "2026-11-16".into(),
        stack: stack.into(),
        samples: 31,
        mean: 0.6,
    };
    let data = QualityData {
        day_scores: vec![day(STACK_OF_ORIGINALS), day("m7")],
        standings: BTreeMap::from([("m7".to_owned(), standing(31, 0.6, false))]),
        ..QualityData::default()
    };
    let lines = stack_lines(&data, &Controls::default());
    assert_eq!(lines.len(), 1);
    let chart = scores_chart(&data);
    let names: Vec<&str> = chart.series.iter().map(|series| &*series.name).collect();
    assert_eq!(names, ["m7", "original against itself (noise)"]);
}

#[test]
fn a_holdout_tells_whether_its_interval_is_clear_of_zero() {
    let told = |low, high| {
        holdout(&Holdout {
            held_sessions: 3,
            pruned_sessions: 30,
            saving: (low + high) / 2.0,
            low,
            high,
            ..Holdout::default()
        })
        .unwrap()
        .verdict
    };
    assert!(told(0.1, 0.3).contains("real"));
    assert!(told(-0.3, -0.1).contains("costs more"));
    assert!(told(-0.1, 0.3).contains("Not settled"));
    assert!(holdout(&Holdout::default()).is_none());
}
