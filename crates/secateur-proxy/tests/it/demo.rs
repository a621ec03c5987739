//! The demonstration plays to its end by itself.

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
        "/metrics",
        "/w/steady-rag",
        "cost USD",
    ] {
        assert!(text.contains(words), "no {words} in\n{text}");
    }
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
