// Offsets, sentences, the texts of the interface, and pure parts of other components.
import assert from "node:assert/strict";
import { test } from "node:test";
import { annotator, COMPONENTS, expected } from "./components.mjs";

const { dragged, endOf, moved, onToken, placed, readText, startOf } = await annotator("text.js");
const { aligned, readSentences } = await annotator("align.js");
const { phrase, useTexts } = await annotator("texts.js");

test("offsets are code points and come back", () => {
  for (const { raw, units } of expected.texts) {
    const text = readText(raw);
    assert.deepEqual(units.map((unit) => [text.points(unit), text.units(text.points(unit))]), units.map((unit, i) => [i, unit]), raw);
    assert.ok(text.stops.every((stop) => units.includes(stop)), raw);
  }
});

test("a selection grows by words, and by characters on request", () => {
  const text = readText("ab 👨‍👩‍👧 cd");
  const chosen = (sel) => text.raw.slice(startOf(sel), endOf(sel));
  const first = onToken(text.tokens[0]);
  assert.equal(chosen(moved(text, first, { forward: true, extend: true })), "ab 👨‍👩‍👧");
  assert.equal(chosen(moved(text, placed(3), { forward: true, extend: true, byCharacter: true })), "👨‍👩‍👧");
  assert.equal(chosen(moved(text, first, { forward: true })), "👨‍👩‍👧");
  assert.equal(chosen(dragged(text, first, text.raw.length, false)), text.raw);
  assert.equal(chosen(dragged(text, placed(0), 1, true)), "a");
  assert.equal(chosen(dragged(text, onToken(text.tokens[2]), 1, false)), text.raw);
});

test("the sentence of the source that is marked", () => {
  for (const [source, output, at, by] of [
    ["We saw Anna. It rained all day.", "Wir sahen Anna.", 3, null], // the output may omit the second sentence
    ["We saw Anna. It rained all day.", "Wir sahen Anna. Es regnete.", 20, "position"],
    ["We saw Anna. It rained in Uppsala all day.", "Wir sahen. Es regnete in Uppsala.", 5, "position"],
    ["We saw Anna. It rained in Uppsala all day.", "Wir sahen. In Uppsala fiel Regen.", 20, "words"],
    [`${"They met. ".repeat(9)}It rained in Uppsala.`, "Rain fell in Uppsala.", 3, "words"], // a summary
    ["We saw Anna.", "Wir sahen Anna. Es regnete.", 3, null],
  ]) assert.equal(aligned(readSentences(source), readSentences(output), at)?.by ?? null, by, output);
});

test("texts of the page replace the English ones", () => {
  useTexts({ "score.unset": "noch nicht gesetzt", "missing.one": "Es fehlt {n}:" });
  assert.deepEqual([phrase("score.unset"), phrase("missing", { n: 1 }), phrase("missing", { n: 2 }), phrase("or")],
    ["noch nicht gesetzt", "Es fehlt 1:", "2 things are missing:", " or "]);
  useTexts();
});

test("the inspector puts words where the offsets of tokens say", async () => {
  const { spliced } = await import(new URL("inspector/inspector.js", COMPONENTS));
  const round = { text: "😀𝔸 bad", tokens: [["😀", 0, 1], ["𝔸", 1, 2], [" bad", 2, 6]] };
  const cases = [[1, { word: "x" }], [2, { word: " good" }], [2, { word: "!", before: true }]];
  assert.deepEqual(cases.map(([i, how]) => spliced(round, i, how)), ["😀x bad", "😀𝔸 good", "😀𝔸! bad"]);
});

test("λ is a position on the slider, also infinity", async () => {
  const { fromLam, shownLam, share, toLam, weigh } = await import(new URL("output_cards/lambda.js", COMPONENTS));
  assert.deepEqual(["inf", "0.5"].map((text) => fromLam(toLam(text))), ["inf", "0.5"]);
  assert.deepEqual([Infinity, 0.5].map(shownLam), ["∞", "0.50"]);
  assert.equal(share(Infinity), 1);
  assert.equal(weigh({ exp: 1, imp: 3 }, 1), -2);
});
