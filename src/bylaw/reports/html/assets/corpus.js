"use strict";

/*
 * The report on a corpus. The address holds the state: `#trace=NAME` shows a trace instead of the
 * summary; `#rule=NAME` and `#score=0.85` select traces of the list. Links are ordinary ones, so the
 * browser's history works. An address without `=` is a heading, and changes no selection.
 */

const BIN = 0.05;

function startCorpus() {
  const traces = JSON.parse(document.getElementById("data").textContent);
  const byName = new Map(traces.map((trace) => [trace.trace, trace]));
  drawBars();
  const list = traceList();
  const find = ruleTable();
  const opened = openedTrace();

  const search = document.getElementById("search");
  const searched = () => {
    const words = search.value.trim().toLowerCase();
    find(words);
    list.search(words);
  };
  search.addEventListener("input", searched);
  document.getElementById("find").addEventListener("submit", (event) => event.preventDefault());
  addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input, textarea, select");
    if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (document.getElementById("report").hidden) return;
    event.preventDefault();
    search.focus();
    search.select();
  });

  const follow = () => {
    const hash = location.hash.slice(1);
    const wanted = new URLSearchParams(hash);
    const trace = byName.get(wanted.get("trace")) ?? null;
    opened.show(trace);
    if (trace || (hash && !hash.includes("="))) return;
    const selecting = list.select({ rule: wanted.get("rule"), score: wanted.get("score") });
    if (selecting) document.getElementById("traces").scrollIntoView();
  };
  addEventListener("hashchange", follow);
  searched();
  follow();
}

/** Gives bars their lengths. */
function drawBars() {
  for (const bar of document.querySelectorAll("[data-share]")) {
    bar.style.setProperty("--share", bar.dataset.share);
  }
  for (const part of document.querySelectorAll("[data-grow]")) part.style.flexGrow = part.dataset.grow;
}

/** The rules: rows sort by a click on a heading. Returns a function that searches their texts. */
function ruleTable() {
  const body = document.getElementById("rules-body");
  const heads = [...body.closest("table").querySelectorAll("th")];
  heads.forEach((head, column) => {
    head.querySelector("button").addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") !== "descending" && column > 1;
      const value = (row) => Number(row.cells[column].dataset.value);
      const sign = down ? -1 : 1;
      const rows = [...body.rows].sort((a, b) => sign * (value(a) - value(b)));
      body.append(...rows);
      heads.forEach((each) => each.setAttribute("aria-sort", "none"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
    });
  });
  return (words) => {
    for (const row of body.rows) row.hidden = !row.textContent.toLowerCase().includes(words);
  };
}

/** The list of traces: `select` takes a rule and a score, `search` words of their names. */
function traceList() {
  const body = document.getElementById("traces-body");
  const status = document.getElementById("selected");
  const rules = new Map();
  for (const row of document.querySelectorAll("tr[data-rule]")) {
    rules.set(row.dataset.name, row);
  }
  let chosen = { rule: null, score: null };
  let words = "";

  const matches = (row) => {
    const number = rules.get(chosen.rule)?.dataset.rule;
    const low = Number(chosen.score);
    const score = Number(row.dataset.score);
    return (
      (number === undefined || row.dataset.rules.split(" ").includes(number)) &&
      (chosen.score === null || (score >= low - 1e-9 && score < low + BIN - 1e-9)) &&
      row.textContent.toLowerCase().includes(words)
    );
  };
  const draw = () => {
    let found = 0;
    for (const row of body.rows) {
      row.hidden = !matches(row);
      found += Number(!row.hidden);
    }
    for (const row of rules.values()) row.classList.toggle("is-chosen", row.dataset.name === chosen.rule);
    const which = [
      rules.has(chosen.rule) ? `violating ${chosen.rule}` : null,
      chosen.score === null ? null : `with a score from ${chosen.score}`,
      words ? `matching “${words}”` : null,
    ].filter(Boolean);
    const clear = el("a.chip", { href: "#all=" }, "Show all");
    const shown = `${count(found, "trace")} on this page${which.length ? `, ${which.join(", ")}` : ""}. `;
    status.replaceChildren(shown, chosen.rule || chosen.score !== null ? clear : "");
  };
  return {
    select(wanted) {
      chosen = wanted;
      draw();
      return wanted.rule !== null || wanted.score !== null;
    },
    search(text) {
      words = text;
      draw();
    },
  };
}

/** The trace that is shown instead of the summary, if any. */
function openedTrace() {
  const [report, opened] = ["report", "opened"].map((id) => document.getElementById(id));
  let viewer = null;
  let open = null;
  let scrolled = 0;
  return {
    show(trace) {
      if (trace === open) return;
      if (open === null) scrolled = scrollY;
      open = trace;
      viewer?.destroy();
      viewer = null;
      opened.hidden = open === null;
      report.hidden = open !== null;
      opened.replaceChildren();
      if (open === null) {
        scrollTo(0, scrolled);
        return;
      }
      const place = el("div");
      const back = el("button", { type: "button" }, "← Summary");
      back.addEventListener("click", () => {
        location.hash = "";
      });
      opened.append(el("nav.opened__bar", { "aria-label": "Traces" }, back), place);
      viewer = renderTrace(open, place);
      scrollTo(0, 0);
      back.focus({ preventScroll: true });
    },
  };
}

startCorpus();
