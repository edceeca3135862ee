"use strict";

/* The filters: they select runs, and hide or fade parts of tables and figures. */

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
 * Adds a select for each filter to the form. `onChange(chosen, fits)` is called with the chosen
 * value of each filter ("" for none) and a function that tests a run. Returns
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

/** Hides rows and columns, and fades marks, that do not match the filters. */
function fade(chosen) {
  for (const name of ["model", "setting", "template", "difficulty"]) {
    const value = chosen[name];
    for (const element of document.querySelectorAll(`main [data-${name}]`)) {
      const out = value !== "" && element.dataset[name] !== value;
      element.classList.toggle(`is-not-${name}`, out);
    }
  }
}
