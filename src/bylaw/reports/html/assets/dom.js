"use strict";

/* Creating elements. Text only becomes text nodes: nothing from a trace is parsed as HTML. */

/** An element: `el("button.chip", { type: "button" }, "text", child)`. Empty children are left out. */
function el(spec, attributes, ...children) {
  const [tag, ...classes] = spec.split(".");
  const element = document.createElement(tag);
  if (classes.length) element.className = classes.join(" ");
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  for (const child of children.flat()) {
    if (child != null && child !== "") element.append(child);
  }
  return element;
}

const ICONS = {
  satisfied: '<path d="M3.5 8.5l3 3 6-7"/>',
  vacuous: '<circle cx="8" cy="8" r="4.6"/><path d="M3.6 12.4l8.8-8.8"/>',
  violated: '<path d="M4 4l8 8M12 4l-8 8"/>',
  error: '<path d="M5.6 6.1a2.4 2.4 0 1 1 3.5 2.1c-.8.4-1.1.9-1.1 1.6"/><path d="M8 12.4v.1"/>',
  up: '<path d="M4 10l4-4 4 4"/>',
  down: '<path d="M4 6l4 4 4-4"/>',
  refused: '<circle cx="8" cy="8" r="5.4"/><path d="M5 8h6"/>',
  again: '<path d="M12.6 9.4a4.8 4.8 0 1 1-.7-4.2"/><path d="M12.4 2.6v2.9H9.5"/>',
  flag: '<path d="M4 14V3M4 3.5h7.5L9.8 6.2l1.7 2.8H4"/>',
};

const drawn = new Map();

/** One of the icons above, hidden from screen readers because adjacent text says the same. */
function icon(name) {
  if (!drawn.has(name)) {
    const holder = el("span.icon", { "aria-hidden": "true" });
    // The only markup that is parsed; it contains no data.
    holder.innerHTML = `<svg viewBox="0 0 16 16" width="16" height="16">${ICONS[name]}</svg>`;
    drawn.set(name, holder);
  }
  return drawn.get(name).cloneNode(true);
}

/** "1 call", "2 calls". */
function count(number, noun) {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}

/** The start of a text, without splitting its last character. */
function clip(text, length) {
  return text.length <= length ? text : text.slice(0, length).replace(/[\ud800-\udbff]$/, "") + "…";
}

const HUES = [255, 320, 190, 75, 290, 130, 350, 225, 50, 165, 305, 105]; // none is a verdict's red

/** A hue for each tool by its index; the first few are as different as possible. */
function toolHues(tools) {
  return new Map(tools.map((tool, at) => [tool, HUES[at] ?? Math.round((at * 137.5) % 360)]));
}

/** Gives an element the colour of a tool. */
function tinted(element, hue) {
  if (hue !== undefined) element.style.setProperty("--hue", hue);
  return element;
}

const MOVES = {
  ArrowDown: (at) => at + 1,
  ArrowUp: (at) => at - 1,
  Home: () => 0,
  End: (_, last) => last,
};

/**
 * Moves the focus along a list with the arrow keys, Home and End, so the list is one tab stop.
 * `selector` finds the buttons to move between and `item` their items, whose other buttons can be
 * reached with Tab. `refresh()` moves the tab stop to a visible button.
 */
function rove(list, selector, item) {
  const buttons = () => [...list.querySelectorAll(selector)].filter((b) => !b.closest("[hidden]"));
  let current = null;
  const setTabIndex = (button, value) => {
    for (const each of button.closest(item).querySelectorAll("button")) each.tabIndex = value;
  };
  const stopAt = (button) => {
    if (current) setTabIndex(current, -1);
    current = button ?? null;
    if (current) setTabIndex(current, 0);
  };
  list.addEventListener("focusin", (event) => {
    const button = event.target.closest(selector);
    if (button && button !== current) stopAt(button);
  });
  list.addEventListener("keydown", (event) => {
    const button = event.target.closest(selector);
    if (!button || !MOVES[event.key] || event.altKey || event.ctrlKey || event.metaKey) return;
    const all = buttons();
    event.preventDefault();
    all[MOVES[event.key](all.indexOf(button), all.length - 1)]?.focus();
  });
  return {
    stopAt,
    refresh() {
      if (!current || !current.isConnected || current.closest("[hidden]")) stopAt(buttons()[0]);
    },
  };
}
