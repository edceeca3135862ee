"use strict";

/*
 * The traces of the report: `#trace=NAME` shows one instead of the summary. The links are ordinary
 * ones, so the browser's history works.
 */

function startCorpus() {
  const traces = JSON.parse(document.getElementById("data").textContent);
  const byName = new Map(traces.map((trace) => [trace.trace, trace]));
  const [report, opened] = ["report", "opened"].map((id) => document.getElementById(id));
  let viewer = null;
  let open = null;
  let scrolled = 0;

  const follow = () => {
    const name = new URLSearchParams(location.hash.slice(1)).get("trace");
    const wanted = byName.has(name) ? name : null;
    if (wanted === open) return;
    if (open === null) scrolled = scrollY;
    open = wanted;
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
    viewer = renderTrace(byName.get(open), place);
    scrollTo(0, 0);
    back.focus({ preventScroll: true });
  };

  addEventListener("hashchange", follow);
  follow();
}

startCorpus();
