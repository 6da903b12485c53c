// The scores of a segment as a table; in the table view with the outputs, shortened, and their errors.

import { el, put, signed } from "../shared/elements.js";
import { letterOf, verdictOf } from "../shared/lanes.js";
import { foldable, isLabelled, outputTexts, ROW } from "./outputs.js";
import { fromLam } from "./lambda.js";
import { orderOf, pinButton, rank, remember, valueOf } from "./ranking.js";

function headCell(view, label, order, sorted, origin) {
  const button = el("button", "esc-plain", label);
  button.addEventListener("click", () => { remember(view, { order }); rank(view, true); });
  const th = put(el("th"), button, origin ? el("span", "esc-origin", origin) : null);
  if (sorted) th.setAttribute("aria-sort", sorted);
  return th;
}

function metricHead(view, metric) {
  const arrow = metric.higher === null ? "" : metric.higher ? "\u00a0\u2191" : "\u00a0\u2193";
  const label = (metric.origin ? metric.label.replace(` (${metric.origin})`, "") : metric.label) + arrow;
  const sorted = orderOf(view)?.name === metric.name ? (metric.higher === false ? "ascending" : "descending") : "";
  const th = headCell(view, label, metric.name, sorted, metric.origin);
  th.title = metric.hint.replace(/\|lambda:[^|]*/, metric.refinement ? `|lambda:${fromLam(view.lam)}` : "$&");
  return th;
}

function textCell(view, part) {
  if (!part.cell) {
    const { card } = part;
    const box = put(el("div", "esc-output"), ...outputTexts(view, card));
    part.cell = put(el("td", "esc-wide"), foldable(view, `row ${card.id}`, box, card.text, ROW, `output of ${card.name}`));
  }
  return part.cell;
}

/** Return the best of these values, or null if all are equal, there is one, or the metric has no direction. */
export function bestOf(metric, column) {
  const numbers = column.filter((v) => v !== null);
  const best = metric.higher ? Math.max(...numbers) : Math.min(...numbers);
  return metric.higher !== null && numbers.length > 1 && numbers.some((v) => v !== best) ? best : null;
}

export function markBest(cell) {
  cell.className = "best";
  cell.setAttribute("aria-label", `${cell.textContent}, best`);
}

/** Return a score, or a dash if there is none; that of a judge is a button that opens its replies. */
export function score(view, card, metric, value) {
  const text = value === null ? "\u2013" : signed(value, metric.digits);
  if (!metric.replies) return text;
  return el("button", {
    type: "button", class: "esc-plain esc-reply", title: "Read the replies of the judge", "aria-label": `${metric.label} of ${card.name}: ${value === null ? "no score" : text}. Read the replies of the judge`,
    onclick: () => view.memory.reply(card.id, metric.name),
  }, text);
}

/** Return what each layer says of an output that it examined. */
function verdicts(view, { layers }) {
  const said = layers.flatMap((lane, i) => (lane ? [`${layers.length > 1 ? `${letterOf(i)} ` : ""}${verdictOf(lane, view.memory.least)}`] : []));
  return said.join("\n") || "\u2013";
}

export function table(view, rows) {
  const { data, lam } = view;
  const whole = view.memory.view === "table";
  const labelled = whole && data.cards.some(isLabelled);
  const sorted = orderOf(view) === null ? "ascending" : "";
  const top = put(el("tr"), headCell(view, "system", "name", sorted), whole ? el("th", "esc-wide", "output") : null, labelled ? el("th", "esc-found", "errors") : null);
  const values = new Map();
  for (const metric of data.metrics) {
    top.append(metricHead(view, metric));
    const column = rows.map(({ part }) => valueOf(part.card, metric, lam));
    values.set(metric.name, { column, best: bestOf(metric, column) });
  }
  const body = el("tbody");
  rows.forEach(({ part }, i) => {
    const { card } = part;
    const name = el("bdi", "", card.name);
    const row = put(el("tr", card.name === data.spot ? "esc-spot" : ""), put(el("th"), name, whole ? pinButton(view, card.name) : null), whole ? textCell(view, part) : null);
    if (labelled) row.append(el("td", "esc-found", verdicts(view, card)));
    for (const metric of data.metrics) {
      const { column, best } = values.get(metric.name);
      const td = put(el("td"), score(view, card, metric, column[i]));
      if (column[i] === null) { td.className = "none"; td.title = card.scores[metric.name].why || "no value"; }
      else if (column[i] === best) markBest(td);
      row.append(td);
    }
    body.append(row);
  });
  return put(el("table"), put(el("thead"), top), body);
}
