"use strict";

/* The header: the trace, the procedure and the score. */

const VERDICTS = {
  violated: "violated",
  error: "undecided",
  vacuous: "vacuous",
  satisfied: "satisfied",
};

function renderHeader(data) {
  return el(
    "header.head",
    null,
    scoreRing(data),
    el(
      "div.head__what",
      null,
      el("h1", null, data.procedure),
      el("p.head__trace", null, traceLine(data)),
      el("p.head__details", null, data.details),
      data.reason ? el("p.head__reason", { title: data.reason }, data.reason) : null,
    ),
    el("div.head__how", null, countsLine(data.counts), layerBars(data.layers)),
  );
}

function scoreRing(data) {
  const none = data.score === null;
  const ring = el(
    "div.ring",
    { "aria-hidden": "true" },
    el("span.ring__value", null, none ? "–" : scoreText(data.score)),
  );
  ring.style.setProperty("--share", none ? 0 : data.score);
  const label = none ? "NO SCORE" : data.label;
  const spoken = none ? "No score" : `Score ${scoreText(data.score)}, ${label}`;
  return el(
    "div.score",
    { "data-label": data.label ?? "UNKNOWN" },
    ring,
    el("span.badge", { "aria-hidden": "true" }, label),
    el("span.unseen", null, spoken),
  );
}

/** Two digits, or as many as are needed so that a partial score is not shown as 0 or 1. */
function scoreText(score) {
  for (let digits = 2; digits < 12; digits += 1) {
    const text = score.toFixed(digits);
    if ((Number(text) > 0 || score === 0) && (Number(text) < 1 || score === 1)) return text;
  }
  return String(score);
}

function traceLine(data) {
  const items = data.steps.flatMap((step) => step.items);
  const calls = items.filter((item) => item.kind === "call").length;
  const turns = data.steps.filter((step) => step.items.some((item) => item.kind === "call")).length;
  const size = turns === calls ? count(calls, "call") : `${count(calls, "call")} in ${count(turns, "step")}`;
  const refused = items.filter((item) => item.kind === "refused").length;
  const sizes = refused ? [size, `${refused} refused`] : [size];
  const labels = data.labels.map(([key, value]) => `${key} ${clip(value, 60)}`);
  const name = data.trace === null ? null : el("span.head__name", null, data.trace);
  return [name, ...[...sizes, ...labels].map((text) => el("span", null, text))];
}

function countsLine(counts) {
  const parts = Object.entries(VERDICTS).map(([verdict, word]) =>
    el(
      "li.tally",
      { "data-verdict": verdict, "data-none": counts[verdict] === 0 },
      icon(verdict),
      el("b", null, String(counts[verdict])),
      el("span", null, word),
    ),
  );
  return el("ul.tallies", { "aria-label": "Rules by verdict" }, parts);
}

function layerBars(layers) {
  if (!layers.length) return null;
  const bars = layers.map((layer) => {
    const bar = el("span.bar", { "aria-hidden": "true" }, el("span.bar__passed"), el("span.bar__open"));
    bar.style.setProperty("--passed", layer.passed / layer.total);
    bar.style.setProperty("--open", layer.undecided / layer.total);
    const open = layer.undecided ? `, ${layer.undecided} undecided` : "";
    const title = `${layer.title ?? layer.name}: ${layer.passed} of ${layer.total} passed${open}`;
    return el(
      "li.layer",
      { title },
      el("span.layer__name", null, layer.name),
      bar,
      el("span.layer__share", { "aria-hidden": "true" }, `${layer.passed}/${layer.total}`),
      el("span.unseen", null, title),
    );
  });
  return el("ul.layers", { "aria-label": "Pass rate by layer" }, bars);
}
