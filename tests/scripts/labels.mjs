// The labels as a view of the log.
import assert from "node:assert/strict";
import { test } from "node:test";
import { annotator, expected } from "./components.mjs";

const { answered, fold, labelsOf, missing, undecided, versionFor } = await annotator("log.js");
const KINDS = ["score", "prefer", "decline", "undo", "redo"];

test("the browser folds the log as the server does", () => {
  for (const { log, folded } of expected.logs) {
    const labels = fold(log);
    assert.deepEqual({
      outputs: Object.fromEntries(labels.outputs), submitted: labels.submitted, drafts: [...labels.drafts].filter(Boolean).sort(),
      preference: labels.preference, declined: labels.declined,
      undecided: ["a", "b"].map((id) => undecided({ id, suggestions: expected.suggested.map((name) => ({ id: name })) }, labels).map((s) => s.id)), versions: KINDS.map((kind) => versionFor(labels, kind, kind === "score" ? "a" : null)),
    }, folded, JSON.stringify(log));
  }
});

test("labels of other outputs do not count as submitted", () => {
  const add = { id: "1", kind: "add", output: "a", payload: { mark: "m", side: "output", start: 0, end: 1, quote: "x", severity: "Minor", category: "" } };
  const submit = { id: "2", kind: "submit", output: null, payload: { outputs: ["a"] } };
  const decline = { id: "3", kind: "decline", output: null, payload: { reason: "broken" } };
  const submitted = (ids, asks, ...log) => labelsOf({ outputs: ids.map((id) => ({ id })), asks }, log).submitted;
  assert.equal(submitted(["a"], ["spans"], add, submit), true);
  assert.equal(submitted(["a", "b"], ["spans"], add, submit), false);
  assert.equal(submitted(["a"], ["spans", "score"], add, submit), false);
  assert.equal(submitted(["a", "b"], ["preference"], add, submit), true);
  assert.equal(submitted(["b"], ["score"], decline, submit), true);
  assert.equal(submitted(["a"], ["spans"], submit, add), false);
  assert.deepEqual([null, 0].map((score) => answered({ marks: [1], verdict: null, score }, ["spans", "score"])), [false, true]);
});

test("what is missing is listed in reading order", () => {
  const data = {
    outputs: [{ id: "a", label: "Output 1" }, { id: "b", label: "Output 2" }], asks: ["spans"], ties: false, whole: { name: "Non-translation" },
    categories: [{ path: "Other", needs_note: true }],
  };
  const mark = { mark: "m", side: "output", start: 0, end: 1, quote: "x", severity: "Minor", category: "Other" };
  const labels = fold([{ id: "1", kind: "add", output: "a", payload: mark }]);
  const found = (asks) => missing({ ...data, asks }, labels).map(({ output, need }) => `${output} ${need}`);
  assert.deepEqual(found(["spans"]), ["a note", "b label"]);
  assert.deepEqual(found(["spans", "score"]), ["a note", "a score", "b score"]);
  assert.deepEqual(found(["preference"]), ["a preference"]);
});
