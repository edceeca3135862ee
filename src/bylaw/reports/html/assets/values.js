"use strict";

/* Showing values. They are JSON text and stay text, so that every digit is as recorded. */

const TOKEN = /"[^"\\]*(?:\\[^][^"\\]*)*"|[{}[\],:]|[^\s{}[\],:"]+/g;
const FITS = 64; // an object or list no longer than this stays on one line
const TOO_LONG = 200_000; // colouring more than this would take longer than a person waits

/** JSON text, indented and coloured. */
function prettyJson(text) {
  const pre = el("pre.json");
  if (text.length > TOO_LONG) pre.append(text);
  else pre.append(...pieces(text));
  return pre;
}

function pieces(text) {
  const tokens = [...text.matchAll(TOKEN)];
  const closing = closings(tokens);
  const parts = [];
  let depth = 0;
  let flatUntil = -1; // tokens up to here stay on the line they are on
  const line = () => "\n" + "  ".repeat(depth);
  tokens.forEach((token, at) => {
    const [word] = token;
    const flat = at <= flatUntil;
    if (word === "{" || word === "[") {
      parts.push(word);
      const end = closing.get(at) ?? at;
      if (flat) return;
      if (tokens[end].index - token.index < FITS) flatUntil = end;
      else {
        depth += 1;
        parts.push(line());
      }
    } else if (word === "}" || word === "]") {
      if (!flat) depth -= 1;
      parts.push(flat ? word : line() + word);
    } else if (word === ",") parts.push(flat ? ", " : "," + line());
    else if (word === ":") parts.push(": ");
    else parts.push(el(`span.json__${kindOf(word, tokens[at + 1])}`, null, word));
  });
  return parts;
}

function closings(tokens) {
  const open = [];
  const closing = new Map();
  tokens.forEach(([word], at) => {
    if (word === "{" || word === "[") open.push(at);
    else if ((word === "}" || word === "]") && open.length) closing.set(open.pop(), at);
  });
  return closing;
}

function kindOf(word, next) {
  if (word[0] === '"') return next && next[0] === ":" ? "key" : "string";
  return /^-?\d/.test(word) ? "number" : "word";
}

/** Arguments in short: `order: "A-17", amount: 40`. */
function argumentsPreview(args) {
  const shown = args.slice(0, 8).flatMap(([key, value], at) => [
    at ? ", " : null,
    el("span.call__key", null, clip(key, 40)),
    " ",
    clip(value, 120),
  ]);
  const more = args.length > 8 ? ` … ${args.length - 8} more` : null;
  return el("span.call__args", null, shown, more);
}

/** The result of a call in one line. */
function outcomePreview(call) {
  if (call.error !== undefined) {
    return el("span.call__outcome.call__outcome--error", null, oneLine(call.error) || "error");
  }
  if (!call.result) return el("span.call__outcome.call__outcome--none", null, "no result recorded");
  const text = oneLine(call.result.text ?? call.result.json);
  return el("span.call__outcome", null, text || "empty text");
}

function oneLine(text) {
  return clip(text.slice(0, 400).replace(/\s+/g, " ").trim(), 240);
}

/** All recorded details of a call. */
function callDetails(call) {
  const facts = [
    ["agent", call.agent],
    ["id", call.id],
    ["started", call.started],
    ["took", call.seconds === undefined ? undefined : duration(call.seconds)],
    ["used", call.usage],
  ]
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => el("span", null, `${name} ${value}`));
  return el(
    "div.details",
    null,
    section("arguments", call.args.length ? argumentsTable(call.args) : quiet("none")),
    call.error === undefined ? null : section("error", block(call.error || "no message")),
    section("result", resultBlock(call.result)),
    facts.length ? section("call", el("p.details__facts", null, facts)) : null,
  );
}

function section(title, content) {
  return el("section.details__part", null, el("h4", null, title), content);
}

function argumentsTable(args) {
  const rows = args.flatMap(([key, value]) => {
    const hasLines = value.startsWith('"') && value.includes("\\n");
    return [el("dt", null, key), el("dd", null, hasLines ? block(JSON.parse(value)) : prettyJson(value))];
  });
  return el("dl.details__args", null, rows);
}

function resultBlock(result) {
  if (!result) return quiet("none recorded");
  if (result.json !== undefined) return prettyJson(result.json);
  return result.text === "" ? quiet("empty text") : block(result.text);
}

function block(text) {
  return el("pre.text", null, text);
}

function quiet(text) {
  return el("p.quiet", null, text);
}

function duration(seconds) {
  return seconds < 1 ? `${Math.round(seconds * 1000)} ms` : `${seconds.toFixed(1)} s`;
}
