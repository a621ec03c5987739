//! The demonstration plays to its end by itself.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use secateur_core::policy::PRESETS;
use secateur_proxy::cli::{DemoOptions, demo};

#[test]
fn it_says_what_was_saved_and_where_to_look() {
    let mut out = Vec::new();
    demo(&DemoOptions::default(), &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    for words in [
        "Playing",
        "in front of a strict provider",
        "steady-rag",
        "cost USD",
        "secateur demo --keep",
    ] {
        assert!(text.contains(words), "no {words} in\n{text}");
    }
    assert!(
        !text.contains("/metrics"),
        "addresses that are gone help nobody\n{text}"
    );
    assert!(!text.contains("sk-"), "no key is needed\n{text}");
}

#[test]
fn the_provider_takes_what_every_preset_makes_of_the_sessions() {
    for preset in PRESETS.iter().filter(|preset| preset.name != "steady") {
        let options = DemoOptions {
            preset: Some(preset.name.to_owned()),
            ..DemoOptions::default()
        };
        demo(&options, &mut Vec::new()).unwrap_or_else(|error| panic!("{}: {error}", preset.name));
    }
}

const KEEPS: &str = "SECATEUR_TEST_DEMO";

/// Not a test: this program, run again with the variable set, is the demonstration.
#[test]
fn stays_up_when_it_is_run_as_the_demonstration() {
    if std::env::var_os(KEEPS).is_some() {
        let options = DemoOptions {
            keep: true,
            preset: Some("tessera".into()),
            ..DemoOptions::default()
        };
        demo(&options, &mut std::io::stdout()).unwrap();
    }
}

#[cfg(unix)]
#[test]
fn one_that_is_told_to_end_leaves_nothing_behind() {
    for until in ["Playing", "Staying up"] {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "demo::stays_up_when_it_is_run_as_the_demonstration",
            ])
            .arg("--nocapture")
            .env(KEEPS, "1")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let seen = lines.find(|line| line.as_ref().is_ok_and(|line| line.starts_with(until)));
        assert!(seen.is_some(), "{until}");
        let id = child.id().to_string();
        let told = Command::new("kill").args(["-TERM", &id]).status().unwrap();
        assert!(told.success() && child.wait().unwrap().success(), "{until}");
        let folder = std::env::temp_dir().join(format!("secateur-demo-{id}-0"));
        assert!(!folder.exists(), "{}", folder.display());
    }
}
