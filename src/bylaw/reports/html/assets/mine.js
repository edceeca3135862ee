"use strict";

/*
 * Rules to decide on. The choices are kept in memory and saved as a file that `bylaw mine
 * --decisions` reads; nothing is sent anywhere.
 */

function startMining() {
  const { name, rules } = JSON.parse(document.getElementById("data").textContent);
  const [list, tally, find, save] = ["rules", "tally", "find", "save"].map((id) =>
    document.getElementById(id),
  );
  const decisions = new Map(rules.map((rule) => [rule.rule, rule.certain ? "keep" : "drop"]));

  const say = () => {
    const kept = [...decisions.values()].filter((word) => word === "keep").length;
    tally.textContent = `${count(kept, "rule")} kept, ${rules.length - kept} dropped`;
  };

  const bar = (kept, broken, label) => {
    const shown = el("div.mined__bar", { role: "img", "aria-label": label, title: label });
    const total = Math.max(1, kept + broken);
    for (const [share, part] of [[kept / total, "kept"], [broken / total, "broken"]]) {
      const piece = el(`span.mined__${part}`);
      piece.style.width = `${100 * share}%`;
      shown.append(piece);
    }
    return shown;
  };

  // Lines of one file: its name is written once.
  const places = (names) => {
    const files = new Map();
    for (const each of names) {
      const [, file, line] = each.match(/^(.*):(\d+)$/) || [null, each, ""];
      files.set(file, [...(files.get(file) || []), line]);
    }
    return [...files].map(([file, lines]) => `${file}${lines[0] ? ":" : ""}${lines.join(", ")}`).join("; ");
  };

  const choice = (rule, card) => {
    const options = ["keep", "drop"].map((word) => {
      const input = el("input", { type: "radio", name: `decide-${rule.name}`, value: word });
      input.checked = decisions.get(rule.rule) === word;
      input.addEventListener("change", () => {
        decisions.set(rule.rule, word);
        card.dataset.decision = word;
        say();
      });
      return el("label", {}, input, ` ${word}`);
    });
    return el("fieldset.mined__choice", {}, el("legend", {}, "Decide:"), ...options);
  };

  const cards = rules.map((rule) => {
    const found = rule.evidence;
    const card = el("li.mined__rule", { "data-decision": decisions.get(rule.rule) });
    const good = `${found.good - found.good_broken} good runs keep it, ${found.good_broken} break it`;
    const examples = [
      rule.counterexample ? el("p", {}, rule.counterexample) : null,
      found.kept_by.length ? el("p", {}, `Runs that keep it: ${places(found.kept_by)}`) : null,
      found.broken_by.length ? el("p", {}, `Runs that break it: ${places(found.broken_by)}`) : null,
    ];
    const kind = el("span.mined__kind", { title: rule.about }, rule.kind);
    card.append(
      el("h2", {}, rule.name, rule.certain ? "" : " (uncertain)", " ", kind),
      el("p", {}, rule.meaning),
      el("pre", {}, el("code", {}, rule.rule)),
      bar(found.good - found.good_broken, found.good_broken, good),
      el("p", {}, rule.sentence),
      ...examples.filter(Boolean),
      choice(rule, card),
    );
    list.append(card);
    return [card, `${rule.name} ${rule.kind} ${rule.rule} ${rule.meaning}`.toLowerCase()];
  });

  find.addEventListener("input", () => {
    const sought = find.value.trim().toLowerCase();
    for (const [card, text] of cards) card.hidden = !text.includes(sought);
  });

  save.addEventListener("click", () => {
    const saved = { name, rules: Object.fromEntries(decisions) };
    const file = new Blob([JSON.stringify(saved, null, 2)], { type: "application/json" });
    const link = el("a", { href: URL.createObjectURL(file), download: "decisions.json" });
    link.click();
    URL.revokeObjectURL(link.href);
  });

  say();
}

startMining();
