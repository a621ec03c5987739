use super::*;

fn check(script: &str, class: ToolClass, file: &str) {
    let file = Some(file.to_owned()).filter(|file| !file.is_empty());
    assert_eq!(
        effect_of(script),
        Some(ShellEffect { class, file }),
        "{script}"
    );
}

#[test]
fn a_command_in_a_script_is_what_the_command_does() {
    let head = "// @exec: {\"max_output_tokens\": 20000}\n";
    let run = |command: &str| {
        format!(
            "{head}const r = await tools.exec_command({{\"cmd\": {command}, \"max_output_tokens\": 2e4}});\ntext(r.output);"
        )
    };
    check(&run(r#""cat src/a.rs""#), ToolClass::Read, "src/a.rs");
    check(&run("'cat src/a.rs'"), ToolClass::Read, "src/a.rs");
    check(&run("`sed -n '1,20p' a.rs`"), ToolClass::Read, "a.rs");
    check(&run(r#""rg -n \"fn main\" src""#), ToolClass::Search, "");
    check(
        &run(r#"["bash", "-lc", "cat a.rs"]"#),
        ToolClass::Read,
        "a.rs",
    );
    check(&run(r#""cargo test 2>&1""#), ToolClass::Command, "");
    check(&run(r#""cat " + "a.rs""#), ToolClass::Read, "a.rs");
}

#[test]
fn a_patch_in_a_script_changes_its_file() {
    let patch = r#"*** Begin Patch\n*** Update File: src/a.rs\n@@\n-a\n+b\n*** End Patch"#;
    check(
        &format!("const r = await tools.apply_patch(\"{patch}\");\ntext(r);"),
        ToolClass::Edit,
        "src/a.rs",
    );
    check(
        "await tools.apply_patch(`*** Begin Patch\n*** Add File: b.rs\n+x\n*** End Patch`)",
        ToolClass::Edit,
        "b.rs",
    );
    check(
        "const p = '*** Begin Patch\\n*** Update File: a\\n*** End Patch'; await tools.apply_patch(p)",
        ToolClass::Edit,
        "a",
    );
}

#[test]
fn several_calls_are_read_together() {
    let two = |one: &str, other: &str| {
        format!(
            "const [a, b] = await Promise.all([\n  tools.exec_command({{cmd: '{one}'}}),\n  tools.exec_command({{cmd: '{other}'}}),\n]);"
        )
    };
    check(&two("cat a.rs", "cat b.rs"), ToolClass::Read, "");
    check(&two("cat a.rs", "cat a.rs"), ToolClass::Read, "a.rs");
    check(&two("rg x", "cat a.rs"), ToolClass::Read, "");
    check(&two("cat a.rs", "cargo test"), ToolClass::Command, "");
    check(
        "await tools.apply_patch('*** Begin Patch'); const r = await tools.exec_command({cmd:'cat a.rs'})",
        ToolClass::Read,
        "",
    );
    check(
        "await tools.update_plan({plan: []}); await tools.exec_command({cmd:'ls'})",
        ToolClass::Search,
        "",
    );
}

#[test]
fn what_is_known_only_at_run_time_has_no_file() {
    check(
        "for (const f of ['a', 'b']) { await tools.exec_command({cmd: `cat ${f}`}) }",
        ToolClass::Read,
        "",
    );
    check(
        "const cmd = 'cat a.rs'; await tools.exec_command({cmd})",
        ToolClass::Read,
        "a.rs",
    );
}

#[test]
fn a_script_that_is_not_understood_is_unknown() {
    for script in [
        "",
        "text('tools.exec_command({cmd: \"cat a\"})')",
        "// tools.exec_command({cmd: 'cat a'})",
        "/* tools.exec_command({cmd: 'cat a'}) ",
        "await tools.exec_command({cmd: commands[0]})",
        "await tools.exec_command(...rest)",
        "await tools.exec_command({cmd: 'cat a",
        "await tools.exec_command(",
        "my.tools.exec_command('cat a')",
        "tools",
        "tools.",
        "tools[",
        "tools['x'",
        "*** Begin Patch",
    ] {
        assert_eq!(effect_of(script), None, "{script}");
    }
    assert_eq!(
        first_command("await tools['exec_command']({'cmd': 'ls -R'})").as_deref(),
        Some("ls -R")
    );
}

proptest::proptest! {
    #[test]
    fn any_text_is_read_to_its_end(script in r#"[\x00-\x7fé]{0,40}(tools\.x\(|`|"|'|\{|\$\{|/\*|\[){0,6}[\x00-\x7f漢]{0,40}"#) {
        let _ = effect_of(&script);
        let _ = first_command(&script);
    }
}
