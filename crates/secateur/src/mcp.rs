//! `secateur mcp`: an MCP server on standard input and output with one tool, `secateur_recall`, that
//! asks a running proxy.
//!
//! One JSON-RPC message a line. Whatever comes in, an answer or nothing goes out; the server ends with
//! its input.

use std::io::{BufRead, Write};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, StatusCode, Uri, header};
use serde_json::{Value, json};

use crate::args::McpArgs;
use crate::command_error::CommandError;
use crate::failure::Failure;
use secateur_proxy::Caller;
use secateur_proxy::config::Secret;
use secateur_proxy::recall;

/// Versions of the protocol that it speaks, newest first.
const VERSIONS: [&str; 3] = ["2025-06-18", "2025-03-26", "2024-11-05"];

const TOOL: &str = "secateur_recall";

/// A message on a line of its own is no longer than this.
const MAX_LINE_BYTES: usize = 1 << 20;

/// A page of recalled text is shorter than this.
const MAX_BYTES: usize = 4 << 20;

const PATIENCE: Duration = Duration::from_secs(30);

/// What `secateur mcp` is given.
#[derive(Clone, Debug)]
struct McpOptions {
    /// The proxy's base URL.
    url: Uri,
    /// The workload whose text is asked for.
    workload: String,
    /// The client key.
    key: Option<Secret>,
}

pub(crate) fn run(args: &McpArgs) -> Result<(), Failure> {
    let key = match &args.key_env {
        None => None,
        Some(variable) => match std::env::var(variable) {
            Ok(key) => Some(Secret::new(&key)),
            Err(_) => {
                let words = format!("the environment variable `{variable}` is not set");
                return Err(Failure::bad_usage(words));
            }
        },
    };
    let options = McpOptions {
        url: args.url.clone(),
        workload: args.workload.clone(),
        key,
    };
    let (input, mut output) = (std::io::stdin().lock(), std::io::stdout().lock());
    Ok(mcp(&options, input, &mut output)?)
}

/// Serves until the input ends.
///
/// # Errors
/// Input or output breaks.
fn mcp(
    options: &McpOptions,
    mut input: impl BufRead,
    output: &mut impl Write,
) -> Result<(), CommandError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let client = runtime.block_on(async { Caller::new(PATIENCE, &[]) })?;
    let server = Server { options, client };
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut limited = std::io::Read::take(&mut input, MAX_LINE_BYTES as u64);
        if limited.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        if let Some(answer) = runtime.block_on(server.answer(&line)) {
            writeln!(output, "{answer}")?;
            output.flush()?;
        }
    }
}

struct Server<'o> {
    options: &'o McpOptions,
    client: Caller,
}

/// What went wrong with a message, as the protocol numbers it.
struct Fault(i64, &'static str);

impl Server<'_> {
    /// The answer to one message; `None` for notifications.
    async fn answer(&self, line: &[u8]) -> Option<Value> {
        let message: Value = match serde_json::from_slice(line) {
            Ok(message) => message,
            Err(_) => return Some(fault(&Value::Null, &Fault(-32700, "not JSON"))),
        };
        let id = message
            .get("id")
            .filter(|id| id.is_string() || id.is_number());
        let Some(method) = message.get("method").and_then(Value::as_str) else {
            let id = id.cloned().unwrap_or_default();
            return Some(fault(&id, &Fault(-32600, "a request has a method")));
        };
        let id = id?;
        let params = message.get("params").unwrap_or(&Value::Null);
        let result = match method {
            "initialize" => Ok(hello(params)),
            "ping" => Ok(json!({})),
            "tools/list" => Ok(json!({"tools": [tool()]})),
            "tools/call" => self.call(params).await,
            _ => Err(Fault(-32601, "there is no such method")),
        };
        Some(match result {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(wrong) => fault(id, &wrong),
        })
    }

    async fn call(&self, params: &Value) -> Result<Value, Fault> {
        if params.get("name").and_then(Value::as_str) != Some(TOOL) {
            return Err(Fault(-32602, "the only tool is secateur_recall"));
        }
        let arguments = params
            .get("arguments")
            .filter(|arguments| arguments.is_object());
        let Some(arguments) = arguments else {
            return Err(Fault(-32602, "arguments: an object with the id"));
        };
        let (text, is_error) = match self.ask(arguments).await {
            Ok(text) => (text, false),
            Err(words) => (words, true),
        };
        Ok(json!({"content": [{"type": "text", "text": text}], "isError": is_error}))
    }

    /// The text, with a word on what is missing of it.
    async fn ask(&self, arguments: &Value) -> Result<String, String> {
        let unreachable = || format!("the proxy at {} does not answer", self.options.url);
        let request = self.request(arguments).ok_or_else(unreachable)?;
        let answered = tokio::time::timeout(PATIENCE, self.client.call(request, MAX_BYTES)).await;
        let response = answered.ok().and_then(Result::ok).ok_or_else(unreachable)?;
        let status = response.status();
        let body = response.into_body();
        if status != StatusCode::OK {
            let body: Value = serde_json::from_slice(&body).unwrap_or_default();
            let words = body.pointer("/error/message").and_then(Value::as_str);
            return Err(words.map_or_else(|| format!("the proxy answered {status}"), str::to_owned));
        }
        let page: recall::Page = serde_json::from_slice(&body).map_err(|_| unreachable())?;
        let mut text = page.text;
        if let Some(next) = page.next_offset {
            text += &format!(
                "\n[characters {} to {next} of {}; go on with offset {next}]",
                page.offset, page.total_chars
            );
        }
        Ok(text)
    }

    fn request(&self, arguments: &Value) -> Option<Request<Bytes>> {
        let base = self.options.url.to_string();
        let uri = format!(
            "{}/w/{}{}",
            base.trim_end_matches('/'),
            self.options.workload,
            recall::PATH
        );
        let body = Bytes::from(arguments.to_string());
        let mut request = Request::new(body);
        *request.method_mut() = Method::POST;
        *request.uri_mut() = uri.parse().ok()?;
        let headers = request.headers_mut();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/json"),
        );
        if let Some(key) = &self.options.key {
            let value = HeaderValue::from_str(&format!("Bearer {}", key.reveal())).ok()?;
            headers.insert(header::AUTHORIZATION, value);
        }
        Some(request)
    }
}

fn fault(id: &Value, Fault(code, message): &Fault) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

fn hello(params: &Value) -> Value {
    let wanted = params.get("protocolVersion").and_then(Value::as_str);
    let version = VERSIONS.iter().find(|version| Some(**version) == wanted);
    json!({
        "protocolVersion": version.unwrap_or(&VERSIONS[0]),
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "secateur", "version": env!("CARGO_PKG_VERSION")},
        "instructions": "Long or old tool output may have been cut from this conversation to save space. \
            Where it says [recall:ID], secateur_recall gives the whole text back.",
    })
}

fn tool() -> Value {
    json!({
        "name": TOOL,
        "title": "Recall cut text",
        "description": "Gives back text that was cut from this conversation to save space. Use it when a \
            tool result ends with [recall:ID] and the part that is missing matters for the task.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "id": {"type": "string", "description": "The ID from [recall:ID]."},
                "offset": {"type": "integer", "minimum": 0, "description": "First character wanted; 0 is the start."},
                "max_chars": {"type": "integer", "minimum": 1, "description": "Characters wanted at most; 20000 unless given."},
            },
            "required": ["id"],
            "additionalProperties": false,
        },
        "annotations": {"readOnlyHint": true, "idempotentHint": true, "openWorldHint": false},
    })
}
