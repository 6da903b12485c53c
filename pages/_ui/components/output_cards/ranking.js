// The order of the outputs: by a metric or by name, pinned systems first; and what this browser remembers of a project.

import { el, put, signed } from "../shared/elements.js";
import { shownLam, share, weigh } from "./lambda.js";
import { table } from "./table.js";

const KEPT = ["view", "shown", "order", "pinned", "least"];
const storeOf = (of) => `errorscope-compare-${of}`;

export function remembered(of) {
  const usual = { view: "cards", shown: "errors", order: "", pinned: [], least: 0 };
  try { return { ...usual, ...JSON.parse(localStorage.getItem(storeOf(of))) }; } catch { return usual; }
}

export function remember(view, change) {
  Object.assign(view.memory, change);
  const kept = Object.fromEntries(KEPT.map((name) => [name, view.memory[name]]));
  try { localStorage.setItem(storeOf(view.of), JSON.stringify(kept)); } catch { /* kept until the page is left */ }
}

/** Return whether the cards list all scores, because none has a refinement; there is then no table below them. */
export const listsScores = ({ cards }) => cards.every((c) => c.status === "missing");

/** Return the metric that orders the outputs, or null for their names. */
export function orderOf({ data, memory }) {
  if (memory.order === "name") return null;
  return data.metrics.find((m) => m.name === memory.order) ?? data.metrics.find((m) => m.main) ?? null;
}

export function valueOf(card, metric, lam) {
  const cell = card.scores[metric.name];
  return cell.v !== null && metric.refinement && cell.exp !== undefined ? weigh(cell, lam) : cell.v;
}

/** Return the outputs in order with their values and ranks. Pins are not used in blind mode, as they would tell the systems. */
function ranked(view) {
  const metric = orderOf(view);
  const sign = metric?.higher === false ? 1 : -1;
  const rows = view.parts.map((part) => ({ part, value: metric && valueOf(part.card, metric, view.lam) }));
  rows.sort((a, b) => (a.value === null) - (b.value === null) || sign * (a.value - b.value) || a.part.card.name.localeCompare(b.part.card.name, undefined, { numeric: true }));
  rows.forEach((row, i) => { row.rank = row.value === null ? "" : String(i + 1); });
  const pins = view.data.blind ? [] : view.memory.pinned;
  const pin = ({ part }) => (pins.includes(part.card.name) ? pins.indexOf(part.card.name) : pins.length);
  return rows.sort((a, b) => pin(a) - pin(b));
}

export function pinButton(view, name) {
  if (view.data.blind) return null;
  const pinned = view.memory.pinned.includes(name);
  const button = el("button", "esc-pin", "pin");
  button.title = "Pinned systems come first in every segment";
  button.setAttribute("aria-label", `pin ${name}`);
  button.setAttribute("aria-pressed", String(pinned));
  button.addEventListener("click", () => {
    const others = view.memory.pinned.filter((other) => other !== name);
    remember(view, { pinned: pinned ? others : [...others, name] });
    rank(view, true);
    [...view.root.querySelectorAll(".esc-pin")].find((b) => b.ariaLabel === `pin ${name}` && b.checkVisibility())?.focus();
  });
  return button;
}

export function orderBox(view) {
  const box = el("select");
  box.setAttribute("aria-label", "order of the outputs");
  const main = view.data.metrics.find((m) => m.main);
  for (const metric of view.data.metrics) box.append(new Option(metric.label, metric.name));
  box.append(new Option("name", "name"));
  box.value = orderOf(view)?.name ?? "name";
  box.addEventListener("change", () => { remember(view, { order: box.value === main?.name ? "" : box.value }); rank(view, true); });
  view.orderBox = box;
  return put(el("label"), "order ", box);
}

export function rank(view, animate) {
  const rows = ranked(view);
  const order = rows.map((r) => r.part);
  const moved = order.some((part, i) => view.cards.children[i] !== part.box);
  if (moved) {
    const still = !animate || matchMedia("(prefers-reduced-motion: reduce)").matches;
    const from = still ? null : order.map((part) => part.box.getBoundingClientRect());
    for (const part of order) view.cards.append(part.box);
    if (from) order.forEach((part, i) => {
      const to = part.box.getBoundingClientRect();
      const [dx, dy] = [from[i].left - to.left, from[i].top - to.top];
      if (dx || dy) part.box.animate([{ transform: `translate(${dx}px, ${dy}px)` }, { transform: "none" }], { duration: 220, easing: "ease-out" });
    });
  }
  const metric = orderOf(view) ?? view.data.metrics.find((m) => m.main);
  for (const { part, rank: place } of rows) {
    part.rank.textContent = place;
    part.pin.replaceChildren(...[pinButton(view, part.card.name)].filter(Boolean));
    const value = metric ? valueOf(part.card, metric, view.lam) : null;
    part.score.replaceChildren();
    if (value !== null) put(part.score, el("small", "", metric.label), signed(value, metric.digits));
    part.score.title = value === null ? "" : metric.main ? weighing(part.card.scores[metric.name], view.lam) : metric.hint;
  }
  if (view.orderBox) view.orderBox.value = orderOf(view)?.name ?? "name";
  view.tablebox.replaceChildren(table(view, rows));
  const repeated = view.memory.view === "cards" && listsScores(view.data);
  view.tablebox.hidden = view.memory.view !== "table" && (repeated || !view.data.metrics.length); // without metrics: names alone
}

function weighing(cell, lam) {
  const omega = share(lam);
  return `\u2212(${omega.toFixed(2)} \u00d7 explicit ${signed(cell.exp, 3)} + ${(1 - omega).toFixed(2)} \u00d7 implicit ${signed(cell.imp, 3)}), \u03bb = ${shownLam(lam)}; higher (nearer 0) is better`;
}
