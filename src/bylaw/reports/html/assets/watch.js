"use strict";

/* Follows a gate: fetches the runs and their changes, and sends a person's answers. The token is in
   the address after `#`, from where it moves to the session of this tab. It is sent in a header, so
   that no other site can make the browser send it. */

(() => {
  let rules = {};
  const at = (id) => document.getElementById(id);
  const runs = new Map(); // id → { run, row }
  const cards = new Map(); // decision → element
  const changed = new Set();
  let painting = false;

  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) {
    sessionStorage.setItem("token", given);
    history.replaceState(null, "", location.pathname);
  }
  const headers = () => ({ Authorization: `Bearer ${sessionStorage.getItem("token")}` });

  // ── painting ──────────────────────────────────────────────────────────────────────────────

  /** Takes runs in; they are painted together, with the next frame. */
  function take(some) {
    for (const run of some) {
      const known = runs.get(run.run);
      if (known && known.run.number >= run.number) continue;
      runs.set(run.run, { ...known, run });
      changed.add(run.run);
    }
    if (changed.size && !painting) {
      painting = true;
      requestAnimationFrame(paint);
    }
  }

  function paint() {
    painting = false;
    for (const id of changed) {
      paintRun(runs.get(id));
      paintAsked(runs.get(id).run);
    }
    changed.clear();
    paintCounts();
  }

  function paintRun(entry) {
    const row = runRow(entry.run, rules);
    const item = entry.item ?? el("li.watch__run", null);
    const old = item.firstElementChild;
    row.open = old?.open ?? false;
    const focused = old?.contains(document.activeElement);
    item.replaceChildren(row);
    if (focused) row.firstElementChild.focus();
    item.hidden = !matches(item);
    if (!entry.item) {
      entry.item = item;
      place(entry);
    }
  }

  /** New runs come first; a row stays where it is, so that nothing moves under the pointer. */
  function place(entry) {
    const list = at("runs");
    let next = list.firstElementChild;
    while (next && Number(next.dataset.opened) > entry.run.opened) next = next.nextElementSibling;
    entry.item.dataset.opened = entry.run.opened;
    list.insertBefore(entry.item, next);
  }

  function paintAsked(run) {
    const now = new Set(run.asked.map((asked) => asked.decision));
    for (const [decision, card] of cards) {
      if (card.dataset.run === run.run && !now.has(decision)) remove(decision, card);
    }
    for (const asked of run.asked) {
      if (cards.has(asked.decision)) continue;
      const card = askedCard(run, asked, rules);
      cards.set(asked.decision, card);
      at("asked").append(card);
    }
  }

  /** Removes a card; the focus that it had moves to the next one. */
  function remove(decision, card) {
    const focused = card.contains(document.activeElement);
    const next = card.nextElementSibling ?? card.previousElementSibling;
    card.remove();
    cards.delete(decision);
    if (focused) (next?.querySelector("button") ?? at("asked-title")).focus();
  }

  function paintCounts() {
    let open = 0;
    let refused = 0;
    for (const { run } of runs.values()) {
      open += !run.closed;
      refused += run.refused;
    }
    const waiting = count(cards.size, "call");
    at("counts").textContent = `${count(open, "open run")} · ${waiting} to decide · ${refused} refused`;
    at("nothing").hidden = cards.size > 0;
    document.title = `${cards.size ? `(${cards.size}) ` : ""}${document.querySelector("h1").textContent}`;
  }

  // ── the filter ────────────────────────────────────────────────────────────────────────────

  function matches(item) {
    const sought = at("filter").value.trim().toLowerCase();
    return !sought || item.textContent.toLowerCase().includes(sought);
  }

  at("filter").addEventListener("input", () => {
    for (const { item } of runs.values()) if (item) item.hidden = !matches(item);
  });

  // ── answers ───────────────────────────────────────────────────────────────────────────────

  async function answer(card, word) {
    const buttons = card.querySelectorAll("button");
    if ([...buttons].some((button) => button.getAttribute("aria-disabled"))) return;
    for (const button of buttons) button.setAttribute("aria-disabled", "true");
    const problem = card.querySelector(".watch__problem");
    problem.textContent = "";
    try {
      const { run, decision } = card.dataset;
      const answered = await fetch(`/v1/runs/${encodeURIComponent(run)}/${word}`, {
        method: "POST",
        headers: { ...headers(), "Content-Type": "application/json", "Idempotency-Key": `${word} ${decision}` },
        body: JSON.stringify({ decision }),
      });
      if (!answered.ok) throw new Error((await answered.json()).errors[0].message);
      at("said").textContent = `${word === "approve" ? "Approved" : "Denied"}.`;
    } catch (error) {
      problem.textContent = `Not sent: ${error.message}. Nothing was allowed.`;
      for (const button of buttons) button.removeAttribute("aria-disabled");
    }
  }

  at("asked").addEventListener("click", (event) => {
    const button = event.target.closest("[data-answer]");
    if (button) answer(button.closest(".asked"), button.dataset.answer);
  });
  at("asked").addEventListener("keydown", (event) => {
    const card = event.target.closest(".asked");
    const word = { a: "approve", d: "deny" }[event.key];
    if (card?.querySelector(`[data-answer="${word}"]`) && !event.ctrlKey && !event.metaKey && !event.altKey && !event.repeat) {
      event.preventDefault();
      answer(card, word);
    }
  });

  // ── following ─────────────────────────────────────────────────────────────────────────────

  async function follow() {
    const answered = await fetch("/v1/changes", { headers: headers() });
    if (answered.status === 401 || answered.status === 403) {
      at("enter").hidden = false;
      at("rejected").textContent = sessionStorage.getItem("token") ? "This token does not open it." : "";
      at("token").focus();
      return false;
    }
    if (!answered.ok) throw new Error(answered.status);
    at("enter").hidden = true;
    at("link").textContent = "live";
    const reader = answered.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return true;
      text += value;
      const events = text.split("\n\n");
      text = events.pop();
      for (const event of events) {
        if (event.startsWith("data: ")) take(JSON.parse(event.slice(6)));
        else if (event.startsWith("event: rules\ndata: ")) rules = JSON.parse(event.slice(19));
      }
    }
  }

  async function keepFollowing() {
    for (let pause = 500; ; pause = Math.min(pause * 2, 10_000)) {
      try {
        if (!(await follow())) return;
        pause = 500;
      } catch {
        // Tried again below.
      }
      at("link").textContent = "not connected: what you see may be old";
      await new Promise((wake) => setTimeout(wake, pause));
    }
  }

  at("enter").addEventListener("submit", (event) => {
    event.preventDefault();
    sessionStorage.setItem("token", at("token").value.trim());
    at("token").value = "";
    keepFollowing();
  });

  paintCounts();
  keepFollowing();
})();
