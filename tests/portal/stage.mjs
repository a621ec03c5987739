// Starts the stage, and sends requests of a made-up coding session through its proxy.
import { spawn } from "node:child_process";
import http from "node:http";
import { createInterface } from "node:readline";

export async function startStage(program) {
  const child = spawn(program, { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async () => {
    const line = await lines.next();
    if (line.done) throw new Error("the stage ended early");
    return JSON.parse(line.value);
  };
  const facts = await next();
  return {
    ...facts,
    // Asks the stage to do something to the ledger and waits until it is done.
    async ask(what) {
      child.stdin.write(`${what}\n`);
      return next();
    },
    async stop() {
      child.stdin.end();
      await new Promise((done) => child.once("exit", done));
    },
  };
}

// A session with long tool results: enough for every strategy to find something.
export function session(turns) {
  const messages = [{ role: "user", content: "Orders from closed regions are still shipped. Find out why." }];
  for (let turn = 0; turn < turns; turn += 1) {
    const id = `toolu_${String(turn).padStart(4, "0")}`;
    const lines = Array.from({ length: 60 }, (_, at) => `${at + 1}\tlet order_${at} = region.check(${turn * 7 + at});`);
    messages.push({
      role: "assistant",
      content: [
        { type: "text", text: `Looking at file ${turn}.` },
        { type: "tool_use", id, name: "Read", input: { file_path: `src/file_${turn % 5}.rs` } },
      ],
    });
    messages.push({ role: "user", content: [{ type: "tool_result", tool_use_id: id, content: lines.join("\n") }] });
  }
  return {
    model: "claude-sonnet-4-5",
    max_tokens: 256,
    tools: [{ name: "Read", description: "Reads.", input_schema: { type: "object", properties: { file_path: { type: "string" } } } }],
    messages,
  };
}

export async function send(base, workload, body, headers = {}) {
  const response = await fetch(`${base}/w/${workload}/v1/messages`, {
    method: "POST",
    headers: { "content-type": "application/json", "anthropic-version": "2023-06-01", "x-api-key": "k", ...headers },
    body: JSON.stringify(body),
  });
  await response.text();
  return {
    status: response.status,
    stack: response.headers.get("x-secateur-stack"),
    id: response.headers.get("x-secateur-request-id"),
  };
}

// A bare request, for what a browser would not send: other names, other origins.
export function bare(base, path, { method = "GET", headers = {}, body = "" } = {}) {
  const url = new URL(path, base);
  return new Promise((done, fail) => {
    const request = http.request({ host: url.hostname, port: url.port, path: url.pathname + url.search, method, headers }, (response) => {
      const parts = [];
      response.on("data", (part) => parts.push(part));
      response.on("end", () => done({ status: response.statusCode, headers: response.headers, text: Buffer.concat(parts).toString() }));
    });
    request.on("error", fail);
    request.end(body);
  });
}
