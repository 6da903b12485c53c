// The state of the editor: what each command makes of it, and what is recorded.
import assert from "node:assert/strict";
import { test } from "node:test";
import { annotator } from "./components.mjs";

const { cursorOf, labelsOn, listed, marksOn, NO_STATE, reduce } = await annotator("state.js");
const { worded } = await annotator("log.js");
const { commandOf, nameOf, selectionAfter } = await annotator("keys.js");

const PLACE = { outbox: "link", rater: "Ana", project: 1, doc: "news", segment: "1" };
const OUTPUT = { before: "", after: "" };
const DATA = {
  asks: ["spans"], ties: true, declines: true, source: "😀 Das Wetter war schlecht.", before: [], after: [], references: [], locked: [], events: [],
  severities: ["Major", "Minor"].map((name) => ({ name, definition: "", example: "" })), anchors: [], omission: "Omission", goes_on: true,
  categories: [
    { path: "Spelling", where: "output", needs_note: false }, { path: "Other", where: "output", needs_note: true }, { path: "Omission", where: "source", needs_note: false },
  ],
  whole: { name: "Non-translation" }, outputs: [{ ...OUTPUT, id: "a", text: "😀 bad weather" }, { ...OUTPUT, id: "b", text: "weather" }],
};

/** The states of an editor: `do_(command)` carries a command out, `recorded()` lists what it recorded. */
function editor(change = {}) {
  let n = 0;
  const recording = { id: () => `new${(n += 1)}`, time: () => "2026-01-01T00:00:00Z" };
  const self = { state: NO_STATE };
  self.do_ = (command) => {
    const before = JSON.stringify([self.state.labels, self.state.pending, self.state.data]);
    const state = reduce(self.state, command, recording);
    assert.equal(JSON.stringify([self.state.labels, self.state.pending, self.state.data]), before, `${command.do} changed the state before it`);
    self.state = state;
    return self;
  };
  self.open = (data = {}, more = {}) => self.do_({ do: "open", data: { ...DATA, ...change, ...data }, place: PLACE, moved: true, rebuilt: true, waiting: false, pending: [], ...more });
  self.recorded = () => self.state.pending.map(({ kind, payload: { seen, ...payload } }) => [kind, payload]);
  return self.open();
}

/** Mark the word at `at` (units) of a text. */
function mark(self, id, at, level = "Major", path = "Spelling") {
  const word = self.state.texts.get(id).token(at);
  self.do_({ do: "focus", id }).do_({ do: "click", id, at, character: at, base: { base: word, head: word.end }, extend: false, old: null, wasHalf: false, byCharacter: false });
  self.do_({ do: "severity", level });
  const { picker } = self.state;
  if (picker) self.do_({ do: "closePicker" }).do_({ do: "categorise", picker, path });
  return self;
}

test("a mark counts code points, waits for its category, and is not marked twice", () => {
  const self = editor();
  mark(self, "a", 3);
  const { id, ...span } = labelsOn(self.state, "a").marks[0];
  assert.deepEqual(span, { side: "output", start: 2, end: 5, quote: "bad", severity: "Major", category: "Spelling", note: "" });
  assert.equal(self.state.mark, id);
  assert.equal(self.state.selection, null);
  mark(self, "a", 3, "Major");
  assert.equal(self.recorded().length, 1, "the click has selected the mark, and its severity is the same");
  self.do_({ do: "focus", id: "a" }).do_({ do: "move", id: "a", selection: { base: { start: 3, end: 6 }, head: 6 } }).do_({ do: "severity", level: "Major" });
  const { picker } = self.state;
  self.do_({ do: "categorise", picker, path: "Spelling" });
  assert.equal(self.state.message.tone, "alert");
  assert.equal(self.recorded().length, 1);
});

test("an omission needs no category and belongs to the chosen output", () => {
  const self = editor().do_({ do: "target", id: "b" });
  mark(self, "source", 3);
  assert.equal(self.state.picker, null);
  assert.deepEqual(labelsOn(self.state, "b").marks.map((m) => [m.side, m.quote, m.category]), [["source", "Das", "Omission"]]);
  assert.equal(marksOn(self.state, "source").length, 1);
  assert.equal(marksOn(self.do_({ do: "target", id: "a" }).state, "source").length, 0);
});

test("two clicks select from the first word to the second", () => {
  const self = editor().do_({ do: "focus", id: "a" });
  const { texts } = self.state;
  const base = (at) => { const t = texts.get("a").token(at); return { base: t, head: t.end }; };
  const click = (at, more) => self.do_({ do: "click", id: "a", at, character: at, base: base(at), extend: false, byCharacter: false, ...more });
  click(7, { old: null, wasHalf: false });
  assert.equal(self.state.half, true);
  click(3, { old: self.state.selection, wasHalf: true });
  assert.deepEqual([self.state.selection.head, self.state.selection.base.end, self.state.half], [3, 14, false]);
});

test("overlapping marks have lanes, and a click selects the smallest", () => {
  const self = editor();
  mark(self, "a", 3);
  self.do_({ do: "focus", id: "a" }).do_({ do: "move", id: "a", selection: { base: { start: 3, end: 14 }, head: 14 } }).do_({ do: "severity", level: "Minor" });
  self.do_({ do: "categorise", picker: self.state.picker, path: "Spelling" });
  assert.deepEqual(marksOn(self.state, "a").map((m) => [m.quote, m.n, m.lane]), [["bad weather", 1, 0], ["bad", 2, 1]]);
  self.do_({ do: "clear" }).do_({ do: "click", id: "a", at: 4, character: 4, base: { base: { start: 3, end: 6 }, head: 6 }, extend: false, old: null, wasHalf: false, byCharacter: false });
  assert.equal(listed(self.state).find((m) => m.id === self.state.mark).quote, "bad");
});

test("a verdict removes marks, a mark withdraws the verdict, and both are undone", () => {
  const self = editor();
  mark(self, "a", 3);
  self.do_({ do: "verdict", id: "a", value: "no_error" });
  assert.deepEqual([labelsOn(self.state, "a").marks.length, labelsOn(self.state, "a").verdict], [0, "no_error"]);
  mark(self, "a", 3, "Minor");
  assert.equal(labelsOn(self.state, "a").verdict, null);
  self.do_({ do: "undo" }).do_({ do: "undo" });
  assert.equal(labelsOn(self.state, "a").marks[0].severity, "Major");
  self.do_({ do: "redo" });
  assert.equal(labelsOn(self.state, "a").verdict, "no_error");
  assert.equal(self.do_({ do: "redo" }).do_({ do: "redo" }).state.message.text, "Nothing to redo.");
});

test("each action names the version that it replaces", () => {
  const self = editor();
  self.do_({ do: "verdict", id: "a", value: "no_error" }).do_({ do: "verdict", id: "b", value: "no_error" }).do_({ do: "verdict", id: "a", value: null }).do_({ do: "undo" });
  const { pending } = self.state;
  assert.deepEqual(pending.map((a) => a.payload.seen), ["", "", pending[0].id, pending[2].id]);
});

test("boundaries change in the same text only", () => {
  const self = editor();
  mark(self, "a", 3);
  self.do_({ do: "rebound" }).do_({ do: "focus", id: "b" }).do_({ do: "move", id: "b", selection: { base: { start: 0, end: 7 }, head: 7 } }).do_({ do: "setBounds" });
  assert.equal(self.state.message.tone, "alert");
  self.do_({ do: "focus", id: "a" }).do_({ do: "move", id: "a", selection: { base: { start: 3, end: 14 }, head: 14 } }).do_({ do: "setBounds" });
  assert.deepEqual(labelsOn(self.state, "a").marks.map((m) => [m.start, m.end, m.quote]), [[2, 13, "bad weather"]]);
  assert.equal(self.state.rebound, null);
});

test("a submission lists what is missing, then goes on until it is withdrawn", () => {
  const self = editor();
  mark(self, "a", 3, "Major", "Other");
  self.do_({ do: "submit" });
  assert.deepEqual(self.state.missing.map(({ output, need }) => [output, need]), [["a", "note"], ["b", "label"]]);
  self.do_({ do: "note", mark: self.state.mark, note: "why" }).do_({ do: "verdict", id: "b", value: "no_error" }).do_({ do: "submit" });
  assert.deepEqual([self.state.missing, self.state.labels.submitted, self.state.onward], [[], true, true]);
  assert.deepEqual(self.recorded().at(-1), ["submit", { outputs: ["a", "b"] }]);
  self.do_({ do: "reopen" }).do_({ do: "goOn" });
  assert.deepEqual([self.state.labels.submitted, self.state.onward], [false, false]);
});

test("nothing is recorded once the names of the systems were shown", () => {
  const self = editor({ locked: ["a", "b"] });
  self.do_({ do: "verdict", id: "a", value: "no_error" }).do_({ do: "score", id: "a", value: 3 }).do_({ do: "prefer", winner: "a" }).do_({ do: "decline", reason: "x" });
  mark(self, "a", 3);
  assert.deepEqual(self.recorded(), []);
  assert.match(self.state.message.text, /^Locked/);
});

test("what the server answers becomes the log, and what it refuses is said", () => {
  const self = editor().do_({ do: "verdict", id: "a", value: "no_error" }).do_({ do: "verdict", id: "b", value: "no_error" });
  const entries = self.state.pending.map((action) => ({ ...PLACE, action }));
  const [saved, refused] = [entries.slice(0, 1), entries.slice(1)];
  const answer = { acknowledged: [saved[0].action.id], refused: { [refused[0].action.id]: "no such output" }, stale: [], segments: [] };
  self.do_({ do: "answer", answer, saved, refused, stale: [], pending: [] });
  assert.deepEqual(self.state.data.events.map((e) => e.kind), ["verdict"]);
  assert.deepEqual([labelsOn(self.state, "a").verdict, labelsOn(self.state, "b").verdict], ["no_error", null]);
  assert.equal(self.state.message.text, "Not saved: no such output");
  self.open({}, { moved: false, rebuilt: false }); // the page was drawn before the server saved
  assert.equal(labelsOn(self.state, "a").verdict, "no_error");
});

/** An editor whose mark on "bad" was refused, because another tab has marked "weather" meanwhile. */
function refusedAsStale() {
  const self = mark(editor(), "a", 3);
  const entry = { ...PLACE, action: self.state.pending[0] };
  const events = [{ id: "theirs", kind: "add", output: "a", payload: { mark: "m", side: "output", start: 6, end: 13, quote: "weather", severity: "Minor", category: "Spelling", note: "" } }];
  const answer = { acknowledged: [], refused: { [entry.action.id]: "stale" }, stale: [entry.action.id], segments: [{ ...PLACE, events, locked: [] }] };
  return self.do_({ do: "answer", answer, saved: [], refused: [entry], stale: [entry], pending: [] });
}

test("two versions are compared, and either or both can be kept", () => {
  const quotes = (how) => labelsOn(refusedAsStale().do_({ do: "merge", how }).state, "a").marks.map((m) => m.quote).sort();
  assert.deepEqual(refusedAsStale().state.clash.outputs, ["a"]);
  assert.deepEqual([quotes("keep"), quotes("mine"), quotes("both")], [["weather"], ["bad"], ["bad", "weather"]]);
  assert.equal(refusedAsStale().do_({ do: "merge" }).state.clash, null);
});

test("two versions of a segment that was left are compared when it is opened again", () => {
  const self = mark(editor(), "a", 3);
  const entry = { ...PLACE, action: self.state.pending[0] };
  self.open({}, { place: { ...PLACE, segment: "2" }, waiting: true });
  const answer = { acknowledged: [], refused: { [entry.action.id]: "stale" }, stale: [entry.action.id], segments: [] };
  self.do_({ do: "answer", answer, saved: [], refused: [entry], stale: [entry], pending: [] });
  assert.match(self.state.message.text, /news \/ 1/);
  self.open();
  assert.deepEqual(self.state.clash.outputs, ["a"]);
});

test("keys are commands of the protocol", () => {
  const key = (name, more = {}) => ({ key: name, code: /^\d$/.test(name) ? `Digit${name}` : `Key${name.toUpperCase()}`, shiftKey: false, ...more });
  const spans = editor().state;
  assert.deepEqual(commandOf(spans, key("1")), { do: "severity", level: "Major" });
  assert.equal(commandOf(spans, key("9")), null);
  assert.equal(commandOf(spans, key("s")), null);
  assert.deepEqual(commandOf(spans, key("n")), { do: "verdict", id: "a", value: "no_error" });
  assert.deepEqual(commandOf(spans, key("M", { shiftKey: true })), { do: "nextMark", by: -1 });
  assert.equal(commandOf(spans, { key: "Enter", code: "Enter" }).do, "submit");
  assert.equal(nameOf({ code: "KeyU", key: "г", shiftKey: false }), "u");
  assert.equal(nameOf({ code: "Digit1", key: "&", shiftKey: false }), "1");
  const pair = editor({ asks: ["preference"] }).state;
  assert.deepEqual([1, 2, 0].map((n) => commandOf(pair, key(String(n)))?.winner), ["a", "b", null]);
  assert.equal(commandOf(pair, key("c")), null);
  const scores = editor({ asks: ["score"] }).state;
  assert.equal(commandOf(scores, key("7")).do, "typeScore");
  assert.equal(commandOf(scores, key("s")).do, "goToScore");
});

test("arrows move by word, backwards in a text from right to left", () => {
  const self = editor().do_({ do: "focus", id: "a" });
  const press = (key, rtl = false) => self.do_({ do: "move", id: "a", selection: selectionAfter(self.state, "a", { key, shiftKey: false, altKey: false }, rtl) });
  const chosen = () => self.state.spoken.text;
  assert.equal((press("ArrowRight"), chosen()), "😀");
  assert.equal((press("ArrowRight"), chosen()), "bad");
  assert.equal((press("ArrowRight", true), chosen()), "😀");
  press("End");
  assert.equal(cursorOf(self.state, "a").head, "😀 bad weather".length);
});

test("suggestions are accepted, edited and rejected, one after the other, and must be decided", () => {
  const span = { side: "output", severity: "Minor", category: "Spelling" };
  const suggestions = [{ ...span, id: "s1", start: 2, end: 5, quote: "bad" }, { ...span, id: "s2", start: 6, end: 13, quote: "weather" }, { ...span, id: "s3", side: "source", start: 0, end: 1, quote: "😀", category: "Omission" }];
  const self = editor({ outputs: [{ ...DATA.outputs[0], suggestions }, DATA.outputs[1]] });
  const key = (name) => self.do_(commandOf(self.state, { code: "", key: name, shiftKey: false }));
  const undone = () => key("u").state.mark;
  assert.deepEqual(marksOn(self.state, "a").map((m) => [m.id, m.n, m.from, m.to, m.suggested]), [["s1", 1, 3, 6, true], ["s2", 2, 7, 14, true]]);
  assert.deepEqual(labelsOn(self.state, "a").marks, []);
  self.do_({ do: "verdict", id: "b", value: "no_error" }).do_({ do: "submit" });
  assert.deepEqual(self.state.missing.map(({ mark: id, need }) => [id, need]), [["s1", "decision"], ["s2", "decision"], ["s3", "decision"], [undefined, "label"]]);
  key("a"); // nothing is chosen: the first one is
  assert.deepEqual([self.state.mark, self.state.target, self.recorded().length], ["s1", "a", 1]);
  key("a");
  assert.deepEqual([self.recorded().at(-1), self.state.mark], [["add", { mark: "new2", ...span, start: 2, end: 5, quote: "bad", note: "", suggestion: "s1" }], "s2"]);
  key("f");
  assert.deepEqual([self.recorded().at(-1), self.state.mark, self.state.focus], [["reject", { suggestion: "s2" }], "s3", "source"]);
  assert.equal(undone(), "s2");
  key("1"); // another severity: accepted as edited
  assert.deepEqual([self.recorded().at(-1)[1].severity, self.recorded().at(-1)[1].suggestion, listed(self.state).length], ["Major", "s2", 3]);
  self.do_({ do: "delete", mark: self.state.mark });
  assert.deepEqual(listed(self.state).map((m) => m.id), ["new2", "s3"], "what was accepted and then deleted is rejected");
  self.do_({ do: "pick", mark: "s3" }).do_({ do: "rebound" }).do_({ do: "move", id: "source", selection: { base: { start: 3, end: 6 }, head: 6 } }).do_({ do: "setBounds" });
  assert.deepEqual([self.recorded().at(-1)[0], self.recorded().at(-1)[1].quote, self.recorded().at(-1)[1].suggestion, self.state.rebound], ["add", "Das", "s3", null]);
  self.do_({ do: "change", mark: self.state.mark, change: { severity: "Major" } });
  assert.equal(labelsOn(self.state, "a").marks.at(-1).suggestion, "s3");
  assert.match(key("f").state.message.text, /^All suggestions are decided/);
  self.do_({ do: "submit" });
  assert.deepEqual([self.state.missing, self.state.labels.submitted], [[], true]);
  self.do_({ do: "undo" }).do_({ do: "undo" }).do_({ do: "verdict", id: "a", value: "no_error" });
  assert.match(self.state.message.text, /^1 error span of output 1 deleted .* 1 suggestion in output 1 is decided/);
  self.do_({ do: "verdict", id: "a", value: null });
  assert.deepEqual(listed(self.state).map((m) => m.id).sort(), ["s1", "s2", "s3"], "a verdict decides all suggestions, and its withdrawal opens them again");
});

test("of two versions of decisions on suggestions, the chosen one is recorded", () => {
  const span = { side: "output", severity: "Minor", category: "Spelling" };
  const suggestions = [{ ...span, id: "s1", start: 2, end: 5, quote: "bad" }, { ...span, id: "s2", start: 6, end: 13, quote: "weather" }];
  const self = editor({ outputs: [{ ...DATA.outputs[0], suggestions }] });
  self.do_({ do: "pick", mark: "s1" }).do_({ do: "reject" }).do_({ do: "accept" }); // the other tab accepted s1
  const entries = self.state.pending.map((action) => ({ ...PLACE, action }));
  const event = { id: "their", kind: "add", output: "a", payload: { mark: "theirs", ...span, start: 2, end: 5, quote: "bad", note: "", suggestion: "s1" } };
  const answer = { acknowledged: [], refused: Object.fromEntries(entries.map((e) => [e.action.id, "changed"])), stale: entries.map((e) => e.action.id), segments: [{ project: 1, doc: "news", segment: "1", events: [event], locked: [] }] };
  self.do_({ do: "answer", answer, saved: [], refused: entries, stale: entries, pending: [] });
  assert.deepEqual(self.state.clash.outputs, ["a"]);
  const [mine, saved] = [worded(self.state.clash.mine.outputs.get("a"), self.state.data), worded(labelsOn(self.state, "a"), self.state.data)];
  assert.deepEqual([mine, saved], [["Minor · Spelling · “weather”", "1 suggestion rejected"], ["Minor · Spelling · “bad”"]]);
  self.do_({ do: "merge", how: "mine" });
  assert.deepEqual(self.recorded().map(([kind, { mark: id, suggestion }]) => [kind, id ?? suggestion]), [["delete", "theirs"], ["add", "new2"]]);
  assert.deepEqual([labelsOn(self.state, "a").marks.map((m) => m.suggestion), listed(self.state).length], [["s2"], 1]);
});

test("an output without suggestions has no keys for them", () => {
  assert.equal(commandOf(editor().state, { code: "", key: "a", shiftKey: false }), null);
});
