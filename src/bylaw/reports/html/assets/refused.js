"use strict";

/* Calls refused by the gate. They did not run, so they have no number and no part in verdicts. */

/** The action of the gate, and the reaction of the agent. */
const REFUSALS = {
  warn: "refused with a warning",
  block: "refused",
  stop: "refused; the run was stopped",
  ask: "refused by a person",
  budget: "not run: the budget was spent",
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
      el("details.refused__told", null, el("summary", null, "Message to the agent"), block(item.message)),
    ),
    hues.get(item.tool),
  );
}

function joined(parts) {
  return parts.flatMap((part, at) => (at ? [", ", part] : [part]));
}
