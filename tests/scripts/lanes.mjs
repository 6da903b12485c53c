// Lanes of error spans: pieces of the text, what is hidden, and what is said.
import assert from "node:assert/strict";
import { test } from "node:test";
import { COMPONENTS } from "./components.mjs";

const { cut, hiddenIn, inWords, letterOf, verdictOf } = await import(new URL("shared/lanes.js", COMPONENTS));
const span = (start, end, severity, more = {}) => ({ side: "output", start, end, severity, category: "", quote: "", ...more });
const shape = (pieces) => pieces.map(({ text, marks }) => [text, ...marks.map((m) => `${letterOf(m.lane)}${m.n}${m.ends ? "." : ""}`)]);

test("a text is cut where a span of any layer begins or ends, in code points", () => {
  const sure = span(2, 5, "Major", { confidence: 0.9 });
  const lanes = [[span(0, 3, "Minor"), sure], null, [span(5, 5, "Major", { confidence: 0.2 }), span(0, 1, "Major", { side: "source" })], []];
  assert.deepEqual(shape(cut("😀a bcd", lanes)), [["😀a", "A1"], [" ", "A1.", "A2"], ["bc", "A2."], ["", "C1."], ["d"]]);
  assert.deepEqual(shape(cut("😀a bcd", lanes, 0.5)), [["😀a", "A1"], [" ", "A1.", "A2"], ["bc", "A2."], ["d"]]);
  assert.deepEqual(shape(cut("שלום", [[span(0, 4, "Major")]])), [["שלום", "A1."]]);
  assert.deepEqual(shape(cut("", [[span(0, 0, "Major")]])), [["", "A1."]]);
  assert.deepEqual([0, 0.5].map((least) => hiddenIn(lanes, least)), [0, 1]);
});

test("each layer says what it marked, and nothing more", () => {
  const low = span(0, 1, "Major", { confidence: 0.3 });
  assert.deepEqual([null, [], [low], [low, span(1, 2, "Odd"), span(2, 3, "Minor")]].map((lane) => verdictOf(lane)), ["not examined", "no error", "1 Major", "1 Major, 1 Minor, 1 Odd"]);
  assert.equal(verdictOf([low], 0.5), "1 below 0.50"); // not "no error"
  assert.deepEqual([0, 25, 26, 702].map(letterOf), ["A", "Z", "AA", "AAA"]);
  assert.equal(inWords({ label: "xCOMET" }, 2, span(1, 1, "Minor", { category: "Omission" })), "xCOMET, error 2: Minor, Omission at a position without text");
});
