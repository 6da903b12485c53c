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
const place = { outbox: "link A", rater: "Ana", project: 1, doc: "news", segment: "1" };
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
  outbox.put({ ...place, outbox: "link B" }, made("b"));
  outbox.put({ ...place, outbox: "link B", rater: "Ben" }, made("ben"));
  outbox.put({ ...place, segment: "2" }, made("a2"));
  outbox.put({ rater: "preview", project: 1, doc: "news", segment: "1" }, made("preview"));
  for (const segment of ["1", "3"]) {
    const old = { ...place, outbox: undefined, segment, at: 1, n: 1, action: made(`old${segment}`) };
    localStorage.setItem(`errorscope.outbox/old${segment}`, JSON.stringify(old));
  }
  outbox = await opened();
  outbox.recall(place);
  assert.equal(ids(outbox.ofRater(place)), "old1+a2");
  assert.equal(ids(outbox.ofSegment(place)), "old1");
  assert.equal(outbox.onOtherPages, 2);
  assert.equal(stored.size, 5);
});

test("actions on a refused one are kept as made on what was there before", async () => {
  stored.clear();
  let outbox = await opened();
  for (const [id, seen] of [["x1", "before"], ["x2", "x1"], ["x3", "x2"]]) outbox.put(place, made(id, seen));
  outbox.rebase(outbox.ofRater(place).filter((e) => ["x1", "x2"].includes(e.action.id)));
  outbox.drop(["x1", "x2"]);
  outbox = await opened();
  outbox.recall(place);
  assert.equal(ids(outbox.ofRater(place)), "x3");
  assert.equal(outbox.ofRater(place)[0].action.payload.seen, "before");
});

test("a request has at most 50 actions, in runs on the same segment", async () => {
  const { AT_ONCE, batched } = await annotator("outbox.js");
  const entries = Array.from({ length: AT_ONCE + 1 }, (_, i) => ({ ...place, segment: i < 2 ? "1" : i < 4 ? "2" : "1", action: made(`a${i}`) }));
  assert.deepEqual(batched(entries).map(({ segment, actions }) => [segment, actions.length]), [["1", 2], ["2", 2], ["1", AT_ONCE - 4]]);
});

/** A page whose outbox sends to a server, `answer(batches)`, which may throw; `heard` are the ids of each request that was answered. */
async function sending(answer) {
  const { createSender, outbox, settle } = await annotator(`outbox.js?page=${(pages += 1)}`);
  globalThis.document = { documentElement: { lang: "en" } };
  globalThis.fetch = async (url, { body }) => answer(JSON.parse(body).batches);
  const heard = [];
  const sender = createSender({
    source: () => ({ place, server: { url: "/api/actions", headers: {} } }), active: () => true, changed: () => {}, ended: () => {},
    heard: (reply, entries) => { heard.push(ids(entries)); settle(reply, entries, place); },
  });
  return { outbox, sender, heard };
}

const ok = (answer) => ({ ok: true, status: 200, json: async () => ({ acknowledged: [], refused: {}, stale: [], segments: [], ...answer }) });

test("what the server did not take stays until it has answered", async () => {
  stored.clear();
  let reply = () => { throw new TypeError("no connection"); };
  const { outbox, sender, heard } = await sending((batches) => reply(batches));
  outbox.put(place, made("x1"));
  await sender.flush();
  assert.deepEqual([ids(outbox.ofRater(place)), stored.size, sender.status.why], ["x1", 1, ""]);
  reply = () => ({ ok: false, status: 401, json: async () => ({ error: "This link was revoked" }) });
  await sender.flush();
  assert.deepEqual([ids(outbox.ofRater(place)), sender.status.why, sender.status.denied], ["x1", "This link was revoked", true]);
  reply = () => ok({ acknowledged: ["x1"] });
  await sender.flush();
  assert.deepEqual([ids(outbox.ofRater(place)), stored.size, sender.status.why, heard], ["", 0, null, ["x1"]]);
  assert.ok(sender.status.savedAt);
  sender.stop();
});

test("all that waits is sent in several requests, and what the server left out once more", async () => {
  stored.clear();
  const sizes = [];
  const { outbox, sender } = await sending((batches) => {
    const actions = batches.flatMap((batch) => batch.actions);
    sizes.push(actions.length);
    return ok({ acknowledged: actions.map((a) => a.id).filter((id) => id !== "x60" || sizes.length > 2) });
  });
  for (let i = 1; i <= 60; i += 1) outbox.put(place, made(`x${i}`));
  await sender.flush();
  assert.deepEqual([sizes, ids(outbox.ofRater(place))], [[50, 10], "x60"]);
  await sender.flush();
  assert.deepEqual([sizes, ids(outbox.ofRater(place))], [[50, 10, 1], ""]);
  sender.stop();
});
