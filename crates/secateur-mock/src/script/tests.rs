use super::*;
use crate::answer::CallInput;
use serde_json::json;

fn script() -> Script {
    let text = json!({"turns":[
        {"prompt":"raise the limit","steps":[
            [{"read":"src/a.rs"}],
            [{"search":"limit","folder":"src"},{"shell":"./build.sh"}],
            [{"edit":"src/a.rs","old":"1","new":"2"}]]},
        {"prompt":"thanks, note it","steps":[[{"write":"NOTES.md","text":"a\nb\n"}]]}]});
    Script::read(&text.to_string(), Path::new("/project")).unwrap()
}

fn claude(messages: &[Value]) -> Value {
    let tool = |name: &str| json!({"name":name,"input_schema":{"properties":{}}});
    json!({"model":"claude-opus-4-6","tools":[tool("Read"),tool("Bash"),tool("Edit"),tool("Write")],"messages":messages})
}

fn user(text: &str) -> Value {
    json!({"role":"user","content":[{"type":"text","text":format!("context\n{text}")}]})
}

fn names(answer: &Answer) -> Vec<&str> {
    answer.calls.iter().map(|call| call.name.as_str()).collect()
}

/// Plays an agent that makes every call it is asked for, and returns the names of the called tools.
fn play(script: &Script, prompts: &[&str]) -> Vec<String> {
    let (mut messages, mut called) = (Vec::new(), Vec::new());
    for prompt in prompts {
        messages.push(user(prompt));
        loop {
            let (answer, _) = script.answer(Api::Messages, &claude(&messages), 1);
            if answer.calls.is_empty() {
                messages.push(json!({"role":"assistant","content":answer.text}));
                break;
            }
            called.extend(names(&answer).into_iter().map(str::to_owned));
            let calls: Vec<Value> = answer
                .calls
                .iter()
                .map(|call| json!({"type":"tool_use","id":format!("toolu_{:016x}", call.number),"name":call.name}))
                .collect();
            messages.push(json!({"role":"assistant","content":calls}));
        }
    }
    called
}

#[test]
fn leads_through_all_turns_and_calls_parallel_operations_together() {
    let called = play(
        &script(),
        &["Please raise the limit.", "ok: thanks, note it"],
    );
    assert_eq!(called, ["Read", "Bash", "Bash", "Edit", "Write"]);
    let called = play(&script(), &["Please raise the limit."]);
    assert_eq!(
        called,
        ["Read", "Bash", "Bash", "Edit"],
        "the second turn waits for its prompt"
    );
}

#[test]
fn the_step_is_known_where_calls_were_removed_from_the_request() {
    let call = json!({"role":"assistant","content":[
        {"type":"tool_use","id":format!("toolu_{:016x}", first_number(2)),"name":"Bash"}]});
    let (answer, progress) =
        script().answer(Api::Messages, &claude(&[user("raise the limit"), call]), 1);
    assert_eq!(names(&answer), ["Edit"]);
    assert_eq!(
        progress,
        Some(Progress {
            turn: 0,
            calls: 3,
            is_finished: false
        })
    );
}

#[test]
fn a_request_without_an_agents_tools_gets_a_text() {
    let body = json!({"model":"m","messages":[user("raise the limit")]});
    let (answer, progress) = script().answer(Api::Messages, &body, 1);
    assert!(answer.calls.is_empty() && !answer.text.is_empty() && progress.is_none());
}

#[test]
fn every_agent_gets_its_own_tools() {
    let first = |api: Api, body: Value| {
        let (answer, _) = script().answer(api, &body, 1);
        let call = answer.calls.into_iter().next().unwrap();
        (call.name, call.input)
    };
    let with =
        |tools: Value| json!({"tools":tools,"input":[{"role":"user","content":"raise the limit"}]});
    let (name, input) = first(
        Api::Responses,
        with(json!([{"type":"function","name":"exec_command"}])),
    );
    assert_eq!(
        (name.as_str(), &input.arguments()["cmd"]),
        ("exec_command", &json!("cat src/a.rs"))
    );
    let nested = json!({"input":[
        {"type":"additional_tools","tools":[{"type":"namespace","name":"functions","tools":[{"type":"custom","name":"exec"}]}]},
        {"role":"user","content":"raise the limit"}]});
    let (name, input) = first(Api::Responses, nested);
    assert!(
        name == "exec"
            && matches!(&input, CallInput::Text(text) if text.contains(r#""cmd":"cat src/a.rs""#)),
        "{input:?}"
    );
    let gemini = json!({"tools":[{"functionDeclarations":[{"name":"run_shell_command"}]}],
        "contents":[{"role":"user","parts":[{"text":"raise the limit"}]}]});
    let (name, input) = first(Api::Gemini, gemini);
    assert_eq!(
        (name.as_str(), &input.arguments()["file_path"]),
        ("read_file", &json!("/project/src/a.rs"))
    );
    for (argument, path) in [("filePath", "filePath"), ("path", "path")] {
        let tools =
            json!([{"name":"read","input_schema":{"properties":{argument:{}}}},{"name":"bash"}]);
        let body = json!({"tools":tools,"messages":[user("raise the limit")]});
        let (name, input) = first(Api::Messages, body);
        assert_eq!(
            (name.as_str(), &input.arguments()[path]),
            ("read", &json!("/project/src/a.rs"))
        );
    }
}

#[test]
fn one_call_at_a_time_where_the_request_wants_it() {
    let body = json!({"parallel_tool_calls":false,"tools":[{"type":"function","name":"exec_command"}],"input":[
        {"role":"user","content":"raise the limit"},
        {"type":"function_call","call_id":format!("call_{:016x}", first_number(0))}]});
    assert_eq!(script().answer(Api::Responses, &body, 1).0.calls.len(), 1);
}

#[test]
fn says_what_is_wrong_with_a_script() {
    let read = |text: &str| Script::read(text, Path::new("/")).unwrap_err().to_string();
    assert!(read("{}").contains("turns"));
    let wrong = r#"{"turns":[{"prompt":"p","steps":[[{"fly":"home"}]]}]}"#;
    assert!(read(wrong).contains("turns[0].steps[0]"), "{}", read(wrong));
}
