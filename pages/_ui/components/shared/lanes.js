// Lanes: the error spans of several layers under the lines of one text, and a list with a row per layer.
//
// A lane is the background of inline elements, so that it follows the lines wherever the text is broken, in both directions of writing.
// `layers` are [{label, origin, provenance}]; `lanes` has per layer the error spans of the text in the order of the text, or null if the
// layer did not examine it. Offsets count code points. A span has the number of its place in its layer, also while others are hidden.

import { el } from "./elements.js";

const LANE = 6; // pixels from one lane to the next
const ORDER = ["Major", "Minor", "Neutral"];
const LOOK = { // height of the line, and its paint: a solid line, dots, a thin line
  major: (c) => `4px/linear-gradient(${c}, ${c})`,
  minor: (c) => `3px/repeating-linear-gradient(90deg, ${c} 0 3px, transparent 3px 6px)`,
  neutral: (c) => `1px/linear-gradient(${c}, ${c})`,
};
const kindOf = (severity) => (severity.toLowerCase() in LOOK ? severity.toLowerCase() : "neutral");
const rankOf = (severity) => (ORDER.includes(severity) ? ORDER.indexOf(severity) : ORDER.length);

/** The letter of a layer: A to Z, AA, AB … */
export const letterOf = (i) => (i < 26 ? "" : letterOf(Math.floor(i / 26) - 1)) + String.fromCharCode(65 + (i % 26));
export const isShown = (span, least) => span.confidence === undefined || span.confidence >= least;
export const hasConfidence = (lanes) => lanes.some((lane) => lane?.some((span) => span.confidence !== undefined));
export const hiddenIn = (lanes, least) => lanes.flatMap((lane) => lane ?? []).filter((span) => !isShown(span, least)).length;

/** Split a text where a shown span begins or ends: [{text, marks: [{lane, n, span, ends}]}]. An empty span has a piece without text. */
export function cut(text, lanes, least = 0) {
  const points = Array.from(text);
  const marks = lanes.flatMap((lane, i) => (lane ?? []).map((span, k) => ({ lane: i, n: k + 1, span })))
    .filter(({ span }) => span.side === "output" && isShown(span, least));
  const cuts = [...new Set([0, points.length, ...marks.flatMap(({ span }) => [span.start, span.end])])].sort((a, b) => a - b);
  return cuts.flatMap((from, i) => {
    const to = cuts[i + 1] ?? from;
    const empty = marks.filter(({ span }) => span.start === from && span.end === from).map((m) => ({ ...m, ends: true }));
    const inside = marks.filter(({ span }) => span.start <= from && to <= span.end && from < to).map((m) => ({ ...m, ends: m.span.end === to }));
    return [empty.length ? { text: "", marks: empty } : null, from < to ? { text: points.slice(from, to).join(""), marks: inside } : null].filter(Boolean);
  });
}

/** What a layer says of a text, in words. A hidden span is counted, so that "no error" is said only where none was marked. */
export function verdictOf(lane, least = 0) {
  if (lane === null) return "not examined";
  if (!lane.length) return "no error";
  const shown = lane.filter((span) => isShown(span, least));
  const kinds = [...new Set(shown.map((span) => span.severity))].sort((a, b) => rankOf(a) - rankOf(b));
  const counts = kinds.map((kind) => `${shown.filter((span) => span.severity === kind).length} ${kind}`);
  return [...counts, shown.length < lane.length ? `${lane.length - shown.length} below ${least.toFixed(2)}` : ""].filter(Boolean).join(", ");
}

/** One span in words: layer, severity, category, text. */
export function inWords(layer, n, span) {
  const where = span.side === "source" ? " in the source" : "";
  const quote = span.quote ? ` \u201c${span.quote}\u201d` : span.side === "output" ? " at a position without text" : "";
  return `${layer.label}, error ${n}: ${[span.severity, span.category].filter(Boolean).join(", ")}${where}${quote}`;
}

const idOf = (lane, n) => `${letterOf(lane)}${n}`;

/** Paint the lanes in `used` under a piece, the first one next to the text; of several spans in a lane, the worst. */
function paint(node, marks, used) {
  const layers = used.flatMap((lane, i) => {
    const worst = marks.filter((m) => m.lane === lane).sort((a, b) => rankOf(a.span.severity) - rankOf(b.span.severity))[0];
    if (!worst) return [];
    const kind = kindOf(worst.span.severity);
    const [height, image] = LOOK[kind](`var(--${kind})`).split(/\/(.*)/s);
    return [`${image} left 0 bottom ${(used.length - 1 - i) * LANE}px / 100% ${height} no-repeat`];
  });
  node.style.background = layers.join(", ");
}

/** Return a text with its lanes. `open(marks, node)` shows details of the spans at a piece. */
export function laneText(text, lanes, least, names, open) {
  const pieces = cut(text, lanes, least);
  const used = lanes.map((_, i) => i).filter((i) => pieces.some(({ marks }) => marks.some((m) => m.lane === i)));
  const p = el("p", { class: `${names} esl-text`, dir: "auto" });
  p.style.setProperty("--lanes", `${used.length * LANE}px`);
  for (const { text: words, marks } of pieces) {
    if (!marks.length) { p.append(words); continue; }
    const worst = Math.min(...marks.map((m) => rankOf(m.span.severity)));
    const node = el("mark", { class: kindOf(ORDER[worst] ?? ""), "data-spans": marks.map((m) => idOf(m.lane, m.n)).join(" ") }, words || "\u2038");
    const ending = marks.filter((m) => m.ends).map((m) => idOf(m.lane, m.n));
    if (ending.length) node.append(el("sup", { text: ending.join(" ") }));
    paint(node, marks, used);
    if (open) {
      node.addEventListener("mouseenter", () => open(marks, node));
      node.addEventListener("click", () => open(marks, node, true));
    }
    p.append(node);
  }
  return p;
}

/** Return one row per layer that examined the text, with a button per span, and a line that names the other layers. */
export function laneRows(layers, lanes, least, open) {
  const chip = (span, n, lane) => el("button", {
    type: "button", class: `esl-chip ${kindOf(span.severity)}`, "data-span": idOf(lane, n), "aria-label": inWords(layers[lane], n, span),
    onmouseenter: (e) => open([{ lane, n, span }], e.currentTarget), onfocus: (e) => open([{ lane, n, span }], e.currentTarget),
    onclick: (e) => open([{ lane, n, span }], e.currentTarget, true),
  }, idOf(lane, n), span.side === "source" ? el("small", { text: " source" }) : null);
  const rows = layers.map((layer, i) => lanes[i] && el("li", {},
    el("b", { text: letterOf(i), title: layer.origin }), " ", el("bdi", { class: "esl-name", text: layer.label }), " ", el("span", { class: "esl-verdict", text: verdictOf(lanes[i], least) }),
    ...lanes[i].map((span, k) => (isShown(span, least) ? chip(span, k + 1, i) : null))));
  const others = layers.flatMap((layer, i) => (lanes[i] ? [] : [`${letterOf(i)} ${layer.label}`]));
  const few = others.length > 6 ? `${others.slice(0, 5).join(", ")} and ${others.length - 5} others` : others.join(", ");
  return el("div", { class: "esl" }, el("ul", { class: "esl-rows" }, ...rows),
    others.length ? el("p", { class: "esl-none", title: others.join(", "), text: `not examined: ${few}` }) : null);
}

/**
 * Return a slider of the lowest confidence that is shown, or null if no span has one. `changed(least)` draws the lanes anew: no server is
 * asked. It says how many spans are hidden.
 */
export function confidenceSlider(lanes, least, changed) {
  if (!hasConfidence(lanes)) return null;
  const said = el("span", { class: "esl-least", role: "status" });
  const slider = el("input", { type: "range", min: "0", max: "1", step: "0.01", "aria-label": "lowest confidence of error spans that are shown" });
  const say = (at) => {
    const n = hiddenIn(lanes, at);
    slider.setAttribute("aria-valuetext", at.toFixed(2));
    said.textContent = `${at.toFixed(2)}: ${n ? `${n} error span${n === 1 ? "" : "s"} below it hidden` : "none hidden"}`;
  };
  slider.value = String(least);
  slider.addEventListener("input", () => { changed(Number(slider.value)); say(Number(slider.value)); });
  say(least);
  return el("label", { class: "esl-slider", title: "Error spans without a confidence are always shown." }, "confidence from ", slider, said);
}

/** Return details of spans: layer, severity, category, text, note, confidence, provenance. */
function details(layers, marks) {
  return marks.map(({ lane, n, span }) => {
    const { label, origin, provenance } = layers[lane];
    const facts = Object.entries(provenance).map(([name, value]) => (value === label ? null : `${name}: ${/^[0-9a-f]{64}$/.test(value) ? `${value.slice(0, 12)}\u2026` : value}`)).filter(Boolean);
    return el("div", {},
      el("p", {}, el("b", { text: idOf(lane, n) }), " ", el("b", { class: kindOf(span.severity), text: span.severity }), ` ${span.category} `, span.side === "source" ? "in the source " : null,
        span.quote ? el("bdi", { text: `\u201c${span.quote}\u201d` }) : span.side === "output" ? "at a position without text" : null),
      span.note ? el("p", { class: "esl-note", dir: "auto", text: span.note }) : null,
      el("p", { class: "esl-quiet" }, el("bdi", { text: label }), ` (${origin})`, span.confidence === undefined ? "" : `, confidence ${span.confidence.toFixed(2)}`),
      facts.length ? el("p", { class: "esl-quiet esl-facts", text: facts.join(" \u00b7 ") }) : null);
  });
}

/**
 * Return the function that shows details beside a piece or button of `root`: on hover and focus until it is left, after a click until
 * Escape, another click, or focus elsewhere. The pieces of the spans are emphasized meanwhile.
 */
export function opener(root, layers) {
  const box = el("div", { class: "esl-details", role: "status" });
  box.hidden = true;
  let kept = null;
  const close = () => {
    box.hidden = true;
    kept = null;
    root.querySelectorAll(".esl-on").forEach((node) => node.classList.remove("esl-on"));
  };
  root.append(box);
  root.addEventListener("keydown", (event) => { if (event.key === "Escape" && !box.hidden) { close(); event.stopPropagation(); } });
  root.addEventListener("mouseout", (event) => { if (!kept && event.target.closest("[data-span], [data-spans]")) close(); });
  root.addEventListener("focusout", (event) => { if (!root.contains(event.relatedTarget)) close(); });
  return (marks, node, keep = false) => {
    if (keep && kept === node) { close(); return; }
    if (kept && !keep && kept !== node && !node.matches(":focus")) return;
    close();
    if (keep) kept = node;
    box.replaceChildren(...details(layers, marks));
    box.hidden = false;
    const ids = marks.map((m) => idOf(m.lane, m.n));
    root.querySelectorAll("[data-spans]").forEach((piece) => piece.classList.toggle("esl-on", piece.dataset.spans.split(" ").some((id) => ids.includes(id))));
    const [at, around] = [[...node.getClientRects()].at(-1), root.getBoundingClientRect()];
    const left = Math.min(at.left - around.left, around.width - box.offsetWidth);
    box.style.left = `${Math.max(0, left)}px`;
    box.style.top = `${at.bottom - around.top + LANE}px`;
  };
}
