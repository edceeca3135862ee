"use strict";

/* The timeline: steps from top to bottom, each with its messages and calls. */

/** The mark of a call that did not end normally. */
const STATUS_MARKS = {
  failed: { text: "failed", verdict: "violated" },
  insisted: { text: "insisted on", verdict: "error", icon: "again" },
};

/** Texts longer than this are folded at first. */
const FOLDED = { system: 200, user: 480, assistant: 480, answer: 1600 };

/**
 * The timeline. `onPick(index)` is called when a call or the answer is clicked, `onRule(name)` when
 * a rule that refused a call is. Returns its element;
 * `highlight({ calls, absence, messages, others, broken, refused, picked })`, where `others` are
 * messages that matter because they are not what the rule looks for, and `broken` are the calls
 * that break the rule, if several do; `reveal(index)`, which scrolls to a
 * call; `filter(test)`, which hides what does not pass, and returns the number of calls that do;
 * `point(index)`, which also flashes it; `revealMessage(number)`; `revealRefused(number)`.
 */
function renderTimeline(data, hues, onPick, onRule) {
  const cards = [];
  const calls = [];
  const messages = [];
  const refusals = [];
  const rows = [];
  const list = el("ol.steps", { "aria-label": "Timeline" });
  for (const step of data.steps) {
    const row = stepRow(step, hues);
    for (const [item, element] of row.cards) {
      cards[item.index] = element;
      calls[item.index] = item;
    }
    for (const [item, element] of row.messages) messages[item.event] = element;
    for (const [item, element] of row.refusals) refusals[item.number] = element;
    rows.push({ element: row.element, shown: [...row.cards, ...row.messages, ...row.refusals] });
    list.append(row.element);
  }
  if (!data.steps.length) list.append(el("li.empty", null, "The trace is empty: no calls, no answer."));
  const roving = rove(list, ".card__pick", ".card");
  list.addEventListener("click", (event) => onClick(event, calls, onPick, onRule));
  list.addEventListener("keydown", (event) => onKey(event, calls));
  roving.refresh();
  let lit = [];
  let spoken = [];
  const reveal = (index, instantly = false) => {
    if (!cards[index]) return;
    bringIntoView(cards[index], instantly);
    roving.stopAt(cards[index].querySelector(".card__pick"));
  };

  return {
    element: list,
    highlight(shown) {
      const { calls: deciding = [], absence = [], messages: said = [], others = [] } = shown;
      const { broken = [], refused = [], picked = null } = shown;
      for (const element of spoken) element.classList.remove("is-deciding", "is-absent");
      spoken = [...said.map((at) => messages[at]), ...refused.map((at) => refusals[at])].filter(Boolean);
      for (const element of spoken) element.classList.add("is-deciding");
      const unlike = others.map((at) => messages[at]).filter(Boolean);
      for (const element of unlike) element.classList.add("is-absent");
      spoken.push(...unlike);
      for (const card of lit) {
        card.classList.remove("is-deciding", "is-absent", "is-broken", "is-picked");
        card.querySelector(".card__pick").setAttribute("aria-pressed", "false");
        card.removeAttribute("aria-current");
      }
      const marks = [
        ...absence.map((index) => [index, "is-absent"]),
        ...deciding.map((index) => [index, "is-deciding"]),
        ...broken.map((index) => [index, "is-broken"]),
        ...(picked === null ? [] : [[picked, "is-picked"]]),
      ].filter(([index]) => cards[index]);
      for (const [index, mark] of marks) cards[index].classList.add(mark);
      for (const index of deciding) cards[index]?.setAttribute("aria-current", "true");
      if (cards[picked]) cards[picked].querySelector(".card__pick").setAttribute("aria-pressed", "true");
      const focused = [deciding, absence, said, others, refused].some((each) => each.length);
      list.classList.toggle("is-focused", focused);
      lit = marks.map(([index]) => cards[index]);
    },
    filter(test) {
      let found = 0;
      for (const { element, shown } of rows) {
        for (const [item, part] of shown) {
          part.hidden = test !== null && !test(item);
          found += Number(item.kind === "call" && !part.hidden);
        }
        element.hidden = shown.every(([, part]) => part.hidden);
      }
      roving.refresh();
      return found;
    },
    reveal,
    revealMessage(number, instantly = false) {
      if (messages[number]) bringIntoView(messages[number], instantly);
    },
    revealRefused(number, instantly = false) {
      if (refusals[number]) bringIntoView(refusals[number], instantly);
    },
    point(index) {
      reveal(index);
      const card = cards[index];
      card?.classList.add("is-pointed");
      card?.addEventListener("animationend", () => card.classList.remove("is-pointed"), { once: true });
    },
  };
}

function bringIntoView(card, instantly) {
  const away = Math.abs(card.getBoundingClientRect().top) > 2 * innerHeight;
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const behavior = instantly || away || calm ? "instant" : "smooth";
  card.scrollIntoView({ block: "center", behavior });
  // Rows that were never rendered have an estimated height, which scrolling may have corrected.
  if (behavior === "instant") requestAnimationFrame(() => card.scrollIntoView({ block: "center", behavior }));
}

function onClick(event, calls, onPick, onRule) {
  const card = event.target.closest(".card");
  const opener = event.target.closest("[aria-expanded]");
  const rule = event.target.closest("[data-rule]");
  if (opener) toggle(opener, calls);
  else if (rule) onRule(rule.dataset.rule);
  else if (card && !event.target.closest(".details") && !isSelectingText(event)) {
    onPick(Number(card.dataset.index));
  }
}

/** The right arrow opens the details of the focused call, the left arrow closes them. */
function onKey(event, calls) {
  const wanted = { ArrowRight: "false", ArrowLeft: "true" }[event.key];
  const button = event.target.closest(".card__pick")?.closest(".card").querySelector("[aria-expanded]");
  if (wanted && button && button.getAttribute("aria-expanded") === wanted) {
    event.preventDefault();
    toggle(button, calls);
  }
}

function toggle(button, calls) {
  const open = button.getAttribute("aria-expanded") !== "true";
  button.setAttribute("aria-expanded", String(open));
  if (button.matches(".fold__toggle")) {
    button.unfold(open);
    return;
  }
  const card = button.closest(".card");
  card.classList.toggle("is-open", open);
  // Built on demand, so that thousands of closed calls stay cheap.
  if (open) card.append(callDetails(calls[Number(card.dataset.index)]));
  else card.querySelector(".details").remove();
}

function stepRow(step, hues) {
  const inStep = step.items.filter((item) => item.kind === "call");
  const parallel = inStep.length > 1;
  const cards = [];
  const messages = [];
  const refusals = [];
  const content = [];
  const group = el("div.calls", { role: "group", "aria-label": `${inStep.length} calls in parallel` });
  for (const item of step.items) {
    if (item.kind === "message") {
      const said = messageCard(item);
      messages.push([item, said]);
      content.push(said);
      continue;
    }
    if (item.kind === "refused") {
      const refused = refusedCard(item, hues);
      refusals.push([item, refused]);
      content.push(refused);
      continue;
    }
    const card = item.kind === "answer" ? answerCard(item) : callCard(item, hues);
    cards.push([item, card]);
    if (!parallel) content.push(card);
    else {
      if (!group.firstChild) content.push(parallelNote(inStep.length), group);
      group.append(card);
    }
  }
  const kind = cards.length ? (parallel ? "parallel" : "single") : refusals.length ? "refused" : "said";
  const label = step.step === null ? "" : String(step.step);
  return {
    element: el(
      "li.step",
      { "data-kind": kind },
      el("span.step__number", { title: label && `step ${label}` }, label),
      el("div.step__content", null, content),
    ),
    cards,
    messages,
    refusals,
  };
}

function parallelNote(number) {
  return el("p.step__note", { "aria-hidden": "true" }, `${number} in parallel`);
}

function callCard(call, hues) {
  const mark = STATUS_MARKS[call.status];
  const number = `#${call.index + 1}`;
  return tinted(
    el(
      "article.card.card--call",
      { "data-index": call.index, "data-status": call.status },
      el(
        "div.card__head",
        null,
        el(
          "button.card__pick",
          { type: "button", "aria-pressed": "false", tabindex: -1 },
          el("span.card__number", null, number),
          el("span.card__tool", null, call.tool),
        ),
        mark ? el("span.card__mark", { "data-verdict": mark.verdict }, icon(mark.icon ?? mark.verdict), mark.text) : null,
        call.agent === undefined ? null : el("span.card__agent", null, clip(call.agent, 40)),
        sinceStart(call),
        el("button.card__toggle", {
          type: "button",
          "aria-expanded": "false",
          "aria-label": `Details of call ${number}`,
          tabindex: -1,
        }),
      ),
      el("div.card__line", null, call.args.length ? argumentsPreview(call.args) : null, outcomePreview(call)),
    ),
    hues.get(call.tool),
  );
}

function answerCard(answer) {
  return el(
    "article.card.card--answer",
    { "data-index": answer.index },
    el(
      "div.card__head",
      null,
      el(
        "button.card__pick",
        { type: "button", "aria-pressed": "false", tabindex: -1 },
        icon("flag"),
        "Final answer",
      ),
      sinceStart(answer),
    ),
    foldedText(answer.text, FOLDED.answer),
  );
}

/** The time since the beginning of the run. */
function sinceStart(item) {
  if (item.since === undefined) return null;
  const usage = item.usage === undefined ? "" : `, used ${item.usage}`;
  return el("time.card__time", { title: item.started + usage }, item.since);
}

function messageCard(message) {
  return el(
    "article.message",
    { "data-role": message.role },
    el("h3", null, clip(message.agent ?? message.role, 40), sinceStart(message)),
    foldedText(message.text, FOLDED[message.role] ?? FOLDED.user),
  );
}

/** A text, folded if it is long. */
function foldedText(text, length) {
  if (text.trim() === "") return quiet("empty text");
  if (text.length <= length * 1.25) return el("p.said", null, text);
  const body = el("p.said", null, clip(text, length));
  const button = el("button.fold__toggle", { type: "button", "aria-expanded": "false" }, "Show all");
  button.unfold = (open) => {
    body.textContent = open ? text : clip(text, length);
    button.textContent = open ? "Show less" : "Show all";
  };
  return el("div.fold", null, body, button);
}
