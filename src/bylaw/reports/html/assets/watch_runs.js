"use strict";

/* The runs of a gate and the calls that wait for a person, as elements. */

/** The time of day, as people write it. */
function clockTime(seconds) {
  return new Date(seconds * 1000).toLocaleTimeString("en-GB");
}

/** `key value` chips. */
function chips(name, values) {
  return values.map((value) => el(`li.chip.chip--${name}`, null, clip(String(value), 60)));
}

/** The state of a run in one word. */
function standing(run) {
  if (run.asked.length) return "asking";
  if (run.stopped) return "stopped";
  return run.closed ? "finished" : "open";
}

/** A refusal in one line: what was refused, and why. */
function refusalLine(refusal, rules) {
  const why = refusal.rules.map((name) => rules[name]?.why).filter(Boolean);
  return el(
    "li.refusal",
    null,
    el("span.refusal__action", null, refusal.action),
    el("code.refusal__call", null, `${refusal.tool} ${refusal.arguments}`),
    el("span.refusal__rules", null, refusal.rules.join(", ") || refusal.message),
    el("span.refusal__why", null, why.join(" ")),
  );
}

/** The row of a run. Its details open with a click or with Enter. */
function runRow(run, rules) {
  const labels = Object.entries(run.labels).map(([name, value]) => `${name} ${value}`);
  const owes = el("ul.chips", { "aria-label": "owes" }, chips("owes", run.owes), chips("lost", run.lost));
  const latest = run.refusals.at(-1);
  const counts = `${count(run.allowed, "call")}, ${run.refused} refused`;
  const score = run.closed && run.score != null ? `score ${run.score.toFixed(2)}` : "";
  return el(
    "details.run",
    { "data-run": run.run, "data-state": standing(run) },
    el(
      "summary.run__head",
      null,
      el("span.run__state", null, standing(run)),
      el("span.run__who", null, clip(run.principal, 40)),
      el("span.run__labels", null, clip(labels.join(" · ") || run.run.slice(0, 8), 80)),
      el("span.run__counts", null, counts),
      owes,
      el("span.run__latest", null, latest ? `${latest.action} ${clip(latest.tool, 40)}` : score),
      el("time.run__time", null, clockTime(run.updated)),
    ),
    el(
      "div.run__more",
      null,
      el("p.quiet", null, `Run ${run.run}, turn ${run.turn}, since ${clockTime(run.opened)}. ${score}`),
      run.outstanding.length
        ? el("p", null, `Outstanding: ${run.outstanding.map((tool) => clip(tool, 60)).join(", ")}`)
        : null,
      run.owes.length ? el("p", null, `Owes: ${run.owes.join(", ")}`) : null,
      run.lost.length ? el("p", null, `Lost: ${run.lost.join(", ")}`) : null,
      el("ul.refusals", null, run.refusals.map((each) => refusalLine(each, rules)).reverse()),
    ),
  );
}

/** A call that waits for a person, with the buttons to approve and deny it. Nobody approves here
    what the page does not show as a whole: an agent could hide the rest behind a long text. */
function askedCard(run, asked, rules) {
  const labels = Object.entries(run.labels).map(([name, value]) => `${name} ${value}`);
  const shown = asked.rules.map((name) =>
    el("li", null, el("strong", null, name), rules[name]?.why ? ` ${rules[name].why}` : ""),
  );
  const named = `${clip(asked.tool, 60)} of ${clip(run.principal, 40)}`;
  const button = (word, key) =>
    el(
      `button.watch__button.watch__button--${word}`,
      { type: "button", "data-answer": word, "aria-keyshortcuts": key, "aria-label": `${word} ${named}` },
      word === "approve" ? "Approve" : "Deny",
      el("kbd", { "aria-hidden": "true" }, key),
    );
  return el(
    "li.asked",
    { "data-decision": asked.decision, "data-run": run.run },
    el("p.asked__who", null, `${run.principal} · ${labels.join(" · ") || run.run.slice(0, 8)}`),
    el("pre.asked__call", null, el("bdi", null, asked.tool), ` ${asked.arguments}`),
    el("ul.asked__rules", null, shown),
    asked.complete ? null : el("p", null, `The arguments are too long to be shown. Approve it over HTTP, once you have read all of them: GET /v1/runs/${run.run}`),
    el("p.asked__buttons", null, asked.complete ? button("approve", "a") : null, button("deny", "d")),
    el("p.watch__problem", { role: "alert" }),
  );
}
