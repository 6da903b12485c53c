// λ: its slider, its presets, and the scores of the refinement at λ.

import { el, put } from "../shared/elements.js";
import { rank } from "./ranking.js";

const INF_AT = 106, TOP = 100, DEBOUNCE = 300;

export const toLam = (text) => (text === "inf" ? Infinity : Number(text));
export const fromLam = (lam) => (lam === Infinity ? "inf" : String(+lam.toFixed(6)));
export const shownLam = (lam) => (lam === Infinity ? "\u221e" : lam.toFixed(2));
const toPosition = (lam) => (lam === Infinity ? INF_AT : lam > 5 ? TOP + 1 : Math.round(lam * 20));
const fromPosition = (at) => (at > TOP + 2 ? Infinity : Math.min(at, TOP) / 20);
export const share = (lam) => (lam === Infinity ? 1 : lam / (1 + lam));
export const weigh = (cell, lam) => -(share(lam) * cell.exp + (1 - share(lam)) * cell.imp);

export function setLam(view, lam, report) {
  view.lam = lam;
  view.slider.value = String(toPosition(lam));
  view.slider.setAttribute("aria-valuetext", shownLam(lam));
  view.out.textContent = shownLam(lam);
  const options = [...view.preset.options].filter((o) => o.value !== "" && toLam(o.value) === lam);
  const same = options.find((o) => o === view.preset.selectedOptions[0]) ?? options.find((o) => o.dataset.kind === "saved");
  view.preset.selectedIndex = same ? same.index : 0;
  if (view.parts) rank(view, report);
  if (!report) return;
  clearTimeout(view.timer);
  view.timer = setTimeout(() => {
    view.sent = fromLam(view.lam);
    view.send("lam", { value: view.sent });
  }, DEBOUNCE);
}

export function lambdaBox(view) {
  const { data } = view;
  const box = el("div", "esc-lambda");
  const label = el("label", "", "\u03bb: weight of explicit errors (?)");
  label.title = "Weight of explicit errors (which the model could correct) relative to implicit ones in BARTScore++: at 0 only implicit errors count, at 1 both count equally, at \u221e only explicit errors. The scores change at once; the model is not run again.";
  view.slider = el("input");
  Object.assign(view.slider, { type: "range", min: "0", max: String(INF_AT), step: "1", id: "esc-lambda" });
  view.slider.setAttribute("aria-label", "lambda, 0 to 5, then infinity");
  label.htmlFor = "esc-lambda";
  view.out = el("output");
  view.preset = el("select");
  view.preset.setAttribute("aria-label", "lambda presets");
  const first = el("option", "", "choose \u03bb: 1 if unsure");
  first.value = "";
  view.preset.append(first);
  const ticks = el("div", "esc-ticks");
  const at = (lam) => `${(toPosition(lam) / INF_AT) * 100}%`;
  for (const [title, kind] of [["saved in this project", "saved"], ["best \u03bb for other data: Lu et al. (2023), Table 7", "paper"]]) {
    const group = el("optgroup");
    group.label = title;
    for (const p of data.presets.filter((p) => p.kind === kind)) {
      const option = el("option", "", `${shownLam(toLam(p.value))} \u00b7 ${p.label}`);
      option.value = p.value;
      option.dataset.kind = kind;
      group.append(option);
      const tick = el("i", kind);
      tick.style.left = at(toLam(p.value));
      tick.title = option.title = p.hint ? `${option.textContent}; chosen for: ${p.hint}` : option.textContent;
      ticks.append(tick);
    }
    if (group.children.length) view.preset.append(group);
  }
  for (const lam of [0, 1, 2, 3, 4, 5, Infinity]) {
    const mark = el("span", "", lam === Infinity ? "\u221e" : lam);
    mark.style.left = at(lam);
    ticks.append(mark);
  }
  view.slider.addEventListener("input", () => setLam(view, fromPosition(Number(view.slider.value)), true));
  view.preset.addEventListener("change", () => view.preset.value !== "" && setLam(view, toLam(view.preset.value), true));
  return put(box, label, put(el("div", "esc-range"), view.slider, ticks), view.out, view.preset);
}
