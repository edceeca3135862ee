"use strict";

/*
 * The viewer: the header, the rules next to the timeline, and the selection.
 *
 * `renderTrace(data, container)` renders the data of one trace (the JSON of `trace_data`) inside an
 * element. An element with `data-trace="ID"` renders the JSON in the element with that id as soon
 * as the page is loaded.
 */

/**
 * Renders a trace and returns `{ select(name), clear(), destroy() }`. With `hash` the selected rule
 * is kept in the URL as `#rule=name`, along with any other parameters.
 */
function renderTrace(data, container, { hash = true } = {}) {
  const stop = new AbortController();
  const root = el("div.viewer");
  const hues = toolHues(data.tools);
  const byName = new Map(data.rules.map((rule) => [rule.name, rule]));
  let selected = { rule: null, call: null };

  const toggleRule = (name) => select(selected.rule === name ? null : byName.get(name));
  const toggleCall = (index) => (selected.call === index ? select(null) : selectCall(index));
  const rules = renderRules(data, hues, { onPick: toggleRule, onMention: (index) => timeline.point(index) });
  const stayAt = (name) => select(byName.get(name), { scroll: false });
  const timeline = renderTimeline(data, hues, toggleCall, stayAt);
  const overview = renderOverview(data, hues, (index) => timeline.reveal(index), stop.signal);
  const filter = renderCallFilter(data, (test) => timeline.filter(test), stop.signal);
  const axis = renderTimeAxis(data, hues, (index) => timeline.reveal(index));
  const bar = renderFocusBar({
    onClear: () => select(null),
    onReveal: (index) => timeline.reveal(index),
    onRules: () => rules.reveal(),
  });

  function light(highlight, verdict) {
    root.dataset.focus = verdict;
    timeline.highlight(highlight);
    overview.highlight(highlight);
  }

  function select(rule, { scroll = true, instantly = false } = {}) {
    selected = { rule: rule?.name ?? null, call: null };
    rules.select(selected.rule);
    rules.markPart(null);
    const { calls = [], absence = [], messages = [], other_messages: others = [], refused = [] } = rule ?? {};
    const broken = brokenAt(rule);
    light({ calls, absence, messages, others, broken, refused }, rule?.verdict ?? "none");
    bar.showRule(rule);
    if (hash) writeHash(selected.rule);
    if (!scroll) return;
    if (calls.length) timeline.reveal(calls[0], instantly);
    else if (messages.length) timeline.revealMessage(messages[0], instantly);
    else if (refused.length) timeline.revealRefused(refused[0], instantly);
    else if (absence.length) timeline.reveal(absence[0], instantly);
    else if (others.length) timeline.revealMessage(others[0], instantly);
  }

  function selectCall(index) {
    selected = { rule: null, call: index };
    rules.select(null);
    const parts = rules.markPart(index);
    light({ picked: index }, "none");
    bar.showCall(index < callCount(data) ? `Call #${index + 1}` : "The final answer", parts);
    if (hash) writeHash(null);
  }

  const onEscape = (event) => {
    const typing = event.target instanceof HTMLInputElement && event.target.value !== "";
    if (event.key === "Escape" && !typing && !event.defaultPrevented) select(null);
  };
  document.addEventListener("keydown", onEscape, { signal: stop.signal });
  if (hash) {
    const follow = () => {
      const rule = byName.get(readHash());
      if (rule && rule.name !== selected.rule) select(rule);
      if (rule) rules.reveal();
    };
    addEventListener("hashchange", follow, { signal: stop.signal });
  }

  const parts = [bar.element, filter, overview.element, axis, timeline.element];
  const pane = el("section.pane.pane--time", { "aria-label": "Calls" }, parts);
  root.append(renderHeader(data), el("div.panes", null, rules.element, pane));
  container.replaceChildren(root);
  const linked = hash ? byName.get(readHash()) : undefined;
  const first = linked ?? data.rules.find((rule) => rule.verdict === "violated");
  // Where the whole page scrolls, start at its top.
  const sideBySide = matchMedia("(min-width: 900px)").matches;
  select(first ?? null, { scroll: sideBySide || linked !== undefined, instantly: true });
  if (linked && sideBySide) rules.reveal();

  return {
    select: (name) => select(byName.get(name) ?? null),
    clear: () => select(null),
    destroy() {
      stop.abort();
      root.remove();
    },
  };
}

function callCount(data) {
  return data.steps.flatMap((step) => step.items).filter((item) => item.kind === "call").length;
}

/** The calls that break a rule, if several do. */
function brokenAt(rule) {
  const found = (rule?.occurrences ?? []).map(({ call }) => call).filter((call) => call !== undefined);
  return [...new Set(found)];
}

function readHash() {
  return new URLSearchParams(location.hash.slice(1)).get("rule");
}

function writeHash(name) {
  const parts = new URLSearchParams(location.hash.slice(1));
  if (parts.get("rule") === name) return;
  if (name === null) parts.delete("rule");
  else parts.set("rule", name);
  const text = parts.toString();
  try {
    history.replaceState(history.state, "", text ? `#${text}` : location.pathname + location.search);
  } catch {
    // A page without a URL of its own, for example in a notebook, cannot be linked to.
  }
}

/** The bar that shows the selection and its legend, and steps through the calls. */
function renderFocusBar({ onClear, onReveal, onRules }) {
  const what = el("div.focus__what", { role: "status", "aria-live": "polite" });
  const place = el("span.focus__place");
  const button = (label, content, action) => {
    const attributes = { type: "button", "aria-label": label, title: label };
    const element = el("button.focus__button", attributes, content);
    element.addEventListener("click", action);
    return element;
  };
  let stops = [];
  let at = 0;
  const go = (by) => {
    at = (at + by + stops.length) % stops.length;
    place.textContent = `${at + 1}/${stops.length}`;
    onReveal(stops[at]);
  };
  const steps = el(
    "span.focus__steps",
    null,
    button("Previous highlighted call", icon("up"), () => go(-1)),
    place,
    button("Next highlighted call", icon("down"), () => go(1)),
  );
  const back = button("Back to the rules", "Rules", onRules);
  back.classList.add("focus__back");
  const clear = button("Clear the selection (Escape)", icon("violated"), onClear);
  const element = el("div.focus", null, what, steps, back, clear);

  function show(content, through) {
    what.replaceChildren(...content);
    stops = through;
    at = 0;
    place.textContent = `1/${stops.length}`;
    steps.hidden = stops.length < 2;
  }

  return {
    element,
    showRule(rule) {
      element.classList.toggle("is-idle", !rule);
      if (rule) {
        const through = [brokenAt(rule), rule.calls, rule.absence].find((each) => each.length);
        show([el("b", null, rule.name), ...legend(rule)], through ?? []);
      } else show([el("span.quiet", null, "Choose a rule to see which calls decided it.")], []);
    },
    showCall(name, parts) {
      element.classList.remove("is-idle");
      const text = `involved in ${parts ? count(parts, "rule") : "no rule"}`;
      show([el("b", null, name), el("span", null, text)], []);
    },
  };
}

/** The legend of a rule's highlights. */
function legend(rule) {
  const swatch = (kind) => el(`i.legend__swatch.legend__swatch--${kind}`);
  const entry = (kind, number, text) =>
    number ? el("span.legend", null, swatch(kind), `${text} (${number})`) : null;
  const deciding = rule.explained ? "decided by these calls" : "calls to look at";
  const verb = rule.verdict === "violated" ? "needed" : "watches for";
  const entries = [
    entry("deciding", rule.calls.length, deciding),
    entry("deciding", rule.messages.length, rule.calls.length ? "and these messages" : "decided by these messages"),
    entry("broken", brokenAt(rule).length, "each of these breaks it"),
    entry("refused", rule.refused?.length, "refused because of it"),
    entry("absent", rule.absence.length + rule.other_messages.length, `none of these is what the rule ${verb}`),
    rule.explained && !rule.minimal ? el("span.legend", null, "not all of them may be needed") : null,
  ].filter(Boolean);
  return entries.length ? entries : [el("span.legend", null, "decided by no call")];
}

for (const container of document.querySelectorAll("[data-trace]")) {
  renderTrace(JSON.parse(document.getElementById(container.dataset.trace).textContent), container);
}
