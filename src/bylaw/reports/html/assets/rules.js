"use strict";

/* The panel of rules: verdicts, worst first, with filters. */

const WORST_FIRST = Object.keys(VERDICTS);
/** Longer lists of occurrences are folded. */
const SHOWN_OCCURRENCES = 5;

/**
 * The panel. `onPick(name)` is called when a rule is clicked, `onMention(index)` when a call in the
 * text of a verdict is. Returns the element; `select(name)`; `markPart(index)`, which marks the
 * rules that involve a call and returns their number; `reveal()`, which scrolls to the selected
 * rule.
 */
function renderRules(data, hues, { onPick, onMention }) {
  const rank = (rule) => WORST_FIRST.indexOf(rule.verdict);
  const ordered = [...data.rules].sort((a, b) => rank(a) - rank(b));
  const parts = partsByCall(ordered);
  const titles = new Map(data.layers.map((layer) => [layer.name, layer.title]));
  const cards = new Map(ordered.map((rule) => [rule.name, ruleCard(rule, hues, titles)]));
  const list = el("ol.rules", { "aria-label": "Rules" }, [...cards.values()]);
  const roving = rove(list, ".rule__name", ".rule");
  const filters = renderFilters(data, ordered, cards, () => roving.refresh());
  list.addEventListener("click", (event) => {
    const mention = event.target.closest("[data-mention]");
    if (mention) return onMention(Number(mention.dataset.mention));
    if (event.target.closest("summary")) return undefined;
    const card = event.target.closest(".rule");
    if (card && !isSelectingText(event)) onPick(card.dataset.name);
    return undefined;
  });
  roving.refresh();
  let selected = null;
  let marked = [];

  return {
    element: el("section.pane.pane--rules", { "aria-label": "Rules" }, filters, list),
    select(name) {
      if (selected) setSelected(selected, false);
      selected = name === null ? null : cards.get(name);
      if (selected) {
        setSelected(selected, true);
        roving.stopAt(selected.querySelector(".rule__name"));
      }
    },
    markPart(index) {
      for (const card of marked) card.classList.remove("is-part");
      const names = index === null ? [] : (parts.get(index) ?? []);
      marked = names.map((name) => cards.get(name));
      for (const card of marked) card.classList.add("is-part");
      list.classList.toggle("is-marking", index !== null);
      if (marked.length) scrollWithin(list, marked[0]);
      return names.length;
    },
    reveal() {
      (selected ?? marked[0] ?? list).scrollIntoView({ block: "nearest" });
    },
  };
}

/** Scrolls only the list, until the card is visible. */
function scrollWithin(list, card) {
  const [outer, inner] = [list.getBoundingClientRect(), card.getBoundingClientRect()];
  if (inner.top < outer.top || inner.bottom > outer.bottom) list.scrollTop += inner.top - outer.top - 8;
}

function setSelected(card, on) {
  card.classList.toggle("is-selected", on);
  card.querySelector(".rule__name").setAttribute("aria-pressed", String(on));
}

/** True while text is selected: dragging to select text is not a click. */
function isSelectingText(event) {
  return event.detail > 0 && !event.target.closest("button") && String(getSelection()) !== "";
}

/** For each call, the names of the rules that involve it. */
function partsByCall(rules) {
  const parts = new Map();
  for (const rule of rules) {
    for (const index of [...rule.calls, ...rule.absence]) {
      if (!parts.has(index)) parts.set(index, []);
      parts.get(index).push(rule.name);
    }
  }
  return parts;
}

function ruleCard(rule, hues, titles) {
  const verdict = VERDICTS[rule.verdict];
  const notes = [
    ["why", rule.why],
    ["fix", rule.fix],
    ["gate", rule.coverage && sentence(rule.coverage)], // not in pages of many runs
  ]
    .filter(([, text]) => text != null)
    .flatMap(([term, text]) => [el("dt", null, term), el("dd", null, text)]);
  return el(
    "li.rule",
    { "data-verdict": rule.verdict, "data-name": rule.name },
    icon(rule.verdict),
    el(
      "div.rule__body",
      null,
      el(
        "div.rule__top",
        null,
        el("button.rule__name", { type: "button", "aria-pressed": "false", tabindex: -1 }, rule.name),
        el("span.rule__verdict", null, verdict),
      ),
      el("code.rule__text", null, tintedTools(rule.rule, hues)),
      el("p.rule__detail", null, sentence(rule.detail)),
      rule.occurrences.length ? occurrenceList(rule.occurrences) : null,
      notes.length ? el("dl.rule__notes", null, notes) : null,
      rule.repair?.length ? repairNote(rule.repair) : null,
      el("p.rule__facts", null, ruleFacts(rule, titles)),
    ),
  );
}

/** Every place where the rule is broken. Long lists are folded. */
function occurrenceList(occurrences) {
  const items = occurrences.map(({ label, detail }) =>
    el("li", null, detail ? sentence(detail) : sentence(label)),
  );
  const list = el("ol", null, items);
  const text = `broken ${occurrences.length} times`;
  if (occurrences.length <= SHOWN_OCCURRENCES) return el("div.rule__broken", null, el("p", null, text), list);
  return el("details.rule__broken", null, el("summary", null, text), list);
}

/** The edits after which the rule would hold. */
function repairNote(edits) {
  const items = edits.map((edit) => el("li", null, sentence(edit)));
  return el("div.rule__repair", null, el("p", null, "possible fix"), el("ul", null, items));
}

function ruleFacts(rule, titles) {
  const severity = rule.severity.toLowerCase().replaceAll("_", " ");
  return [
    rule.layer === null ? null : el("span", { title: titles.get(rule.layer) }, rule.layer),
    el("span", null, `weight ${rule.weight}`),
    el("span", null, severity),
    rule.enforced ? el("span", null, `enforced ${rule.enforced}`) : null,
    rule.excused ? el("span", null, rule.excused) : null,
  ];
}

/** The text of a rule, with tools in their colours. */
function tintedTools(text, hues) {
  return text
    .split(/([\p{L}\p{N}_.-]+)/u)
    .map((word) => (hues.has(word) ? tinted(el("span.tool", null, word), hues.get(word)) : word));
}

/** A sentence, with text between backquotes as code and calls as links. */
function sentence(text) {
  return text.split(/(`[^`]+`|\bcall #\d+)/i).map((part) => {
    if (/^`.+`$/s.test(part)) return el("code", null, part.slice(1, -1));
    const call = /^call #(\d+)$/i.exec(part);
    if (!call) return part;
    return el("button.link", { type: "button", "data-mention": call[1] - 1, tabindex: -1 }, part);
  });
}

function renderFilters(data, ordered, cards, onChange) {
  const state = { verdict: "all", text: "" };
  const search = el("input.search", {
    type: "search",
    placeholder: "Filter rules",
    "aria-label": "Filter rules by text",
    autocomplete: "off",
    spellcheck: "false",
  });
  const shown = el("span.filters__shown", { role: "status", "aria-live": "polite" });
  const used = WORST_FIRST.filter((verdict) => data.counts[verdict] > 0);
  const buttons = ["all", ...used].map((verdict) => {
    const number = verdict === "all" ? data.rules.length : data.counts[verdict];
    return el(
      "button.filter",
      { type: "button", "data-verdict": verdict, "aria-pressed": String(verdict === "all") },
      el("span", null, VERDICTS[verdict] ?? verdict),
      el("span.filter__count", null, String(number)),
    );
  });

  const apply = () => {
    const words = state.text.toLowerCase().split(/\s+/).filter(Boolean);
    let visible = 0;
    for (const rule of ordered) {
      const fits = (state.verdict === "all" || rule.verdict === state.verdict) && hasWords(rule, words);
      cards.get(rule.name).hidden = !fits;
      visible += fits;
    }
    shown.textContent = visible === ordered.length ? "" : `${visible} of ${count(ordered.length, "rule")}`;
    for (const button of buttons) {
      button.setAttribute("aria-pressed", String(button.dataset.verdict === state.verdict));
    }
    onChange();
  };
  for (const button of buttons) {
    button.addEventListener("click", () => {
      state.verdict = button.dataset.verdict;
      apply();
    });
  }
  search.addEventListener("input", () => {
    state.text = search.value;
    apply();
  });
  return el(
    "div.filters",
    null,
    el("div.filters__row", { role: "group", "aria-label": "Filter rules by verdict" }, buttons),
    el("div.filters__row", null, search, shown),
  );
}

function hasWords(rule, words) {
  const text = [rule.name, rule.rule, rule.detail, rule.layer, rule.why, rule.fix].join(" ").toLowerCase();
  return words.every((word) => text.includes(word));
}
