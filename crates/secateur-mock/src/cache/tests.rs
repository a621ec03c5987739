use super::*;
use serde_json::json;

const MINUTE: Duration = Duration::from_secs(60);
const CLAUDE: &str = "claude-sonnet-4-5";

/// A text of about `tokens` Claude tokens that differs from others by `name`.
fn words(name: &str, tokens: usize) -> String {
    format!("{name} ").repeat((tokens as f64 * 2.6) as usize / (name.len() + 1))
}

/// One user message with a block for each text; a text that ends with `*` carries a marker.
fn body(texts: &[String]) -> Value {
    let block = |text: &String| match text.strip_suffix('*') {
        Some(text) => json!({"type":"text","text":text,"cache_control":{"type":"ephemeral"}}),
        None => json!({"type":"text","text":text}),
    };
    let blocks: Vec<Value> = texts.iter().map(block).collect();
    json!({"messages":[{"role":"user","content":blocks}]})
}

fn numbered(count: usize) -> Vec<String> {
    (0..count)
        .map(|at| words(&format!("block{at}"), 600))
        .collect()
}

fn with_marker(mut texts: Vec<String>) -> Value {
    if let Some(last) = texts.last_mut() {
        last.push('*');
    }
    body(&texts)
}

#[test]
fn claude_caches_nothing_without_a_marker() {
    let mut cache = PromptCache::default();
    let plain = body(&numbered(5));
    cache.count(Api::Messages, CLAUDE, &plain);
    let second = cache.count(Api::Messages, CLAUDE, &plain);
    assert_eq!(
        (second.cache_read_tokens, second.cache_write_tokens),
        (0, 0)
    );
}

#[test]
fn a_marker_finds_an_entry_within_twenty_checks_and_not_beyond() {
    for (added, is_found) in [(1, true), (19, true), (20, false)] {
        let mut cache = PromptCache::default();
        let first = cache.count(Api::Messages, CLAUDE, &with_marker(numbered(4)));
        let second = cache.count(Api::Messages, CLAUDE, &with_marker(numbered(4 + added)));
        let expected = if is_found { first.input_tokens } else { 0 };
        assert_eq!(second.cache_read_tokens, expected, "{added} blocks behind");
        assert_eq!(
            second.cache_write_tokens,
            second.input_tokens - expected,
            "{added} blocks behind"
        );
    }
}

#[test]
fn entries_are_only_where_a_marker_was() {
    let mut cache = PromptCache::default();
    cache.count(Api::Messages, CLAUDE, &with_marker(numbered(6)));
    let mut changed = numbered(6);
    changed[5] = words("other", 600);
    let second = cache.count(Api::Messages, CLAUDE, &with_marker(changed));
    assert_eq!(
        second.cache_read_tokens, 0,
        "five equal blocks, no entry at the fifth"
    );
}

#[test]
fn a_marker_is_not_part_of_the_key_and_what_follows_the_last_one_is_plain_input() {
    let mut cache = PromptCache::default();
    let first = cache.count(Api::Messages, CLAUDE, &with_marker(numbered(4)));
    let mut moved = numbered(5);
    moved[3].push('*');
    let second = cache.count(Api::Messages, CLAUDE, &body(&moved));
    assert_eq!(second.cache_read_tokens, first.input_tokens);
    assert_eq!(second.cache_write_tokens, 0);
    assert!(second.input_tokens - second.cache_read_tokens > 500);
}

#[test]
fn a_prefix_below_the_minimum_is_not_cached() {
    let mut cache = PromptCache::default();
    let short = body(&[words("short", 900) + "*"]);
    cache.count(Api::Messages, CLAUDE, &short);
    let second = cache.count(Api::Messages, CLAUDE, &short);
    assert_eq!(
        (second.cache_read_tokens, second.cache_write_tokens),
        (0, 0)
    );
}

#[test]
fn an_entry_lives_five_minutes_from_its_last_use_or_an_hour_on_request() {
    let mut cache = PromptCache::default();
    let mut at = |minutes: u32, body: &Value| {
        cache
            .count_at(Api::Messages, CLAUDE, body, MINUTE * minutes)
            .cache_read_tokens
    };
    let short = with_marker(numbered(4));
    assert_eq!(at(0, &short), 0);
    assert!(at(4, &short) > 0);
    assert!(at(8, &short) > 0, "the read at minute 4 renewed it");
    assert_eq!(at(14, &short), 0);
    let mut long = body(&[words("long", 2000)]);
    long["cache_control"] = json!({"type":"ephemeral","ttl":"1h"});
    assert_eq!(at(20, &long), 0);
    assert!(at(70, &long) > 0);
    assert_eq!(at(140, &long), 0);
}

#[test]
fn writes_are_priced_by_their_lifetime() {
    let mut cache = PromptCache::default();
    let mut long = body(&[words("long", 2000)]);
    long["cache_control"] = json!({"type":"ephemeral","ttl":"1h"});
    let usage = cache.count(Api::Messages, CLAUDE, &long);
    assert_eq!(usage.long_write_tokens, usage.input_tokens);
    let cost = usage.input_cost(Api::Messages, CLAUDE);
    assert!(
        (cost - usage.input_tokens as f64 * 2.0).abs() < 1e-6,
        "{cost}"
    );
    let read = cache.count(Api::Messages, CLAUDE, &long);
    let cost = read.input_cost(Api::Messages, CLAUDE);
    assert!(
        (cost - read.input_tokens as f64 * 0.1).abs() < 1e-6,
        "{cost}"
    );
}

#[test]
fn a_marker_inside_a_tool_result_counts_for_the_result() {
    let mut cache = PromptCache::default();
    let marked = json!({"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"1",
        "content":[{"type":"text","text":words("inner", 2000),"cache_control":{"type":"ephemeral"}}]}]}]});
    let first = cache.count(Api::Messages, CLAUDE, &marked);
    assert_eq!(first.cache_write_tokens, first.input_tokens);
    assert_eq!(
        cache
            .count(Api::Messages, CLAUDE, &marked)
            .cache_read_tokens,
        first.input_tokens
    );
}

fn input(texts: &[String]) -> Value {
    let items: Vec<Value> = texts
        .iter()
        .map(|text| json!({"type":"message","role":"user","content":[{"type":"input_text","text":text}]}))
        .collect();
    json!({"input":items})
}

#[test]
fn openai_reads_a_prefix_in_steps_of_128_from_1024_on_and_loses_what_follows_a_change() {
    let mut cache = PromptCache::default();
    let texts = numbered(6);
    cache.count(Api::Responses, "gpt-5.5", &input(&texts));
    let mut changed = texts.clone();
    changed[4] = words("other", 600);
    let second = cache.count(Api::Responses, "gpt-5.5", &input(&changed));
    assert_eq!(second.cache_read_tokens % 128, 0);
    assert!(
        second.cache_read_tokens > 1500 && second.cache_read_tokens < 2100,
        "{second:?}"
    );
    assert_eq!(second.cache_write_tokens, 0);
    let mut early = texts;
    early[1] = words("other", 600);
    let third = cache.count(Api::Responses, "gpt-5.5", &input(&early));
    assert_eq!(
        third.cache_read_tokens, 0,
        "fewer than 1,024 tokens are equal"
    );
    assert_eq!(
        cache
            .count(Api::Responses, "gpt-5", &input(&early))
            .cache_read_tokens,
        0,
        "models share nothing"
    );
}

#[test]
fn from_gpt_5_6_on_a_changed_tail_misses_unless_a_breakpoint_stands_before_it() {
    let texts = numbered(6);
    let mut changed = texts.clone();
    changed[5] = words("other", 600);
    for is_explicit in [false, true] {
        let mut cache = PromptCache::default();
        let mark = |mut body: Value| {
            if is_explicit {
                body["input"][3]["content"][0]["prompt_cache_breakpoint"] =
                    json!({"mode":"explicit"});
            }
            body
        };
        let first = cache.count(Api::Responses, "gpt-6.1-sol", &mark(input(&texts)));
        assert_eq!(first.cache_write_tokens, first.input_tokens);
        let second = cache.count(Api::Responses, "gpt-6.1-sol", &mark(input(&changed)));
        assert_eq!(second.cache_read_tokens > 1000, is_explicit, "{second:?}");
        let grown = cache.count(
            Api::Responses,
            "gpt-6.1-sol",
            &mark(input(&[texts.clone(), numbered(1)].concat())),
        );
        assert_eq!(
            grown.cache_read_tokens, first.input_tokens,
            "its own breakpoint is within reach"
        );
    }
}

#[test]
fn gemini_reads_a_prefix_without_rounding() {
    let mut cache = PromptCache::default();
    let turn = |text: &str| json!({"role":"user","parts":[{"text":text}]});
    let long = words("long", 6000);
    cache.count(
        Api::Gemini,
        "gemini-2.5-pro",
        &json!({"contents":[turn(&long), turn("one")]}),
    );
    let second = cache.count(
        Api::Gemini,
        "gemini-2.5-pro",
        &json!({"contents":[turn(&long), turn("two")]}),
    );
    let plain = second.input_tokens - second.cache_read_tokens;
    assert!(second.cache_read_tokens > 2048 && plain < 60, "{second:?}");
}
