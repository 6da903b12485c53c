// The text of one output: its differences from the reference, and the error spans of all annotators, also as a list.

import { el, put } from "../shared/elements.js";

export const FOLD = 900; // longer texts are folded
export const ROW = 130; // those of the table view too

const counted = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;

function markedText(pieces) {
  const p = el("p", "esc-text esc-marked");
  p.dir = "auto";
  const last = new Map(); // each number stands once, where its span ends: other spans may cut it into pieces
  pieces.forEach(([, , marks], i) => marks.forEach((n) => last.set(n, i)));
  pieces.forEach(([words, severity, marks], i) => {
    if (!marks.length) { p.append(words); return; }
    const ending = marks.filter((n) => last.get(n) === i);
    const mark = put(el("mark", severity.toLowerCase()), el("bdi", "", words || "\u2038"));
    put(p, put(mark, ending.length ? el("sup", "", ending.join(" ")) : null));
  });
  return p;
}

export function severities(errors) {
  const counts = ["Major", "Minor", "Neutral"].map((s) => [errors.filter((e) => e.severity === s).length, s]);
  return counts.filter(([n]) => n).map(([n, s]) => `${n} ${s}`).join(", ") || "no error";
}

export function labelList({ errors, raters }, mqm) {
  const line = `${mqm === null ? "" : `MQM ${mqm} \u00b7 `}${severities(errors)} \u00b7 ${counted(raters, "annotator")}`;
  if (!errors.length) return el("p", "esc-label", line);
  const list = el("ol");
  for (const e of errors) {
    put(list, put(el("li"), el("b", e.severity.toLowerCase(), e.severity), ` ${e.category} `,
      e.side === "source" ? "in the source " : null, e.quote ? el("bdi", "", `\u201c${e.quote}\u201d`) : null,
      raters > 1 ? el("bdi", "esc-rater", ` ${e.rater}`) : null, e.note ? el("bdi", "esc-note", e.note) : null));
  }
  return put(el("details", "esc-errors"), el("summary", "", line), list);
}

export function diffText(pieces, output) {
  const p = el("p", "esc-text");
  p.dir = "auto";
  for (const [kind, words] of pieces) {
    const core = words.trim();
    const at = core ? words.indexOf(core) : 0;
    if (kind === "same" || (kind === "insert" && !core)) p.append(words);
    else if (kind === "insert") p.append(words.slice(0, at), el("ins", "", core), words.slice(at + core.length));
    else if (core) {
      if (output) {
        const gap = el("span", "esc-gap", "\u2038");
        gap.title = "Only in the reference: " + core;
        p.append(gap);
      }
      p.append(el("del", "", core));
    }
  }
  return p;
}

export function outputTexts(card) {
  if (card.text === "") return [el("p", "esc-status", "the output is empty")];
  return card.labels ? [diffText(card.diff, true), markedText(card.labels.pieces)] : [diffText(card.diff, true)];
}

/** Fold a box with a long text to some lines, with a button; what is unfolded stays so until another segment is drawn. */
export function foldable(view, id, box, words, limit, what) {
  if (words.length <= limit) return box;
  const button = el("button", "esc-plain esc-more");
  const open = view.memory.unfolded;
  const apply = () => {
    box.classList.toggle("esc-folded", !open.has(id));
    button.textContent = open.has(id) ? "show less" : `show all (${words.trim().split(/\s+/).length.toLocaleString("en")} words)`;
    button.setAttribute("aria-label", `${button.textContent}: ${what}`);
    button.setAttribute("aria-expanded", String(open.has(id)));
  };
  button.addEventListener("click", () => { open[open.has(id) ? "delete" : "add"](id); apply(); });
  apply();
  return put(el("div"), box, button);
}
