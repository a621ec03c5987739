// The stage: `secateur serve` as people run it, in front of the strict provider, each a process of its own.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import http from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

export const TOKEN = "a token for the stage only";

function start(program, args, { env = {}, from = "stdout" } = {}) {
  const child = spawn(program, args, {
    stdio: ["pipe", from === "stdout" ? "pipe" : "ignore", from === "stderr" ? "pipe" : "inherit"],
    env: { ...process.env, ...env },
  });
  const ended = new Promise((done) => child.once("exit", (code, signal) => done(code ?? signal)));
  return { child, ended, lines: createInterface({ input: child[from] })[Symbol.asyncIterator]() };
}

// The strict provider; `bodies()` are the requests that it got since the last time, byte for byte.
async function startProvider(program) {
  const { child, ended, lines } = start(program, []);
  const next = async () => JSON.parse((await lines.next()).value);
  const { url } = await next();
  return {
    url,
    async bodies() {
      child.stdin.write("\n");
      return next();
    },
    async stop() {
      child.stdin.end();
      await ended;
    },
  };
}

// A proxy with this configuration, once it listens. `logged(event)` are its log lines of that kind.
async function startProxy(program, folder, name, config, env) {
  const file = join(folder, `${name}.toml`);
  writeFileSync(file, config);
  const { child, ended, lines } = start(program, ["serve", "--config", file], { env, from: "stderr" });
  const log = [];
  let url;
  while (!url) {
    const line = await lines.next();
    if (line.done) throw new Error(`${name} did not start:\n${log.map((line) => JSON.stringify(line)).join("\n")}`);
    try { log.push(JSON.parse(line.value)); } catch { log.push({ text: line.value }); }
    if (log.at(-1).event === "listening") url = log.at(-1).url;
  }
  (async () => {
    for await (const line of lines) try { log.push(JSON.parse(line)); } catch { log.push({ text: line }); }
  })();
  return {
    url,
    logged: (event) => log.filter((line) => line.event === event),
    // What it ended with.
    async stop() {
      child.kill("SIGTERM");
      return ended;
    },
  };
}

// The configuration as a user would write it. `coding` prunes and keeps what it cuts, `compared` sends
// every pruned request unpruned as well, `plain` prunes and keeps nothing, `history` is filled by the planter.
const workloads = `
[workload.coding]
preset = "openclaw-aggressive"
budget_ms = 5000
[workload.coding.canary]
sample_pct = 0
[workload.coding.capture]
[workload.plain]
preset = "openclaw-aggressive"
budget_ms = 5000
[workload.plain.canary]
sample_pct = 0
[workload.compared]
preset = "openclaw-aggressive"
budget_ms = 5000
[workload.compared.canary]
sample_pct = 100
max_concurrent = 16
[workload.history]
preset = "tessera"
holdout_pct = 10
[workload.history.capture]
`;

export async function startStage({ serve, provider, plant }) {
  const folder = mkdtempSync(join(tmpdir(), "secateur-portal-"));
  const planted = spawnSync(plant, [folder], { stdio: ["ignore", "pipe", "inherit"] });
  assert.equal(planted.status, 0, "the planter failed");
  const facts = JSON.parse(planted.stdout);
  const upstream = await startProvider(provider);
  const proxy = (name, ledger, portal = "") => {
    mkdirSync(join(folder, name));
    const config = `listen = "127.0.0.1:0"\n[upstream]\nanthropic = "${upstream.url}"\n[ledger]\nurl = "${ledger}"\nspool_dir = "${name}/spool"\ncapture_key_env = "STAGE_KEY"\n[portal]\n${portal}${workloads}`;
    return startProxy(serve, folder, name, config, { STAGE_KEY: facts.key, STAGE_TOKEN: TOKEN });
  };
  const open = await proxy("open", "sqlite:ledger.db");
  const locked = await proxy("locked", "sqlite:ledger.db", 'token_env = "STAGE_TOKEN"\n');
  const other = await proxy("other", "sqlite:ledger.db", 'token_env = "STAGE_TOKEN"\n');
  const empty = await proxy("empty", "sqlite:empty/ledger.db");
  const broken = await proxy("broken", "postgres://nobody@127.0.0.1:1/nothing");
  return {
    ...facts,
    open,
    locked: locked.url,
    other: other.url,
    empty: empty.url,
    broken: broken.url,
    upstream,
    async stop() {
      const codes = await Promise.all([open, locked, other, empty, broken].map((proxy) => proxy.stop()));
      await upstream.stop();
      rmSync(folder, { recursive: true, force: true });
      return codes;
    },
  };
}

// A session with long tool results: enough for every strategy to find something.
export function session(turns, task = "Orders from closed regions are still shipped. Find out why.") {
  const messages = [{ role: "user", content: task }];
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

// Sends a request as a client would. `sent` is its body, byte for byte.
export async function send(base, workload, body, headers = {}) {
  const sent = JSON.stringify(body);
  const response = await fetch(`${base}/w/${workload}/v1/messages`, {
    method: "POST",
    headers: { "content-type": "application/json", "anthropic-version": "2023-06-01", "x-api-key": "k", ...headers },
    body: sent,
  });
  await response.text();
  return {
    sent,
    status: response.status,
    stack: response.headers.get("x-secateur-stack"),
    id: response.headers.get("x-secateur-request-id"),
  };
}

// A client that found an answer this good.
export async function postScore(base, id, score) {
  const response = await fetch(`${base}/v1/secateur/scores`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ request_id: id, score }),
  });
  return { status: response.status, ...(await response.json()) };
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
