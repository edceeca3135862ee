"use strict";

/* The filters: which runs are listed, and what is hidden or faded among tables and figures. */

const FILTERS = {
  model: "all models",
  setting: "all settings",
  template: "all templates",
  difficulty: "all difficulties",
  label: "all labels",
  ending: "all endings",
  answer: "all answers",
};

/**
 * Fills the form with a choice for each filter. `onChange(chosen)` is called with what is chosen,
 * by filter (nothing is ""), and with a test that says whether a run fits. Returns
 * `{ set(chosen), chosen() }`.
 */
function renderChoices(form, runs, onChange) {
  const selects = Object.entries(FILTERS).map(([name, all]) => {
    const values = [...new Set(runs.map((run) => run[name]))];
    if (name === "difficulty" || name === "label") values.sort();
    const options = values.map((value) => el("option", { value }, optionText(name, value, runs)));
    return el("select", { name, "aria-label": name }, el("option", { value: "" }, all), options);
  });
  const clear = el("button.clear", { type: "reset" }, "Clear");
  form.append(...selects, clear);
  const chosen = () => Object.fromEntries(selects.map((select) => [select.name, select.value]));
  const fits = (run) => selects.every((select) => select.value === "" || run[select.name] === select.value);
  const change = () => {
    for (const select of selects) select.classList.toggle("is-set", select.value !== "");
    clear.hidden = selects.every((select) => select.value === "");
    fade(chosen());
    onChange(chosen(), fits);
  };
  form.addEventListener("change", change);
  form.addEventListener("reset", () => setTimeout(change)); // the form is reset after its event
  form.addEventListener("submit", (event) => event.preventDefault());
  return {
    chosen,
    set(wanted) {
      for (const select of selects) {
        const value = wanted[select.name] ?? "";
        select.value = [...select.options].some((option) => option.value === value) ? value : "";
      }
      change();
    },
  };
}

function optionText(name, value, runs) {
  const simulated = name === "model" && runs.some((run) => run.model === value && run.simulated);
  return simulated ? `${value} (simulated)` : value;
}

/** Takes what is about something else out of sight: rows and columns vanish, marks fade. */
function fade(chosen) {
  for (const name of ["model", "setting", "template", "difficulty"]) {
    const value = chosen[name];
    for (const element of document.querySelectorAll(`main [data-${name}]`)) {
      const out = value !== "" && element.dataset[name] !== value;
      element.classList.toggle(`is-not-${name}`, out);
    }
  }
}
