"use strict";

/* Calls that a gate refused. They did not run, so they have no number and take no part in verdicts. */

/** What the gate did about a call, and what the agent made of it. */
const REFUSALS = {
  warn: "refused with a warning",
  block: "refused",
  stop: "refused; the run was stopped",
  ask: "refused by a person",
  budget: "not run: the budget was used up",
};
const RESOLUTIONS = {
  insisted: "the agent insisted",
  listened: "the agent did something else",
  unresolved: "no call followed",
};

/** A refused call: `{ number, tool, args, action, message, rules, resolution }`. */
function refusedCard(item, hues) {
  const rules = item.rules.map((name) =>
    el("button.link.refused__rule", { type: "button", "data-rule": name, title: `Show the rule ${name}` }, name),
  );
  return tinted(
    el(
      "article.refused",
      { "data-number": item.number },
      el(
        "div.refused__head",
        null,
        el("span.card__tool", null, item.tool),
        el("span.refused__mark", null, icon("refused"), REFUSALS[item.action] ?? item.action),
        item.resolution ? el("span.refused__then", null, RESOLUTIONS[item.resolution]) : null,
      ),
      el("div.card__line", null, item.args.length ? argumentsPreview(item.args) : null),
      rules.length ? el("p.refused__rules", null, "because of ", joined(rules)) : null,
      el("details.refused__told", null, el("summary", null, "What the agent was told"), block(item.message)),
    ),
    hues.get(item.tool),
  );
}

function joined(parts) {
  return parts.flatMap((part, at) => (at ? [", ", part] : [part]));
}
