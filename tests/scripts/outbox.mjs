// What waits in the browser until the server has answered.
import assert from "node:assert/strict";
import { test } from "node:test";
import { annotator } from "./components.mjs";

const stored = new Map();
globalThis.localStorage = {
  get length() { return stored.size; },
  key: (i) => [...stored.keys()][i],
  getItem: (key) => stored.get(key) ?? null,
  setItem: (key, text) => stored.set(key, text),
  removeItem: (key) => stored.delete(key),
};
let pages = 0;
/** The script as a page has it that was just opened. */
const opened = async () => (await annotator(`outbox.js?page=${(pages += 1)}`)).outbox;
const here = { outbox: "link A", rater: "Ana", project: 1, doc: "news", segment: "1" };
const ids = (entries) => entries.map((e) => e.action.id).join("+");
const made = (id, seen = "") => ({ id, kind: "verdict", output: "o", payload: { value: null, seen } });

test("an undo that followed a refused action is dropped", async () => {
  const { strays } = await annotator("outbox.js");
  const entry = (id, kind, segment) => ({ project: 1, doc: "news", segment, action: { id, kind } });
  const entries = [
    entry("before", "undo", "2"), entry("refused", "add", "2"), entry("after", "undo", "2"), entry("again", "redo", "2"),
    entry("kept", "add", "2"), entry("elsewhere", "undo", "3"),
  ];
  assert.equal(ids(strays(entries, { refused: "why" })), "after+again");
});

test("a page sends its own changes and leaves those of others", async () => {
  stored.clear();
  let outbox = await opened();
  outbox.put({ ...here, outbox: "link B" }, made("b"));
  outbox.put({ ...here, outbox: "link B", rater: "Ben" }, made("ben"));
  outbox.put({ ...here, segment: "2" }, made("a2"));
  outbox.put({ rater: "preview", project: 1, doc: "news", segment: "1" }, made("preview"));
  for (const segment of ["1", "3"]) {
    const old = { ...here, outbox: undefined, segment, at: 1, n: 1, action: made(`old${segment}`) };
    localStorage.setItem(`errorscope.outbox/old${segment}`, JSON.stringify(old));
  }
  outbox = await opened();
  outbox.recall(here);
  assert.equal(ids(outbox.of(here)), "old1+a2");
  assert.equal(ids(outbox.here(here)), "old1");
  assert.equal(outbox.elsewhere, 2);
  assert.equal(stored.size, 5);
});

test("actions on a refused one are kept as made on what was there before", async () => {
  stored.clear();
  let outbox = await opened();
  for (const [id, seen] of [["x1", "before"], ["x2", "x1"], ["x3", "x2"]]) outbox.put(here, made(id, seen));
  outbox.rebase(outbox.of(here).filter((e) => ["x1", "x2"].includes(e.action.id)));
  outbox.drop(["x1", "x2"]);
  outbox = await opened();
  outbox.recall(here);
  assert.equal(ids(outbox.of(here)), "x3");
  assert.equal(outbox.of(here)[0].action.payload.seen, "before");
});

test("a request has at most 50 actions, in runs on the same segment", async () => {
  const { AT_ONCE, batched } = await annotator("outbox.js");
  const entries = Array.from({ length: AT_ONCE + 1 }, (_, i) => ({ ...here, segment: i < 2 ? "1" : i < 4 ? "2" : "1", action: made(`a${i}`) }));
  assert.deepEqual(batched(entries).map(({ segment, actions }) => [segment, actions.length]), [["1", 2], ["2", 2], ["1", AT_ONCE - 4]]);
});
