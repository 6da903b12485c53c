// The text of one output: its differences from the reference, and the lanes of its error spans.

import { el, put } from "../shared/elements.js";
import { laneText } from "../shared/lanes.js";

export const FOLD = 900; // longer texts are folded
export const ROW = 130; // those of the table view too

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

export const isLabelled = (card) => card.layers.some(Boolean);

export function outputTexts(view, card, open) {
  if (card.text === "" && !isLabelled(card)) return [el("p", "esc-status", "the output is empty")];
  const texts = [diffText(card.diff, true)];
  if (isLabelled(card)) texts.push(laneText(card.text, card.layers, view.memory.least, "esc-text esc-marked", open));
  return texts;
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
