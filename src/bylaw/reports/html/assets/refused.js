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

/**
 * A refused call: `{ number, tool, args, action, message, rules, reasons, resolution }`. A reason is
 * a rule, or null, and a sentence; without reasons, the rules are named.
 */
function refusedCard(item, hues) {
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
      item.reasons ? item.reasons.map(reasonLine) : namedRules(item.rules),
      el("details.refused__told", null, el("summary", null, "Message to the agent"), block(item.message)),
    ),
    hues.get(item.tool),
  );
}

function reasonLine([rule, text]) {
  return el("p.refused__rules", null, rule === null ? null : [ruleLink(rule), text ? ": " : null], text);
}

function namedRules(rules) {
  if (!rules.length) return null;
  const links = rules.map(ruleLink).flatMap((link, at) => (at ? [", ", link] : [link]));
  return el("p.refused__rules", null, "because of ", links);
}

function ruleLink(name) {
  return el("button.link.refused__rule", { type: "button", "data-rule": name, title: `Show the rule ${name}` }, name);
}
