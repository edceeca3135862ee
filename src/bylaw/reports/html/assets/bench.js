"use strict";

/*
 * The report: filters, the list of runs, and the open run. The URL records the filters and the
 * open run (`#setting=baseline&run=…&rule=…`), so it can be shared.
 */

function startReport() {
  const data = JSON.parse(document.getElementById("data").textContent);
  const runs = readRuns(data);
  const byKey = new Map(runs.map((run) => [run.key, run]));
  const [report, opened, selection] = ["report", "opened", "selection"].map((id) => document.getElementById(id));
  let viewer = null;
  let open = null;
  let scrolled = 0;

  const list = renderList((run) => go({ run: run.key, rule: "" }));
  document.getElementById("list").append(list.element);
  const filters = renderChoices(document.getElementById("filters"), runs, (chosen, fits) => {
    const found = runs.filter(fits);
    list.show(found);
    selection.replaceChildren(...renderTiles(found, runs.length));
    writeAddress(chosen, "replaceState");
  });

  /** Changes the URL and updates the page. */
  function go(changes) {
    writeAddress(changes, "pushState");
    follow();
  }

  async function follow() {
    const wanted = byKey.get(readAddress().run) ?? null;
    if (wanted === open) return;
    if (open === null) scrolled = scrollY;
    open = wanted;
    viewer?.destroy();
    viewer = null;
    opened.hidden = open === null;
    report.hidden = open !== null;
    if (open === null) {
      opened.replaceChildren();
      scrollTo(0, scrolled);
      return;
    }
    const block = await unpack(open.block);
    if (open !== wanted) return; // another run was opened meanwhile
    const place = el("div");
    opened.replaceChildren(openedBar(wanted, list.runs(), go), place);
    viewer = renderTrace(traceOf(wanted, block, data), place);
    scrollTo(0, 0);
    opened.querySelector("button").focus({ preventScroll: true });
  }

  document.querySelector("main").addEventListener("click", (event) => {
    const mark = event.target.closest(".chart .mark");
    if (!mark) return;
    filters.set({ ...filters.chosen(), ...pick(mark.dataset, Object.keys(FILTERS)) });
    document.getElementById("runs").scrollIntoView();
  });
  addEventListener("hashchange", () => {
    if (!location.hash.includes("=") && location.hash !== "") return; // a link to a section
    follow();
  });
  addEventListener("popstate", follow);
  openForPrint();
  filters.set(readAddress());
  follow();
}

/** The bar above an open run, with links to the list and to the neighbouring runs. */
function openedBar(run, runs, go) {
  const at = runs.indexOf(run);
  const button = (text, target, label) => {
    const made = el("button", { type: "button", "aria-label": label, disabled: target === undefined }, text);
    made.addEventListener("click", () => go(target));
    return made;
  };
  const to = (neighbour) => neighbour && { run: neighbour.key, rule: "" };
  const number = (at + 1).toLocaleString("en");
  const place = at < 0 ? "not in the selection" : `${number} of ${count(runs.length, "run")}`;
  return el(
    "nav.opened__bar",
    { "aria-label": "Runs" },
    button("← All runs", { run: "", rule: "" }, "Back to all runs"),
    el("span.opened__place", null, place),
    button("Previous", to(runs[at - 1]), "Previous run"),
    button("Next", at < 0 ? undefined : to(runs[at + 1]), "Next run"),
  );
}

function pick(from, names) {
  return Object.fromEntries(names.filter((name) => from[name]).map((name) => [name, from[name]]));
}

function readAddress() {
  return Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
}

/** Changes parameters of the URL; empty ones are removed. */
function writeAddress(changes, method) {
  const known = pick({ ...readAddress(), ...changes }, [...Object.keys(FILTERS), "run", "rule"]);
  const text = new URLSearchParams(known).toString();
  if (`#${text}` === location.hash || (text === "" && !location.hash.includes("="))) return;
  history[method](null, "", text ? `#${text}` : location.pathname + location.search);
}

/** Opens all tables before printing, and closes them afterwards. */
function openForPrint() {
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("main details:not([open])")];
    for (const each of closed) each.open = true;
  });
  addEventListener("afterprint", () => {
    for (const each of closed) each.open = false;
  });
}

startReport();
