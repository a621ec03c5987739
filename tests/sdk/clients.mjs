// The official Node libraries of OpenAI, Anthropic and Google through the proxy: long conversations
// with tools, streaming and not, passed through and pruned.

import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import OpenAI from "openai";

const BASE = process.argv[2];
const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };

function check(condition, what) {
  if (!condition) {
    console.error(`FAILED: ${what}`);
    process.exit(1);
  }
  console.log(`ok  node    ${what}`);
}

const plainTurns = (assistant) =>
  Array.from({ length: 21 }, (_, at) => [at % 2 === 0 ? "user" : assistant, `turn ${at} of a long conversation`]);
const isPruned = (headers, workload) => headers.has("x-tessera-context-pruned") === (workload === "pruned");

async function chat(client, workload) {
  const tools = [{ type: "function", function: { name: "weather", parameters } }];
  const messages = plainTurns("assistant").map(([role, content]) => ({ role, content }));
  const { data, response } = await client.chat.completions.create({ model: "gpt-5", messages }).withResponse();
  check(data.choices[0].message.content && isPruned(response.headers, workload), `openai chat ${workload}`);
  let text = "";
  let usage = null;
  const stream = await client.chat.completions.create({
    model: "gpt-5", messages, stream: true, stream_options: { include_usage: true },
  });
  for await (const chunk of stream) {
    text += chunk.choices[0]?.delta?.content ?? "";
    usage = chunk.usage ?? usage;
  }
  check(text.includes("了解しました 🙂") && usage.completion_tokens > 0, `openai chat ${workload} stream`);
  const called = (await client.chat.completions.create({ model: "gpt-5", messages, tools })).choices[0].message;
  check(called.tool_calls[0].function.name === "weather", `openai chat ${workload} tool call`);
  const result = { role: "tool", tool_call_id: called.tool_calls[0].id, content: "sunny" };
  const done = await client.chat.completions.create({ model: "gpt-5", messages: [...messages, called, result], tools });
  check(done.choices[0].finish_reason === "stop", `openai chat ${workload} tool result`);
}

async function responses(client, workload) {
  const tools = [{ type: "function", name: "weather", parameters, strict: false }];
  const input = plainTurns("assistant").map(([role, content]) => ({ role, content }));
  const answer = await client.responses.create({ model: "gpt-5", input });
  check(answer.output_text && answer.usage.input_tokens > 0, `openai responses ${workload}`);
  const final = await client.responses.stream({ model: "gpt-5", input }).finalResponse();
  check(final.usage.output_tokens > 0, `openai responses ${workload} stream`);
  const called = (await client.responses.create({ model: "gpt-5", input, tools })).output[0];
  const result = { type: "function_call_output", call_id: called.call_id, output: "sunny" };
  const done = await client.responses.create({ model: "gpt-5", input: [...input, called, result], tools });
  check(done.output_text, `openai responses ${workload} tool result`);
}

async function messages(client, workload) {
  const tools = [{ name: "weather", input_schema: parameters }];
  const turns = plainTurns("assistant").map(([role, content]) => ({ role, content }));
  const common = { model: "claude-opus-4-6", max_tokens: 100 };
  const { data, response } = await client.messages.create({ ...common, messages: turns }).withResponse();
  check(data.content[0].text && isPruned(response.headers, workload), `anthropic ${workload}`);
  const final = await client.messages.stream({ ...common, messages: turns }).finalMessage();
  check(final.content[0].text.includes("🙂") && final.usage.output_tokens > 5, `anthropic ${workload} stream`);
  const called = await client.messages.stream({ ...common, messages: turns, tools }).finalMessage();
  check(called.content[0].input.city === "Zürich", `anthropic ${workload} tool call stream`);
  const result = { type: "tool_result", tool_use_id: called.content[0].id, content: "sunny" };
  const done = await client.messages.create({
    ...common, tools,
    messages: [...turns, { role: "assistant", content: called.content }, { role: "user", content: [result] }],
  });
  check(done.stop_reason === "end_turn", `anthropic ${workload} tool result`);
  const error = await client.messages
    .create({ ...common, messages: [{ role: "assistant", content: "first" }] })
    .catch((error) => error);
  check(error instanceof Anthropic.BadRequestError, `anthropic ${workload} error reaches the library`);
}

async function gemini(client, workload) {
  const config = { tools: [{ functionDeclarations: [{ name: "weather", parametersJsonSchema: parameters }] }] };
  const contents = plainTurns("model").map(([role, text]) => ({ role, parts: [{ text }] }));
  const answer = await client.models.generateContent({ model: "gemini-2.5-pro", contents });
  check(answer.text && answer.usageMetadata.promptTokenCount > 0, `gemini ${workload}`);
  let text = "";
  for await (const chunk of await client.models.generateContentStream({ model: "gemini-2.5-pro", contents })) {
    text += chunk.text ?? "";
  }
  check(text.includes("🙂"), `gemini ${workload} stream`);
  const called = await client.models.generateContent({ model: "gemini-2.5-pro", contents, config });
  const call = called.functionCalls[0];
  check(call.args.city === "Zürich", `gemini ${workload} tool call`);
  const response = { functionResponse: { name: call.name, response: { weather: "sunny" } } };
  const done = await client.models.generateContent({
    model: "gemini-2.5-pro", config,
    contents: [...contents, called.candidates[0].content, { role: "user", parts: [response] }],
  });
  check(done.text, `gemini ${workload} tool result`);
}

for (const workload of ["plain", "pruned"]) {
  const base = `${BASE}/w/${workload}`;
  const openai = new OpenAI({ baseURL: `${base}/v1`, apiKey: "sk-test", maxRetries: 0 });
  await chat(openai, workload);
  await responses(openai, workload);
  await messages(new Anthropic({ baseURL: base, apiKey: "sk-test", maxRetries: 0 }), workload);
  await gemini(new GoogleGenAI({ apiKey: "test", httpOptions: { baseUrl: base } }), workload);
}
