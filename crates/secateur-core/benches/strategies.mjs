// The strategies as one would write them for a gateway in JavaScript: JSON.parse of the bytes received,
// work on the messages, JSON.stringify to the bytes to send. For `benches/strategies.rs`, which gives a body in Anthropic's dialect on standard
// input and reads the fastest times in nanoseconds from standard output. Same options, same decisions
// as far as a straightforward version takes them; no guards, no report, no check of the output.

import { readFileSync } from 'node:fs';

const received = readFileSync(0);
const rounds = Number(process.argv[2] ?? 15);

const blocks = (message) =>
  typeof message.content === 'string' ? [{ type: 'text', text: message.content }] : message.content;
const calls = (message) => blocks(message).filter((block) => block.type === 'tool_use');
const results = (message) => blocks(message).filter((block) => block.type === 'tool_result');
const touchesTools = (message) => calls(message).length > 0 || results(message).length > 0;
const isUser = (message) => message.role === 'user' && results(message).length === 0;
const resultText = (block) =>
  typeof block.content === 'string' ? block.content : block.content.map((part) => part.text ?? '').join('\n');
const hasImage = (block) => Array.isArray(block.content) && block.content.some((part) => part.type !== 'text');

function mapBlocks(messages, change) {
  return messages.map((message, at) =>
    typeof message.content === 'string' && message.role !== 'user'
      ? message
      : Array.isArray(message.content)
        ? { ...message, content: message.content.map((block) => change(block, message, at)) }
        : { ...message, content: change({ type: 'text', text: message.content }, message, at).text },
  );
}

function nthLast(messages, count, wanted) {
  for (let at = messages.length - 1, left = count; at >= 0; at--) {
    if (wanted(messages[at]) && --left === 0) return at;
  }
  return -1;
}

const isAssistant = (message) => message.role === 'assistant';
const callsById = (messages) => new Map(messages.flatMap(calls).map((call) => [call.id, call]));
const resultsById = (messages) => new Map(messages.flatMap(results).map((block) => [block.tool_use_id, block]));

function middleTurns(messages, { keepHead = 1, keepLast = 8 } = {}) {
  const end = messages.length - keepLast;
  return messages.filter((message, at) => at < keepHead || at >= end || touchesTools(message));
}

function oldToolResults(messages) {
  const window = 1_000_000 * 4;
  const size = (block) =>
    block.type === 'tool_use'
      ? JSON.stringify(block.input).length
      : block.type === 'tool_result'
        ? resultText(block).length
        : (block.text ?? block.thinking ?? '').length;
  let chars = messages.flatMap(blocks).reduce((sum, block) => sum + size(block), 0);
  if (chars / window < 0.3) return messages;
  const cutoff = nthLast(messages, 3, isAssistant);
  const firstUser = messages.findIndex(isUser);
  const eligible = (block, at) => at > firstUser && at < cutoff && block.type === 'tool_result' && !hasImage(block);
  let out = mapBlocks(messages, (block, _, at) => {
    if (!eligible(block, at)) return block;
    const was = resultText(block);
    if (was.length <= 4000) return block;
    const content = `${was.slice(0, 1500)}\n...\n${was.slice(-1500)}\n\n[Tool result trimmed: kept first 1500 chars and last 1500 chars of ${was.length} chars.]`;
    chars -= was.length - content.length;
    return { ...block, content };
  });
  out = longMessages(out);
  const prunable = out.reduce(
    (sum, message, at) =>
      sum + results(message).reduce((sum, block) => sum + (eligible(block, at) ? resultText(block).length : 0), 0),
    0,
  );
  if (chars / window < 0.5 || prunable < 50_000) return out;
  return mapBlocks(out, (block, _, at) => {
    if (!eligible(block, at) || chars / window < 0.5) return block;
    const content = '[Old tool result content cleared]';
    chars -= resultText(block).length - content.length;
    return { ...block, content };
  });
}

function condense(words, limit, marker) {
  if (words.length <= limit || words.endsWith(marker)) return words;
  const inside = words.slice(0, limit);
  const sentence = Math.max(...['. ', '! ', '? '].map((end) => inside.lastIndexOf(end)));
  if (sentence > 0) return `${inside.slice(0, sentence + 1)}\n${marker}`;
  const word = inside.lastIndexOf(' ');
  return `${word > 0 ? inside.slice(0, word) : inside}...\n${marker}`;
}

function longMessages(messages) {
  const cutoff = nthLast(messages, 8, isAssistant);
  const firstUser = messages.findIndex(isUser);
  return mapBlocks(messages, (block, message, at) => {
    if (block.type !== 'text' || at <= firstUser || at >= cutoff) return block;
    const words =
      message.role === 'user'
        ? condense(block.text, 600, '[Message condensed]')
        : condense(block.text, 800, '[Response condensed]');
    return words === block.text ? block : { ...block, text: words };
  });
}

function unprotectedToolOutputs(messages, { protectTokens = 200_000 } = {}) {
  const boundary = nthLast(messages, 2, isUser);
  if (boundary < 0) return messages;
  const names = callsById(messages);
  const beyond = new Set();
  let tokens = 0;
  for (const block of messages.slice(0, boundary).flatMap(results).reverse()) {
    if (hasImage(block) || names.get(block.tool_use_id)?.name.toLowerCase() === 'skill') continue;
    tokens += Math.round(resultText(block).length / 4);
    if (tokens > protectTokens) beyond.add(block.tool_use_id);
  }
  return mapBlocks(messages, (block) =>
    block.type === 'tool_result' && beyond.has(block.tool_use_id)
      ? { ...block, content: '<tool-output-compacted />' }
      : block,
  );
}

function cut(messages, maxTurns, mayBegin) {
  let at = Math.max(0, messages.length - maxTurns);
  while (at > 0 && !(mayBegin(messages[at]) && results(messages[at]).length === 0)) at--;
  return at;
}

const turnsOutsideWindow = (messages, { maxTurns = 400 } = {}) => messages.slice(cut(messages, maxTurns, isUser));

function summarizedTurns(messages, { maxTurns = 600 } = {}) {
  const at = cut(messages, maxTurns, () => true);
  if (at === 0) return messages;
  return [{ role: 'user', content: `[Previous context: ${at} turns summarized]` }, ...messages.slice(at)];
}

function unimportantTurns(messages, { maxTurns = 800 } = {}) {
  const units = [];
  messages.forEach((message, at) => {
    const chars = blocks(message).reduce((sum, block) => sum + (block.text ?? '').length, 0);
    const score =
      (0.5 * at) / messages.length + (calls(message).length > 0 ? 0.3 : 0) + Math.min(chars / 5000, 0.2);
    const last = units.at(-1);
    if (results(message).length > 0 && last) {
      last.score = Math.min(last.score, score);
      last.turns.push(at);
    } else {
      units.push({ score, turns: [at] });
    }
  });
  const gone = new Set();
  const order = units.slice(0, -1).sort((one, other) => one.score - other.score || one.turns[0] - other.turns[0]);
  for (const unit of order) {
    if (messages.length - gone.size <= maxTurns) break;
    unit.turns.forEach((at) => gone.add(at));
  }
  return messages.filter((_, at) => !gone.has(at));
}

function failedInputs(messages) {
  const found = resultsById(messages);
  const old = messages.length - 4;
  const shorten = (value) => {
    if (typeof value === 'string')
      return value.length > 120 ? `[${value.length} characters removed: this call failed]` : value;
    if (Array.isArray(value)) return value.map(shorten);
    if (value && typeof value === 'object')
      return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shorten(inner)]));
    return value;
  };
  return mapBlocks(messages, (block, _, at) => {
    if (block.type !== 'tool_use' || at >= old || JSON.stringify(block.input).length < 400) return block;
    return found.get(block.id)?.is_error ? { ...block, input: shorten(block.input) } : block;
  });
}

function oldThinking(messages) {
  const cutoff = nthLast(messages, 3, isAssistant);
  return messages.map((message, at) =>
    isAssistant(message) && at < cutoff && Array.isArray(message.content)
      ? { ...message, content: message.content.filter((block) => !block.type.endsWith('thinking')) }
      : message,
  );
}

function looseWhitespace(messages) {
  const squeeze = (words) => {
    const start = words.trimStart();
    if (start.startsWith('{') || start.startsWith('[')) {
      try {
        JSON.parse(words);
        return words;
      } catch {
        // Not JSON: text.
      }
    }
    let fenced = false;
    const lines = words.split('\n').map((line) => {
      if (/^\s*(```|~~~)/.test(line)) fenced = !fenced;
      if (fenced || /^\s*\d+[→|:\t]/.test(line)) return line;
      return line.replace(/(\S) {2,}/g, '$1 ').trimEnd();
    });
    return lines.join('\n').replace(/\n{3,}/g, '\n\n');
  };
  return mapBlocks(messages, (block) => (block.type === 'text' ? { ...block, text: squeeze(block.text) } : block));
}

const strategies = {
  'old-tool-results': oldToolResults,
  'long-messages': longMessages,
  'unprotected-tool-outputs': unprotectedToolOutputs,
  'failed-inputs': failedInputs,
  'old-thinking': oldThinking,
  'unimportant-turns': unimportantTurns,
  'middle-turns': middleTurns,
  'summarized-turns': summarizedTurns,
  'turns-outside-window': turnsOutsideWindow,
};
const whole = (messages) => Object.values(strategies).reduce((messages, run) => run(messages), messages);
const ways = { ...strategies, 'loose-whitespace': looseWhitespace, 'the whole list': whole };

const out = {};
for (const [name, run] of Object.entries(ways)) {
  const times = [];
  let bytes = 0;
  for (let round = 0; round < rounds; round++) {
    const start = process.hrtime.bigint();
    const body = JSON.parse(received.toString('utf8'));
    body.messages = run(body.messages);
    const sent = Buffer.from(JSON.stringify(body));
    times.push(Number(process.hrtime.bigint() - start));
    bytes = sent.length;
  }
  out[name] = { nanoseconds: Math.min(...times), bytes };
}
console.log(JSON.stringify(out));
