"use strict";

/* The time axis: when calls ran and how long, and what had been used by then. */

const MARK_WIDTH = 0.4; // percent; a call is drawn at least this wide

/** The axis, or null if fewer than two calls have times. `onPick(index)` is called on a click. */
function renderTimeAxis(data, hues, onPick) {
  const calls = data.steps
    .flatMap((step) => step.items)
    .filter((item) => item.kind === "call" && item.at !== undefined);
  const end = Math.max(0, ...calls.map((call) => call.at + (call.seconds ?? 0)));
  if (calls.length < 2 || end <= 0) return null;
  const percent = (seconds) => `${(100 * seconds) / end}%`;
  const marks = calls.map((call) => {
    const label = `#${call.index + 1} ${call.tool}, ${call.since}`;
    const mark = el("button.time-axis__mark", { type: "button", title: label, "aria-label": label, tabindex: -1 });
    mark.style.left = percent(call.at);
    mark.style.width = `max(3px, ${Math.max(MARK_WIDTH, (100 * (call.seconds ?? 0)) / end)}%)`;
    mark.addEventListener("click", () => onPick(call.index));
    return tinted(mark, hues.get(call.tool));
  });
  const totals = totalsOf(calls);
  return el(
    "div.time-axis",
    { role: "group", "aria-label": "Calls over time" },
    el("div.time-axis__marks", null, marks),
    el("div.time-axis__ends", null, el("span", null, "0"), el("span", null, readable(end))),
    totals.length ? el("p.time-axis__totals", null, `in all: ${totals.join(", ")}`) : null,
  );
}

/** The sums of what calls used, such as "1,200 input_tokens". */
function totalsOf(calls) {
  const sums = new Map();
  for (const call of calls) {
    for (const [name, value] of Object.entries(call.usage === undefined ? {} : JSON.parse(call.usage))) {
      if (typeof value === "number") sums.set(name, (sums.get(name) ?? 0) + value);
    }
  }
  return [...sums].map(([name, sum]) => `${sum.toLocaleString("en", { maximumFractionDigits: 4 })} ${name}`);
}

/** A duration as people say it. */
function readable(seconds) {
  const units = [
    [86_400, "d"],
    [3_600, "h"],
    [60, "min"],
    [1, "s"],
  ];
  const [size, name] = units.find(([each]) => seconds >= each) ?? [0.001, "ms"];
  return `${(seconds / size).toLocaleString("en", { maximumFractionDigits: 1 })} ${name}`;
}
