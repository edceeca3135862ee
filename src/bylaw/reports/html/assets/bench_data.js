"use strict";

/* The runs of the report: a row for each at once, the details when a run is opened. */

/** The runs as objects, from the columns in the page's data. */
function readRuns({ fields, simulated }) {
  const invented = new Set(simulated);
  const names = Object.keys(fields);
  return fields.model.map((model, at) => {
    const run = Object.fromEntries(names.map((name) => [name, fields[name][at]]));
    run.task = `${run.template}/D${run.difficulty}/${run.seed}/${run.trial}`;
    run.key = `${model} ${run.setting} ${run.task}`;
    run.difficulty = `D${run.difficulty}`;
    run.answer = run.correct ? "right" : "wrong";
    run.label ??= "no score";
    run.simulated = invented.has(model);
    return run;
  });
}

const unpacked = new Map();

/** The details of the runs of a task, decompressed on demand. */
function unpack(number) {
  if (!unpacked.has(number)) {
    const text = atob(document.getElementById(`block-${number}`).textContent);
    const bytes = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
    const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    unpacked.set(number, new Response(plain).json());
  }
  return unpacked.get(number);
}

/** The viewer's data of a run. `data` gives the order of the fields of rules and verdicts. */
function traceOf(run, block, data) {
  const shown = block.runs[run.place];
  const { steps, verdicts, ...judged } = block.judged[shown.judged];
  const refused = shown.refused.map((item, number) => ({ kind: "refused", number, ...item }));
  const calls = steps.flatMap((step) => step.items).filter((item) => item.kind === "call");
  const rules = block.rules.map((rule, at) => {
    const found = { ...named(data.rule, rule), ...named(data.verdict, verdicts[at]) };
    const nothing = found.verdict === "violated" && !found.calls.length;
    return {
      ...found,
      severity: block.severities[run.setting][at],
      excused: shown.excused?.[found.name],
      refused: refused.filter((item) => item.rules.includes(found.name)).map((item) => item.number),
      explained: false,
      minimal: false,
      absence: nothing ? calls.map((call) => call.index) : [],
      messages: [],
      other_messages: [],
      occurrences: [],
      repair: [],
    };
  });
  return {
    ...judged,
    trace: `${run.model}${run.simulated ? " (simulated)" : ""}, ${run.setting}, trial ${run.trial}`,
    labels: [
      ["answer", shown.answer === null ? "none" : JSON.stringify(shown.answer)],
      ["expected", String(block.expected)],
      ["calls in the gold trace", String(run.gold_calls)],
      ["refused", String(refused.length)],
      ["ending", run.ending],
    ],
    reason: shown.reason ?? judged.reason,
    steps: [promptStep(block.prompt), ...withRefused(steps, refused)],
    rules,
  };
}

function named(names, values) {
  return Object.fromEntries(names.map((name, at) => [name, values[at]]));
}

function promptStep(prompt) {
  return { step: null, items: [{ kind: "message", event: 0, role: "user", text: prompt }] };
}

/** The steps, with the refused calls of each step after its executed calls. */
function withRefused(steps, refused) {
  const found = new Map(steps.map((step) => [step.step, { ...step, items: [...step.items] }]));
  for (const item of refused) {
    if (!found.has(item.turn)) found.set(item.turn, { step: item.turn, items: [] });
    found.get(item.turn).items.push(item);
    if (item.resolution === "insisted") markInsisted(found.get(item.turn + 1), item);
  }
  const last = (step) => step.step ?? Infinity;
  return [...found.values()].sort((a, b) => (last(a) < last(b) ? -1 : last(a) > last(b) ? 1 : 0));
}

/** Marks a call that ran only because the agent insisted on it. */
function markInsisted(step, { tool, args }) {
  const wanted = JSON.stringify(["call", tool, args]);
  const at = step?.items.findIndex((item) => JSON.stringify([item.kind, item.tool, item.args]) === wanted);
  if (at >= 0) step.items[at] = { ...step.items[at], status: "insisted" };
}
