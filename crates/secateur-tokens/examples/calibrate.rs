//! Prints the Gemini tokens billed per `o200k_base` token, from recorded exchanges.
//!
//! `cargo run --release -p secateur-tokens --example calibrate -- [recordings.jsonl.gz]`
//!
//! Only requests whose whole input is text count (no tools, no media). A line is fitted through
//! them: its intercept is the provider's framing, its slope the factor.

#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    reason = "a command for people"
)]

use std::io::BufRead;

use secateur_tokens::Counter;
use serde_json::Value;

fn texts(value: &Value, out: &mut String) {
    match value {
        Value::String(text) => out.push_str(text),
        Value::Array(items) => items.iter().for_each(|item| texts(item, out)),
        Value::Object(members) => {
            for key in ["text", "parts", "contents", "systemInstruction"] {
                if let Some(member) = members.get(key) {
                    texts(member, out);
                }
            }
        }
        _ => {}
    }
}

fn main() {
    let path = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "../shared/data/wire/recordings.jsonl.gz".into());
    let Ok(file) = std::fs::File::open(&path) else {
        println!("no recordings at {path}: name a file of recorded exchanges");
        return;
    };
    let counter = Counter::for_model(Some("gpt-5"));
    let mut points: Vec<(f64, f64)> = Vec::new();
    for line in std::io::BufReader::new(flate2::read::GzDecoder::new(file)).lines() {
        let row: Value = serde_json::from_str(&line.expect("readable")).expect("JSON");
        let request = &row["request"];
        let spelled = request.to_string();
        let is_plain = request["tools"].is_null()
            && !["inlineData", "fileData", "functionCall"]
                .iter()
                .any(|mark| spelled.contains(mark));
        let billed = row["response"]["usageMetadata"]["promptTokenCount"].as_u64();
        let (Some(billed), true) = (billed, is_plain) else {
            continue;
        };
        let mut text = String::new();
        texts(request, &mut text);
        points.push((counter.count(&text) as f64, billed as f64));
    }
    let n = points.len() as f64;
    let (sx, sy) = points
        .iter()
        .fold((0.0, 0.0), |(x, y), p| (x + p.0, y + p.1));
    let (mean_x, mean_y) = (sx / n, sy / n);
    let sxy: f64 = points.iter().map(|p| (p.0 - mean_x) * (p.1 - mean_y)).sum();
    let sxx: f64 = points.iter().map(|p| (p.0 - mean_x).powi(2)).sum();
    let slope = sxy / sxx;
    println!(
        "{n} requests: factor {slope:.3}, framing {:.1} tokens",
        mean_y - mean_x * slope
    );
}
