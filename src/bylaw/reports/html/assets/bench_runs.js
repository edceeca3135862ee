"use strict";

/* The list of runs, and the tiles that summarize them. */

const PAGE = 100; // rows added at a time
const COLUMNS = [
  { name: "model", text: (run) => [run.model, run.simulated ? simulatedBadge() : null] },
  { name: "setting" },
  { name: "template" },
  { name: "difficulty", title: "D" },
  { name: "seed", text: (run) => `${run.seed}/${run.trial}`, title: "seed/trial" },
  { name: "score", text: scoreBar, number: true },
  { name: "label", text: (run) => el("span.label-mark", { "data-label": run.label }, run.label) },
  { name: "answer", text: answerMark },
  { name: "ending" },
  { name: "calls", text: (run) => `${run.calls}/${run.gold_calls}`, title: "calls/gold", number: true },
  { name: "violated", number: true },
  { name: "refused", number: true },
];

/** The list. `onOpen(run)` opens one. Returns `{ element, show(runs), runs() }`. */
function renderList(onOpen) {
  let runs = [];
  let visible = PAGE;
  let order = { name: null, up: true };
  const body = el("tbody");
  const more = el("button.more", { type: "button" });
  const status = el("p.notes", { role: "status" });
  const heads = COLUMNS.map((column) => {
    const button = el("button", { type: "button" }, column.title ?? column.name);
    button.addEventListener("click", () => sortBy(column.name));
    return el("th", { "aria-sort": "none", class: column.number ? "number" : "words" }, button);
  });

  const draw = () => {
    body.replaceChildren(...runs.slice(0, visible).map(runRow));
    const left = runs.length - Math.min(visible, runs.length);
    more.hidden = left === 0;
    more.textContent = `Show ${Math.min(PAGE, left)} more of ${left.toLocaleString("en")}`;
    const found = `${count(runs.length, "run")}. Click one to see its calls.`;
    status.textContent = runs.length ? found : "No runs match.";
  };
  const arrange = () => {
    if (order.name === null) return;
    const by = order.name;
    const low = (a, b) => (a[by] ?? -1) < (b[by] ?? -1);
    runs.sort((a, b) => (order.up ? 1 : -1) * (low(a, b) ? -1 : low(b, a) ? 1 : 0));
  };
  const sortBy = (name) => {
    order = { name, up: order.name === name ? !order.up : true };
    heads.forEach((head, at) => {
      const sorted = COLUMNS[at].name === name ? (order.up ? "ascending" : "descending") : "none";
      head.setAttribute("aria-sort", sorted);
    });
    arrange();
    draw();
  };
  more.addEventListener("click", () => {
    visible += PAGE;
    draw();
  });
  body.addEventListener("click", (event) => {
    const row = event.target.closest("tr");
    if (!row || String(getSelection()) !== "" || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    onOpen(runs[row.rowIndex - 1]);
  });

  const table = el("table.numbers.runs", null, el("thead", null, el("tr", null, heads)), body);
  return {
    element: el("div", null, status, el("div.scroll", null, table), more),
    show(found) {
      runs = [...found];
      visible = PAGE;
      arrange();
      draw();
    },
    runs: () => runs,
  };
}

function runRow(run) {
  const cells = COLUMNS.map(({ name, text, number }, at) => {
    const content = text ? text(run) : run[name];
    const linked = at === 0 ? el("a", { href: addressOf(run) }, content) : content;
    return el("td", { class: number ? "number" : "words" }, linked === null ? "" : linked);
  });
  return el("tr", { "data-key": run.key }, cells);
}

function addressOf(run) {
  return `#${new URLSearchParams({ run: run.key })}`;
}

function simulatedBadge() {
  return el("span.badge-sim", { title: "a simulated agent, not a model" }, "simulated");
}

function answerMark(run) {
  const answer = el("span", { "data-answer": run.answer }, run.answer);
  const title = "the answer is 0 or a number in the prompt";
  return run.guessable ? [answer, el("span.badge-sim", { title }, "guessable")] : answer;
}

function scoreBar(run) {
  if (run.score === null) return "–";
  const bar = el("span.share", { "aria-hidden": "true" });
  bar.style.setProperty("--share", run.score);
  return [bar, scoreText(run.score)];
}

/** Tiles that summarize some runs. */
function renderTiles(runs, total) {
  const sum = (values) => values.reduce((whole, value) => whole + value, 0);
  const mean = (values) => (values.length ? sum(values) / values.length : null);
  const scores = runs.map((run) => run.score).filter((score) => score !== null);
  const share = (test) => mean(runs.map((run) => Number(test(run))));
  const digits = (value, places = 3) => (value === null ? "–" : value.toFixed(places));
  const tiles = [
    ["runs", runs.length.toLocaleString("en"), `of ${total.toLocaleString("en")}`],
    ["compliance", digits(mean(scores)), "mean score"],
    ["accuracy", digits(share((run) => run.correct)), "correct answers"],
    ["full", digits(share((run) => run.label === "FULL")), "no rule violated"],
    ["cut", digits(share((run) => run.ending !== "answered")), "no answer given"],
    ["calls", digits(mean(runs.map((run) => run.calls)), 1), "executed per run"],
    ["refused", digits(mean(runs.map((run) => run.refused)), 1), "calls per run"],
  ];
  return tiles.map(([name, value, about]) =>
    el(
      "div.tile",
      null,
      el("span.tile__name", null, name),
      el("b", null, value),
      el("span.tile__about", null, about),
    ),
  );
}
