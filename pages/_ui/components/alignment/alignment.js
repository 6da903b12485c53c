// Scores come as whole hundredths, matrix[target][output], so that what is compared is what is shown. `view.over` is what the
// pointer is on, `view.held` what was focused or clicked: {output: j} or {target: i} or both (a cell of the map).

import { mounted } from "../shared/component.js";
import { el, put } from "../shared/elements.js";

const svg = (tag, attributes = {}) => {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
};
const score = (hundredths) => (hundredths / 100).toFixed(2);
const plural = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;
const LEVELS = 20, LARGEST = 38, SMALLEST = 3, TALLEST = 420, LEFT = 30, TOP = 24, RIGHT = 10;
const SIDES = { output: "target", target: "output" };
const thresholds = {};
let path = "recall";

const best = (view, side, k) => (side === "output" ? view.data.of_output : view.data.of_target)[k];
const cell = (view, side, k, other) => (side === "output" ? view.data.matrix[other][k] : view.data.matrix[k][other]);
const reach = (view, side, k) => cell(view, side, k, best(view, side, k));
const called = (view, side) => (side === "output" ? "the output" : view.data.the);
const good = (view) => thresholds[view.data.matcher] ?? Math.round(100 * view.data.good);

// The two texts

function textBox(view, side) {
  const { data } = view;
  const box = el("section", "esa-text");
  const list = el("ol");
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", `sentences of ${called(view, side)}`);
  const rows = data[side].map((words, k) => {
    const row = el("li");
    row.dir = "auto";
    row.setAttribute("role", "option");
    row.tabIndex = k === 0 ? 0 : -1;
    const number = el("span", "esa-n", String(k + 1));
    number.dir = "ltr";
    const link = el("span", "esa-link");
    link.dir = "ltr";
    const flag = el("span", "esa-flag");
    flag.dir = "ltr";
    put(row, number, el("span", "esa-words", words), link, flag);
    if (!data.reason) {
      row.addEventListener("pointerenter", () => { view.over = { [side]: k }; show(view); });
      row.addEventListener("pointerleave", () => { view.over = null; show(view); });
      row.addEventListener("focus", () => hold(view, { [side]: k }));
    }
    list.append(row);
    return { row, link, flag };
  });
  const title = el("h4", "", side === "output" ? `output, ${plural(rows.length, "sentence")}` : `${data.against}, ${plural(rows.length, "sentence")}`);
  view.lists[side] = { list, rows };
  return put(box, title, rows.length ? list : el("p", "esa-quiet", "empty text"));
}

function flags(view) {
  const limit = good(view);
  for (const [side, { rows }] of Object.entries(view.lists)) {
    let without = 0;
    rows.forEach(({ row, link, flag }, k) => {
      const reached = reach(view, side, k), alone = reached < limit;
      without += alone;
      row.classList.toggle("esa-alone", alone);
      link.textContent = `${score(reached)} \u2194 ${best(view, side, k) + 1}`;
      link.title = `best match: sentence ${best(view, side, k) + 1} of ${called(view, SIDES[side])}, ${score(reached)}`;
      flag.textContent = alone ? `no good match: possible ${side === "output" ? "hallucination" : "omission"}` : "";
    });
    view.without[side] = without;
  }
  const said = (side, what) => {
    const [n, all] = [view.without[side], view.data[side].length];
    return put(el("span", n ? "esa-some" : ""), el("b", "", `${n} of ${all}`), ` sentence${all === 1 ? "" : "s"} of ${called(view, side)} ${n === 1 ? "has" : "have"} no good match${n ? `: possible ${what}${n > 1 ? "s" : ""}` : ""}`);
  };
  view.summary.replaceChildren(said("output", "hallucination"), said("target", "omission"));
}

// The map

function mapBox(view) {
  const { data } = view;
  view.map = el("div", "esa-map");
  view.map.tabIndex = 0;
  view.map.setAttribute("role", "application");
  view.map.setAttribute("aria-label", `matches of ${plural(data.target.length, "sentence")} of ${data.the} (rows) with ${plural(data.output.length, "sentence")} of the output (columns); arrow keys move from match to match`);
  view.map.addEventListener("pointermove", (event) => { view.over = at(view, event); show(view); });
  view.map.addEventListener("pointerleave", () => { view.over = null; show(view); });
  view.map.addEventListener("pointerdown", (event) => { const spot = at(view, event); if (spot) hold(view, spot); });
  view.map.addEventListener("focus", () => { if (!isCell(view.held)) hold(view, whole(view, view.held) ?? { target: 0, output: data.of_target[0] }); });
  return view.map;
}

const isCell = (what) => what && what.output !== undefined && what.target !== undefined;

function at(view, event) {
  const box = view.map.querySelector("svg")?.getBoundingClientRect();
  if (!box) return null;
  const [output, target] = [Math.floor((event.clientX - box.left - LEFT) / view.width), Math.floor((event.clientY - box.top - TOP) / view.height)];
  const { data } = view;
  return output >= 0 && target >= 0 && output < data.output.length && target < data.target.length ? { output, target } : null;
}

function ticks(n, size) {
  const step = [1, 2, 5, 10, 20, 50, 100, 200, 500].find((s) => s * size >= 16) ?? 1000;
  return Array.from({ length: n }, (_, k) => k).filter((k) => step === 1 || k === 0 || (k + 1) % step === 0);
}

function drawMap(view) {
  const { data } = view;
  const [rows, columns] = [data.target.length, data.output.length];
  const tracks = getComputedStyle(view.middle).gridTemplateColumns.split(" ").length;
  const beside = tracks > 1 ? view.figures.offsetWidth + 24 : 0;
  const room = Math.max(60, view.middle.clientWidth - beside - LEFT - RIGHT);
  view.width = Math.max(SMALLEST, Math.min(LARGEST, room / columns));
  view.height = Math.max(SMALLEST, Math.min(LARGEST, TALLEST / rows));
  const [w, h] = [view.width * columns, view.height * rows];
  const root = svg("svg", { width: LEFT + w + RIGHT, height: TOP + h + 1, "aria-hidden": "true", class: "esa-svg" });
  const field = svg("g", { transform: `translate(${LEFT} ${TOP})` });
  field.append(svg("rect", { width: w, height: h, class: "esa-ground" }));
  const limit = good(view), strokes = {};
  const gap = Math.min(view.width, view.height) > 7 ? 1 : 0;
  for (let i = 0; i < rows; i++) for (let j = 0; j < columns; j++) {
    const level = Math.ceil((data.matrix[i][j] / 100) * LEVELS);
    if (!level) continue;
    const name = `${data.matrix[i][j] >= limit ? "good" : "poor"} ${level}`;
    (strokes[name] ??= []).push(`M${(j * view.width + gap / 2).toFixed(2)} ${(i * view.height + gap / 2).toFixed(2)}h${(view.width - gap).toFixed(2)}v${(view.height - gap).toFixed(2)}h${(gap - view.width).toFixed(2)}z`);
  }
  for (const [name, shapes] of Object.entries(strokes)) {
    const [kind, level] = name.split(" ");
    field.append(svg("path", { d: shapes.join(""), class: `esa-${kind}`, "fill-opacity": (0.08 + 0.92 * (level / LEVELS)).toFixed(3) }));
  }
  view.bands = svg("g");
  field.append(view.bands, line(view));
  view.ring = svg("rect", { class: "esa-ring", rx: 2, visibility: "hidden" });
  field.append(view.ring);
  root.append(field);
  for (const j of ticks(columns, view.width)) root.append(label(j + 1, LEFT + (j + 0.5) * view.width, TOP - 6, "middle"));
  for (const i of ticks(rows, view.height)) root.append(label(i + 1, LEFT - 6, TOP + (i + 0.5) * view.height + 3.5, "end"));
  view.map.replaceChildren(root);
  show(view);
}

function label(text, x, y, anchor) {
  const node = svg("text", { x, y, "text-anchor": anchor });
  node.textContent = text;
  return node;
}

function line(view) {
  const { data } = view;
  const group = svg("g", { class: "esa-path" });
  const steps = path === "recall" ? data.recall_path.map((j, i) => [j, i]) : path === "precision" ? data.precision_path.map((i, j) => [j, i]) : [];
  const spots = steps.map(([j, i]) => [((j + 0.5) * view.width).toFixed(2), ((i + 0.5) * view.height).toFixed(2)]);
  if (spots.length > 1) {
    const points = spots.map((s) => s.join(",")).join(" ");
    group.append(svg("polyline", { points, class: "esa-halo" }), svg("polyline", { points }));
  }
  const r = Math.max(1.2, Math.min(3.2, Math.min(view.width, view.height) / 4));
  for (const [cx, cy] of spots) group.append(svg("circle", { cx, cy, r }));
  return group;
}

// The selection and its matches

function whole(view, what) {
  if (!what) return null;
  if (what.output === undefined) return { target: what.target, output: best(view, "target", what.target) };
  if (what.target === undefined) return { output: what.output, target: best(view, "output", what.output) };
  return what;
}

function hold(view, what) {
  view.held = what;
  view.over = null;
  show(view);
  for (const side of ["output", "target"]) {
    const k = whole(view, what)?.[side];
    if (k !== undefined) reveal(view.lists[side].list, view.lists[side].rows[k].row);
  }
}

function reveal(list, row) {
  const [top, foot] = [row.offsetTop, row.offsetTop + row.offsetHeight];  // the list is positioned
  if (top < list.scrollTop || foot > list.scrollTop + list.clientHeight) list.scrollTop = top - (list.clientHeight - row.offsetHeight) / 2;
}

function show(view) {
  const { data } = view;
  if (data.reason) return;
  const what = view.over ?? view.held, pair = whole(view, what);
  for (const side of ["output", "target"]) {
    const from = what && !isCell(what) && what[side] === undefined ? SIDES[side] : null;
    view.lists[side].rows.forEach(({ row }, k) => {
      const chosen = pair?.[side] === k;
      row.classList.toggle("esa-here", chosen);
      row.setAttribute("aria-selected", String(chosen));
      if (from) row.style.setProperty("--match", String(cell(view, from, what[from], k)));
      else row.style.removeProperty("--match");
    });
  }
  view.ring.setAttribute("visibility", pair ? "visible" : "hidden");
  view.bands.replaceChildren();
  if (pair) {
    const [x, y] = [pair.output * view.width, pair.target * view.height];
    const [w, h] = [view.width * data.output.length, view.height * data.target.length];
    for (const [name, value] of Object.entries({ x: x - 1, y: y - 1, width: view.width + 2, height: view.height + 2 })) view.ring.setAttribute(name, value);
    if (what.target === undefined || isCell(what)) view.bands.append(svg("rect", { x, y: 0, width: view.width, height: h, class: "esa-band" }));
    if (what.output === undefined || isCell(what)) view.bands.append(svg("rect", { x: 0, y, width: w, height: view.height, class: "esa-band" }));
  }
  const line = pair ? words(view, what, pair) : "Hover over a sentence or a cell to see its matches.";
  if (view.now.textContent !== line) view.now.textContent = line;
}

function words(view, what, { output, target }) {
  const { data } = view;
  const head = `output, sentence ${output + 1} \u2194 ${data.against}, sentence ${target + 1}: similarity ${score(data.matrix[target][output])}`;
  const both = data.of_output[output] === target && data.of_target[target] === output;
  const said = both ? "best match of both" : data.of_output[output] === target ? "best match of the output sentence" : data.of_target[target] === output ? `best match of the sentence of ${data.the}` : "";
  return said ? `${head}; ${said}` : head;
}

// Threshold, path, figures

function tools(view) {
  const box = el("div", "esa-tools");
  const slider = el("input");
  Object.assign(slider, { type: "range", min: "0", max: "100", step: "1", value: String(good(view)) });
  slider.setAttribute("aria-label", "threshold for a good match");
  const out = el("output", "", score(good(view)));
  const back = el("button", "", "reset");
  back.type = "button";
  const usual = Math.round(100 * view.data.good);
  const moved = () => {
    const limit = good(view);
    out.textContent = score(limit);
    slider.setAttribute("aria-valuetext", score(limit));
    back.hidden = limit === usual;
  };
  const change = (value) => { thresholds[view.data.matcher] = value; moved(); flags(view); drawMap(view); };
  slider.addEventListener("input", () => change(Number(slider.value)));
  back.addEventListener("click", () => { slider.value = String(usual); change(usual); slider.focus(); });
  const limit = put(el("label", "esa-limit"), el("span", "", "counts as a match from a similarity of"), slider, out);
  limit.title = `Default ${score(usual)}: almost no sentence of a news summary matches an unrelated source this well`;
  moved();
  const seg = el("span", "esa-seg");
  seg.setAttribute("role", "group");
  seg.setAttribute("aria-label", "show the matches in order (SMART-L)");
  const buttons = [["recall", `for each sentence of ${view.data.the}`], ["precision", "for each sentence of the output"], ["none", "off"]].map(([mode, text]) => {
    const b = el("button", "", text);
    b.type = "button";
    b.title = { recall: `The line joins each sentence of ${view.data.the} with one of the output, without going back: recall of SMART-L`, precision: `The line joins each sentence of the output with one of ${view.data.the}, without going back: precision of SMART-L`, none: "" }[mode];
    b.addEventListener("click", () => { path = mode; pressed(); drawMap(view); });
    seg.append(b);
    return [mode, b];
  });
  const pressed = () => { for (const [mode, b] of buttons) b.setAttribute("aria-pressed", String(mode === path)); };
  pressed();
  return put(box, put(el("span", "esa-setting"), limit, back), put(el("span", "esa-setting"), el("span", "", "show the matches in order (SMART-L)"), seg));
}

function figures(view) {
  const { data } = view;
  const top = put(el("tr"), el("th", "", ""));
  for (const [name, hint] of [["P", `precision: how well the output\u2019s sentences are matched by ${data.the}`], ["R", `recall: how well the sentences of ${data.the} are matched by the output`], ["F", "harmonic mean of the two"]]) {
    const th = el("th", "", name);
    th.title = hint;
    top.append(th);
  }
  const body = el("tbody");
  const hints = { 1: "best match of every sentence", 2: "best match of each pair of neighbouring sentences, with a blank sentence at both ends of each text", L: "sentences matched in order, without going back", X: "mean of the three" };
  for (const [variant, p, r, f] of data.figures) {
    const th = el("th", "", `SMART-${variant}`);
    th.scope = "row";
    th.title = hints[variant];
    const row = put(el("tr"), th);
    for (const value of [p, r, f]) row.append(el("td", "", value.toFixed(3)));
    body.append(row);
  }
  const table = put(el("table"), put(el("caption", "esa-quiet"), `against ${data.the} alone, ${data.matched}`), put(el("thead"), top), body);
  table.title = data.signature;
  return table;
}

function legend() {
  const box = el("div", "esa-legend esa-quiet");
  const item = (name, text) => put(el("span"), el("i", name), text);
  return put(box, item("esa-key-good", "good match"), item("esa-key-poor", "no good match"), item("esa-key-path", "matches in order (SMART-L)"));
}

// The whole

function move(view, side, by) {
  const { list, rows } = view.lists[side];
  const now = rows.findIndex(({ row }) => row === document.activeElement);
  const to = Math.min(rows.length - 1, Math.max(0, now + by));
  rows.forEach(({ row }, k) => { row.tabIndex = k === to ? 0 : -1; });
  rows[to].row.focus({ preventScroll: true });
  reveal(list, rows[to].row);
}

function cross(view, side) {
  const k = view.held?.[side];
  if (k === undefined) return;
  const { rows } = view.lists[SIDES[side]], to = best(view, side, k);
  rows.forEach(({ row }, n) => { row.tabIndex = n === to ? 0 : -1; });
  rows[to].row.focus({ preventScroll: true });
}

function onKey(view, event) {
  if (view.data.reason || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || event.target instanceof HTMLInputElement) return;
  const side = ["output", "target"].find((s) => view.lists[s].list.contains(event.target));
  const by = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
  if (event.key === "Escape" && view.held) { view.held = view.over = null; show(view); }
  else if (side && by && by[0]) move(view, side, by[0]);
  else if (side && (event.key === "Home" || event.key === "End")) move(view, side, event.key === "Home" ? -1e6 : 1e6);
  else if (side && (event.key === "Enter" || by)) cross(view, side);
  else if (event.target === view.map && by) {
    const { target, output } = whole(view, view.held) ?? { target: 0, output: 0 };
    const clamp = (x, n) => Math.min(n - 1, Math.max(0, x));
    hold(view, { target: clamp(target + by[0], view.data.target.length), output: clamp(output + by[1], view.data.output.length) });
  } else return;
  event.preventDefault();
  event.stopPropagation();
}

function draw(view) {
  const { data, root } = view;
  Object.assign(view, { lists: {}, without: {}, held: null, over: null });
  const title = put(el("h3"), "Sentences of ", put(el("bdi"), data.name), ` and ${data.the}`);
  view.summary = el("p", "esa-summary");
  const [ours, theirs] = [textBox(view, "output"), textBox(view, "target")];
  root.setAttribute("aria-label", `sentences of ${data.name} and ${data.the}`);
  if (data.reason) {
    view.watch.disconnect();
    root.replaceChildren(title, el("p", "esa-reason", `Nothing to match: ${data.reason}.`), put(el("div", "esa-desk esa-plain"), ours, theirs));
    return;
  }
  view.now = el("p", "esa-now");
  view.now.setAttribute("aria-live", "polite");
  const signed = el("p", "esa-quiet esa-signed", data.signature);
  const sideways = put(el("div", "esa-axes esa-quiet"), el("span", "", `\u2193 ${data.against}`), el("span", "", "output \u2192"));
  view.figures = put(el("div", "esa-figures"), view.now, figures(view));
  view.middle = put(el("section", "esa-middle"), put(el("div", "esa-mapside"), sideways, mapBox(view), legend()), view.figures);
  root.replaceChildren(title, view.summary, tools(view), put(el("div", "esa-desk"), ours, view.middle, theirs), signed);
  flags(view);
  drawMap(view);
  view.watch.disconnect();
  view.watch.observe(view.middle);
}

function create(parentElement) {
  const root = el("section", "esa");
  const view = { root };
  let seen = 0;
  view.watch = new ResizeObserver(([entry]) => {
    const width = Math.round(entry.contentRect.width);
    if (width && width !== seen) { seen = width; drawMap(view); }
  });
  root.addEventListener("keydown", (event) => onKey(view, event));
  parentElement.append(root);
  return view;
}

export default function ({ data, parentElement }) {
  const [view, release] = mounted(parentElement, () => create(parentElement), (v) => { v.watch.disconnect(); v.root.remove(); });
  const print = JSON.stringify(data);
  view.data = data;
  if (print !== view.print) { view.print = print; draw(view); }
  return release;
}
