// Texts side by side, each with the error spans of one rater, or with a lane per layer. User texts go through textContent only.

import { el } from "../shared/elements.js";
import { confidenceSlider, laneRows, laneText, opener } from "../shared/lanes.js";

function stretch([text, severity, marks]) {
  if (!marks.length) return document.createTextNode(text);
  const node = el("mark", { class: severity.toLowerCase() }, el("bdi", { text: text || "‸" }));
  node.dataset.n = marks.join(" ");
  node.append(el("sup", { text: marks.join(" ") }));
  return node;
}

function passage(label, stretches) {
  // show each number once, where its span ends: other spans may cut it into pieces
  const last = new Map();
  stretches.forEach(([, , marks], i) => marks.forEach((n) => last.set(n, i)));
  const shown = stretches.map((piece, i) => {
    const node = stretch(piece);
    if (node.nodeType === Node.ELEMENT_NODE) {
      const ending = piece[2].filter((n) => last.get(n) === i);
      if (ending.length) node.lastChild.textContent = ending.join(" ");
      else node.lastChild.remove();
    }
    return node;
  });
  return el("div", {}, el("span", { class: "esm-quiet", text: label }), el("p", { class: "esm-text", dir: "auto" }, ...shown));
}

function column({ name, note, output, source, marks }) {
  const list = el("ol", {}, ...marks.map((m) => el("li", {},
    el("b", { class: m.severity.toLowerCase(), text: m.severity }), ` ${m.category} `,
    el("bdi", { class: "esm-quiet", text: m.quote ? `“${m.quote}”` : "" }),
    m.note ? el("bdi", { class: "esm-note", text: m.note }) : "")));
  return el("section", {},
    el("h4", {}, el("bdi", { text: name }), " ", el("span", { class: "esm-quiet", text: note })),
    passage("output", output), source.length ? passage("source", source) : "",
    marks.length ? list : el("p", { class: "esm-quiet", text: "No errors." }));
}

function withLanes({ layers, columns }) {
  const boxes = columns.map(() => el("div"));
  const draw = (least) => columns.forEach(({ text, lanes }, i) => {
    const host = el("div", { class: "esl-host" });
    const open = opener(host, layers);
    host.prepend(laneText(text, lanes, least, "esm-text", open), laneRows(layers, lanes, least, open));
    boxes[i].replaceChildren(host);
  });
  draw(0);
  const slider = confidenceSlider(columns.flatMap(({ lanes }) => lanes), 0, draw);
  const sections = columns.map(({ name }, i) => el("section", {}, el("h4", {}, el("bdi", { text: name })), boxes[i]));
  return slider ? [el("div", { class: "esm-wide esm-quiet" }, slider), ...sections] : sections;
}

export default function ({ data, parentElement }) {
  const root = parentElement.querySelector(".esm") ?? parentElement.appendChild(el("div", { class: "esm" }));
  const print = JSON.stringify([data.layers, data.columns]);
  if (root.print === print) return;
  root.print = print;
  root.replaceChildren(...(data.layers ? withLanes(data) : data.columns.map(column)));
}
