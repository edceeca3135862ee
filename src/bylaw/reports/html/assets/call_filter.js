"use strict";

/* The bar that filters the timeline: by words of a call or message, and by tool. */

/**
 * The bar. `onFilter(test)` is called with a test of items of the timeline, or null for all of
 * them, and returns the number of calls that pass. `/` focuses the search.
 */
function renderCallFilter(data, onFilter, signal) {
  const calls = data.steps.flatMap((step) => step.items).filter((item) => item.kind === "call");
  const used = data.tools.filter((tool) => calls.some((call) => call.tool === tool));
  const search = el("input.search", {
    type: "search",
    placeholder: "Search calls ( / )",
    "aria-label": "Search calls and messages",
    autocomplete: "off",
    spellcheck: "false",
  });
  const options = ["", ...used].map((tool) => el("option", { value: tool }, tool || "all tools"));
  const tools = el("select.call-filter__tool", { "aria-label": "Filter calls by tool" }, options);
  const shown = el("span.filters__shown", { role: "status", "aria-live": "polite" });

  const apply = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const tool = tools.value;
    const test = (item) =>
      (!tool || item.tool === tool) && words.every((word) => textOf(item).includes(word));
    const found = onFilter(words.length || tool ? test : null);
    shown.textContent = words.length || tool ? `${found} of ${count(calls.length, "call")}` : "";
  };
  search.addEventListener("input", apply);
  tools.addEventListener("change", apply);
  const onKey = (event) => {
    const typing = event.target.closest?.("input, textarea, select");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      search.focus();
      search.select();
    } else if (event.key === "Escape" && event.target === search && search.value) {
      event.preventDefault();
      search.value = "";
      apply();
    }
  };
  document.addEventListener("keydown", onKey, { signal });
  return calls.length > 1 ? el("div.call-filter", { role: "search" }, search, tools, shown) : null;
}

const texts = new WeakMap();

/** All words of an item, in lower case. */
function textOf(item) {
  if (!texts.has(item)) texts.set(item, JSON.stringify(item).toLowerCase());
  return texts.get(item);
}
