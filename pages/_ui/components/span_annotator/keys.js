// What each key does in the protocol of the segment.

import { applies, asks, cursorOf, digitsChoose, levelsOf } from "./state.js";
import { moved, placed } from "./text.js";

const ALWAYS = {
  u: { do: "undo" }, r: { do: "redo" }, d: { do: "around" }, "?": { do: "help" }, escape: { do: "clear" },
  j: { do: "travel", to: "next" }, k: { do: "travel", to: "previous" }, g: { do: "travel", to: "unlabelled" },
};

/** Keys that do something only if `applies` says so. */
const SOMETIMES = {
  t: ["spans", () => ({ do: "editNote" })], b: ["spans", () => ({ do: "rebound" })], o: ["spans", () => ({ do: "nextTarget" })],
  m: ["spans", (state, e) => ({ do: "nextMark", by: e.shiftKey ? -1 : 1 })],
  delete: ["spans", ({ mark }) => ({ do: "delete", mark })], backspace: ["spans", ({ mark }) => ({ do: "delete", mark })],
  a: ["suggestions", () => ({ do: "accept" })], f: ["suggestions", () => ({ do: "reject" })],
  c: ["categories", () => ({ do: "category" })], s: ["score", () => ({ do: "goToScore" })], i: ["declines", () => ({ do: "askReason" })],
  n: ["verdicts", ({ target }) => ({ do: "verdict", id: target, value: "no_error" })],
  x: ["verdicts", ({ target }) => ({ do: "verdict", id: target, value: "non_translation" })],
};

/** The name of a key: a digit also on a keyboard where it needs Shift, a letter also on a keyboard of another script. */
export function nameOf({ code, key, shiftKey }) {
  if (/^(Digit|Numpad)\d$/.test(code) && !shiftKey) return code.at(-1);
  if (/^Key[A-Z]$/.test(code) && key.length === 1 && key > "\u007f") return code.at(-1).toLowerCase();
  return key.toLowerCase();
}

function digitCommand(state, digit, event) {
  const { outputs, ties } = state.data;
  const level = levelsOf(state)[digit - 1];
  if (asks(state, "spans")) return level ? { do: "severity", level } : null;
  if (!digitsChoose(state)) return { do: "typeScore", event };
  if (digit === "0") return ties ? { do: "prefer", winner: null } : null;
  return outputs[digit - 1] ? { do: "prefer", winner: outputs[digit - 1].id } : null;
}

/** The command of a key, or null. */
export function commandOf(state, event) {
  const name = nameOf(event);
  if (/^\d$/.test(name)) return digitCommand(state, name, event);
  if (name === "enter") return { do: state.rebound ? "setBounds" : "submit" };
  if (Object.hasOwn(ALWAYS, name)) return ALWAYS[name];
  const [when, command] = Object.hasOwn(SOMETIMES, name) ? SOMETIMES[name] : [];
  return when && applies(state, when) ? command(state, event) : null;
}

/** The selection after Home, End, or an arrow along the line. */
export function selectionAfter(state, id, { key, shiftKey, altKey }, rtl) {
  const text = state.texts.get(id);
  const from = cursorOf(state, id);
  if (key !== "Home" && key !== "End") return moved(text, from, { forward: (key === "ArrowRight") !== rtl, extend: shiftKey, byCharacter: altKey });
  const to = key === "Home" ? 0 : text.raw.length;
  return shiftKey ? { base: from.base, head: to } : placed(to);
}
