use super::*;

fn read(kind: &str, body: &[u8], chunk: usize) -> Option<Usage> {
    let mut reader = UsageReader::new(Some(kind), Encoding::Identity).unwrap();
    for chunk in body.chunks(chunk) {
        reader.feed(chunk);
    }
    reader.usage()
}

/// Input, cache read, cache write, output, reasoning, model.
type Expected = (
    u64,
    Option<u64>,
    Option<u64>,
    u64,
    Option<u64>,
    &'static str,
);

#[track_caller]
fn counts(kind: &str, body: &str, expected: Expected) {
    // Every way to cut a body: through characters, lines and events.
    for chunk in [1, 2, 3, 7, 64, usize::MAX] {
        let usage = read(kind, body.as_bytes(), chunk.min(body.len().max(1))).unwrap_or_default();
        let found = (
            usage.input_tokens.unwrap_or(0),
            usage.cache_read_tokens,
            usage.cache_write_tokens,
            usage.output_tokens.unwrap_or(0),
            usage.reasoning_tokens,
            usage.model.as_deref().unwrap_or(""),
        );
        assert_eq!(found, expected, "in chunks of {chunk}");
    }
}

const JSON: &str = "application/json; charset=utf-8";
const EVENTS: &str = "text/event-stream";

#[test]
fn reads_the_counts_of_every_dialect_from_json() {
    counts(
        JSON,
        r#"{"id":"x","model":"gpt-5","choices":[{"message":{"content":"é \"usage\":{\"prompt_tokens\":9}","model":"no"}}],
        "usage":{"prompt_tokens":100,"completion_tokens":20,"prompt_tokens_details":{"cached_tokens":64},"completion_tokens_details":{"reasoning_tokens":5}}}"#,
        (100, Some(64), None, 20, Some(5), "gpt-5"),
    );
    counts(
        JSON,
        r#"{"model":"gpt-5","output":[{"usage":{"input_tokens":1}}],"usage":{"input_tokens":100,"input_tokens_details":{"cached_tokens":30},"output_tokens":7,"output_tokens_details":{"reasoning_tokens":0}}}"#,
        (100, Some(30), None, 7, Some(0), "gpt-5"),
    );
    counts(
        JSON,
        r#"{"type":"message","content":[{"type":"tool_use","input":{"usage":{"input_tokens":5}}}],"model":"claude","usage":{"input_tokens":10,"cache_creation_input_tokens":20,"cache_read_input_tokens":70,"output_tokens":8}}"#,
        (100, Some(70), Some(20), 8, None, "claude"),
    );
    counts(
        JSON,
        r#"{"candidates":[],"usageMetadata":{"promptTokenCount":50,"candidatesTokenCount":4,"thoughtsTokenCount":6,"cachedContentTokenCount":12},"modelVersion":"gemini"}"#,
        (50, Some(12), None, 10, Some(6), "gemini"),
    );
}

#[test]
fn reads_the_counts_of_every_dialect_from_events() {
    counts(
        EVENTS,
        "data: {\"model\":\"gpt-5\",\"choices\":[{\"delta\":{\"content\":\"naïve 了 \\\" data: {\"}}],\"usage\":null}\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":4}}\n\ndata: [DONE]\n\n",
        (3, None, None, 4, None, "gpt-5"),
    );
    counts(
        EVENTS,
        "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"model\":\"gpt-5\",\"usage\":null}}\n\nevent: response.completed\ndata: {\"response\":{\"output\":[{\"text\":\"x\"}],\"usage\":{\"input_tokens\":11,\"output_tokens\":5}}}\n\n",
        (11, None, None, 5, None, "gpt-5"),
    );
    counts(
        EVENTS,
        ": comment\r\nevent: message_start\r\ndata: {\"type\":\"message_start\",\"message\":{\"model\":\"claude\",\"usage\":{\"input_tokens\":2,\"cache_creation_input_tokens\":3,\"cache_read_input_tokens\":4,\"output_tokens\":1}}}\r\n\r\nevent: message_delta\r\ndata: {\"type\":\"message_delta\",\"delta\":{\"usage\":{\"output_tokens\":99}},\"usage\":{\"output_tokens\":25}}\r\n\r\n",
        (9, Some(4), Some(3), 25, None, "claude"),
    );
    counts(
        EVENTS,
        "data:{\"usageMetadata\":{\"promptTokenCount\":5},\"modelVersion\":\"gemini\"}\r\n\r\ndata: {\"usageMetadata\":{\"promptTokenCount\":5,\"candidatesTokenCount\":6}}\r\n\r\n",
        (5, None, None, 6, None, "gemini"),
    );
    counts(
        JSON,
        "[{\"usageMetadata\":{\"promptTokenCount\":5},\"modelVersion\":\"gemini\"},\r\n{\"usageMetadata\":{\"promptTokenCount\":5,\"candidatesTokenCount\":6}}]",
        (5, None, None, 6, None, "gemini"),
    );
}

#[test]
fn nonsense_and_huge_values_cost_neither_memory_nor_counts() {
    let huge = format!(
        r#"{{"usage":{{"x":"{}"}},"usage":{{"prompt_tokens":1}}}}"#,
        "y".repeat(100_000)
    );
    counts(JSON, &huge, (1, None, None, 0, None, ""));
    for nonsense in [
        "",
        "}}}}",
        "{\"usage\":",
        "[[[[{\"usage\":{\"prompt_tokens\":1}}]]]]",
        "\"\\",
        "{\"usage\":5}",
        "data",
    ] {
        assert_eq!(read(JSON, nonsense.as_bytes(), 1), None, "{nonsense}");
        assert_eq!(read(EVENTS, nonsense.as_bytes(), 1), None, "{nonsense}");
    }
    let deep = "[".repeat(10_000) + &"]".repeat(10_000);
    assert_eq!(read(JSON, deep.as_bytes(), 64), None);
}

#[test]
fn other_kinds_of_responses_are_not_read() {
    assert!(UsageReader::new(Some("image/png"), Encoding::Identity).is_none());
    assert!(UsageReader::new(None, Encoding::Identity).is_none());
    assert!(UsageReader::new(Some(JSON), Encoding::Zstd).is_none());
}

fn usage_of(json: &str) -> Usage {
    read(JSON, format!("{{\"usage\":{json}}}").as_bytes(), 64).unwrap()
}

/// One response put 207 trillion dollars into the sums, for good.
#[test]
fn counts_that_cannot_be_true_are_left_out_and_marked() {
    let most = u64::MAX;
    for json in [
        format!(r#"{{"prompt_tokens":{most},"completion_tokens":{most}}}"#),
        format!(
            r#"{{"input_tokens":{most},"cache_read_input_tokens":{most},"cache_creation_input_tokens":{most},"output_tokens":1}}"#
        ),
        format!(
            r#"{{"promptTokenCount":{most},"candidatesTokenCount":{most},"thoughtsTokenCount":{most}}}"#
        ),
        r#"{"prompt_tokens":100000001,"completion_tokens":100000001}"#.to_owned(),
    ] {
        let usage = usage_of(&json);
        assert!(usage.is_implausible, "{json}");
        assert_eq!(usage.input_tokens, None, "{json}");
        assert!(usage.output_tokens.unwrap_or(0) <= 1, "{json}: {usage:?}");
        let prices = secateur_core::models::prices(Some("gpt-5")).unwrap();
        assert_eq!(usage.usd(&prices), None, "{json}");
    }
}

#[test]
fn a_part_is_not_more_than_its_whole() {
    let usage = usage_of(
        r#"{"prompt_tokens":100,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":101,"cache_write_tokens":3},"completion_tokens_details":{"reasoning_tokens":9}}"#,
    );
    assert!(usage.is_implausible);
    assert_eq!(
        (
            usage.input_tokens,
            usage.cache_read_tokens,
            usage.cache_write_tokens
        ),
        (Some(100), Some(100), Some(0))
    );
    assert_eq!(
        (usage.output_tokens, usage.reasoning_tokens),
        (Some(5), Some(5))
    );
    let plain = usage_of(
        r#"{"input_tokens":10,"cache_creation_input_tokens":20,"cache_read_input_tokens":70,"output_tokens":8}"#,
    );
    assert!(!plain.is_implausible);
}
