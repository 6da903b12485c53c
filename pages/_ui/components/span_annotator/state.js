// The state of the editor as a value, and what each command makes of it: `reduce(state, command)` returns the next state and changes
// nothing. Keys and the view send commands, {do, …}; the view draws the state. Offsets are UTF-16 units, as in text.js, but those of
// marks and of recorded actions are code points.

import { freshId } from "../shared/elements.js";
import { aligned, readSentences } from "./align.js";
import { answered, fold, labelsOf, missing, NO_LABELS, samePlace, undecided, verdictNames, versionFor } from "./log.js";
import { dragged, endOf, isEmpty, placed, readText, startOf } from "./text.js";
import { EDITOR_TEXTS, named, phrase, severityName } from "./texts.js";

export const DECLINE_REASONS = ["broken", "language", "subject"]; // stored in English in every language of the page
const RECORDING = { id: freshId, time: () => new Date().toISOString() };

export const NO_STATE = Object.freeze({
  data: null, // what the page sent; outputs have `label` and `inside`, the events those that were saved since
  place: null, // {outbox, rater, project, doc, segment}
  texts: new Map(), // "source" or the id of an output -> readText(…), if it can be marked
  cursors: {}, // text -> where the cursor was last
  pending: [], // recorded actions of this segment that are not acknowledged
  labels: fold([]),
  saved: {}, // segment -> actions that the server has saved since the page was drawn
  left: {}, // segments that were left before all was saved -> their labels as shown then
  unsettled: {}, // of these, the ones of which something was refused as stale
  target: null, // the output that marks go to
  focus: null, // the text that has the cursor
  selection: null,
  half: false, // the first of two clicks is made
  mark: null, // id of the selected mark
  rebound: null, // id of the mark whose boundaries are being set
  missing: [], // what a refused submit is missing
  message: null, // {text, tone}
  spoken: { text: "" }, // for screen readers; a new object is a new announcement
  picker: null, // the open list of categories: {title, side, path, at} with `span`, a new mark, or `mark`, the id of one
  clash: null, // two versions to choose from: {mine, outputs: [id], whole}
  around: false, // the text before and after each output is shown
  drafting: false, // a note is being written
  pressing: false, // a pointer is down in a text
  dragging: false,
  onward: false, // this segment was just submitted, and the next one opens once everything is saved
  moving: false, // another segment is being opened
});

// ---- what the state says ----------------------------------------------------------------------------------------------

export const keyOf = ({ rater, project, doc, segment }) => JSON.stringify([rater, project, doc, segment]);
export const asks = ({ data }, what) => data.asks.includes(what);
export const single = ({ data }) => data.outputs.length === 1;
export const hasVerdicts = (state) => asks(state, "spans") && !asks(state, "score"); // with a score, an output without spans is free of errors
export const verdictsOf = ({ data }) => verdictNames(data.whole);
export const digitsChoose = (state) => asks(state, "preference") && !asks(state, "spans");
export const categoriesOf = ({ data }, side) => data.categories.filter((c) => c.where === "either" || c.where === side);
export const hasCategories = (state) => ["output", "source"].some((side) => categoriesOf(state, side).length > 1);
export const hasContext = ({ data }) => data.outputs.some((o) => o.before || o.after);
export const levelsOf = ({ data }) => data.severities.map((s) => s.name);
export const labelsOn = ({ labels }, id) => labels.outputs.get(id) ?? NO_LABELS;
export const outputOf = ({ data }, id) => data.outputs.find((o) => o.id === id);
export const isLocked = ({ data }, id) => data.locked.includes(id);
export const textOf = (state, mark) => state.texts.get(mark.side === "source" ? "source" : state.target);
export const suggestionsOn = (state, id) => undecided(outputOf(state, id), state.labels).map((s) => ({ ...s, note: "", suggested: true }));
/** The marks of an output, and what is suggested and not decided yet, which looks like a mark to most commands. */
const shownOn = (state, id) => [...labelsOn(state, id).marks, ...suggestionsOn(state, id)];
export const markOf = (state, id) => shownOn(state, state.target).find((m) => m.id === id) ?? null;
export const hasSuggestions = ({ data }) => data.outputs.some((o) => o.suggestions?.length);
export const isAnswered = (state, id) => answered(labelsOn(state, id), state.data.asks) && !suggestionsOn(state, id).length;

const inOrder = (marks) => [...marks].sort((a, b) => (a.side === b.side ? a.start - b.start || b.end - a.end : a.side === "output" ? -1 : 1));

/** The marks and suggestions of the target, in the order of the list. */
export const listed = (state) => inOrder(shownOn(state, state.target));

/** The marks on a text with their number in the list, units in place of code points, and a lane each for those that overlap. */
export function marksOn(state, id) {
  const text = state.texts.get(id);
  const ends = [];
  return inOrder(shownOn(state, id === "source" ? state.target : id))
    .map((m, i) => ({ ...m, n: i + 1, from: text.units(m.start), to: text.units(m.end) }))
    .filter((m) => (m.side === "source") === (id === "source"))
    .map((m) => {
      const free = ends.findIndex((end) => end <= m.from);
      const lane = free < 0 ? ends.length : free;
      ends[lane] = m.to;
      return { ...m, lane };
    });
}

/** Where the cursor of a text is, or begins to move from. */
export function cursorOf(state, id) {
  const m = state.mark && markOf(state, state.mark);
  return state.selection ?? placed(m && textOf(state, m).id === id ? state.texts.get(id).units(m.end) : state.cursors[id] ?? 0);
}

/** The sentence of the source for the cursor in an output, and the place of the cursor: {sentence, at}. */
export function followedSentence(state) {
  const [source, text] = [state.texts.get("source"), state.texts.get(state.focus)];
  const m = markOf(state, state.mark);
  const at = state.selection ? state.selection.head : m && m.side === "output" ? state.texts.get(state.target).units(m.end) : text && (state.cursors[text.id] ?? 0);
  return { sentence: source && text && text !== source ? aligned(source.sentences, text.sentences, at) : null, at };
}

/** Whether keys of this kind do something in this protocol (`KEYS`). */
export function applies(state, when) {
  const { data } = state;
  switch (when) {
    case "verdicts": return hasVerdicts(state);
    case "suggestions": return hasSuggestions(state);
    case "categories": return asks(state, "spans") && hasCategories(state);
    case "omissions": return asks(state, "spans") && data.source !== null && data.outputs.length > 1;
    case "preference": return digitsChoose(state);
    case "ties": return digitsChoose(state) && data.ties;
    case "declines": return data.declines;
    case "context": return hasContext(state);
    default: return asks(state, when);
  }
}

/** Whether the last thing that the annotator did is the submission that led to this segment. */
export const justSubmitted = ({ data, labels }) => Boolean(data.submitted_before) && (labels.canUndo?.id ?? "") === data.submitted_before.version;

/** Whether a submission of this segment was withdrawn, if it is not submitted now. */
export const isWithdrawn = ({ data, pending }) => [...data.events, ...pending].some((a) => a.kind === "submit");

/** A reason for declining in the language of the page. */
export function reasonText(reason) {
  const known = DECLINE_REASONS.find((name) => EDITOR_TEXTS[`decline.${name}`] === reason);
  return known ? phrase(`decline.${known}`) : reason;
}

export const preferenceText = (state, winner) => (winner === null ? phrase("prefer.tie") : phrase("prefer.output", { output: outputOf(state, winner)?.label ?? "" }));

/** What was answered about the segment as a whole, in words, one line each. */
export function wordedWhole(state, { preference, declined }) {
  const lines = preference.map((winner) => preferenceText(state, winner));
  if (declined) lines.push(phrase("labels.declined", { reason: reasonText(declined) }));
  return lines.length ? lines : [phrase("labels.no_preference")];
}

// ---- recording --------------------------------------------------------------------------------------------------------

const say = (state, text, tone = "") => ({ ...state, message: { text, tone } });
const NOTHING_CHOSEN = { selection: null, half: false, mark: null, rebound: null };

function relabelled(state) {
  const known = new Set(state.data.events.map((e) => e.id));
  const next = { ...state, labels: labelsOf(state.data, [...state.data.events, ...state.pending.filter((a) => !known.has(a.id))]) };
  if (next.mark && !markOf(next, next.mark)) next.mark = null;
  if (next.rebound && !markOf(next, next.rebound)) next.rebound = null;
  return next;
}

function record(state, { id, time }, kind, output, payload) {
  const action = { id: id(), kind, output, payload: { ...payload, seen: versionFor(state.labels, kind, output) }, time: time() };
  return relabelled({ ...state, pending: [...state.pending, action], missing: [], message: null });
}

/** The state with a message if the labels of an output can no longer change, because the system names were shown; else null. */
const barred = (state, id) => (isLocked(state, id) ? say(state, phrase("locked"), "alert") : null);
const barredWhole = (state) => (state.data.locked.length ? say(state, phrase("locked"), "alert") : null);

function duplicate(state, span, except) {
  return labelsOn(state, state.target).marks.some((m) => m.id !== except && samePlace(m, span)) ? say(state, phrase("duplicate"), "alert") : null;
}

function spanOf(text, selection) {
  const [start, end] = [startOf(selection), endOf(selection)];
  return { start: text.points(start), end: text.points(end), quote: text.raw.slice(start, end) };
}

/** Mark the selection, after the category is chosen if there is a choice. */
function addMark(state, severity, recording) {
  const text = state.texts.get(state.focus);
  const side = state.focus === "source" ? "source" : "output";
  const categories = categoriesOf(state, side);
  const only = side === "source" && state.data.categories.find((c) => c.path === state.data.omission) || (categories.length === 1 ? categories[0] : null);
  const span = { side, ...spanOf(text, state.selection), severity, category: only?.path ?? "", note: "" };
  if (span.category) return placeMark(state, span, recording);
  const title = phrase("mark.title", { severity: severityName(severity), quote: span.quote });
  return { ...state, picker: { title, side, path: "", span } };
}

function placeMark(state, span, recording) {
  const double = duplicate(state, span);
  if (double) return double;
  const gone = verdictsOf(state)[labelsOn(state, state.target).verdict];
  const id = recording.id();
  const next = record(state, recording, "add", state.target, { mark: id, ...span });
  const text = textOf(next, span);
  const placedMark = {
    ...next, ...NOTHING_CHOSEN, rebound: next.rebound, mark: id, cursors: { ...next.cursors, [text.id]: text.units(span.end) },
    spoken: { text: `${severityName(span.severity)}, ${named(span.category)}: ${span.quote}` },
  };
  return gone ? say(placedMark, phrase("verdict.withdrawn", { verdict: gone })) : placedMark;
}

function changeMark(state, id, change, recording) {
  const stop = barred(state, state.target);
  if (stop) return stop;
  const m = markOf(state, id);
  if (m?.suggested) return acceptSuggestion(state, m, change, recording);
  if (!m || Object.entries(change).every(([name, value]) => m[name] === value)) return state;
  const { id: mark, suggestion, ...span } = { ...m, ...change };
  return duplicate(state, span, id) ?? record(state, recording, "change", state.target, { mark, ...span });
}

/** Make a mark of a suggestion, with a `change` as an edited one. */
function acceptSuggestion(state, { id: suggestion, suggested, ...span }, change, recording) {
  const mark = recording.id();
  const made = { ...span, ...change };
  const double = duplicate(state, made);
  if (double) return double;
  const next = record(state, recording, "add", state.target, { mark, ...made, suggestion });
  return { ...next, ...NOTHING_CHOSEN, mark, spoken: { text: phrase("suggestion.accepted", { quote: made.quote }) } };
}

/** Choose the next suggestion that is not decided, of the target or else of the first output that has one. */
function nextSuggestion(state) {
  const ids = [state.target, ...state.data.outputs.map((o) => o.id)];
  const target = ids.find((id) => suggestionsOn(state, id).length);
  if (!target) return { ...state, mark: null };
  const s = inOrder(suggestionsOn(state, target))[0];
  return { ...state, ...NOTHING_CHOSEN, target, focus: s.side === "source" ? "source" : target, mark: s.id };
}

/** Accept or reject the chosen suggestion (`act`), and choose the next one; without a chosen one, only that. */
function decided(state, mark, act) {
  const s = markOf(state, mark);
  if (!s?.suggested) return hasSuggestions(state) ? say(nextSuggestion(state), phrase(suggestionsLeft(state) ? "suggestion.how" : "suggestion.none")) : state;
  const done = barred(state, state.target) ?? act(s);
  if (suggestionsOn(done, state.target).some(({ id }) => id === s.id)) return done;
  const next = suggestionsOn(done, state.target).length ? nextSuggestion(done) : say({ ...done, mark: null }, phrase("suggestion.none.of", { output: outputOf(state, state.target).inside }));
  return { ...next, spoken: done.spoken };
}

const suggestionsLeft = (state) => state.data.outputs.some((o) => suggestionsOn(state, o.id).length);

/** Change the labels of an output to those of another version, in actions that can be undone. */
function restore(state, id, { marks, verdict, score, decided: theirs }, recording) {
  const fields = ({ id: mark, ...span }) => ({ mark, ...span });
  const rejections = (list, kept) => list.filter((s) => !kept.some((m) => m.suggestion === s));
  const now = labelsOn(state, id);
  let next = state;
  const act = (kind, payload) => { next = record(next, recording, kind, id, payload); };
  for (const m of now.marks) if (!verdict && !marks.some((k) => k.id === m.id)) act("delete", { mark: m.id });
  if (!verdict && now.verdict && !marks.length) act("verdict", { value: null });
  for (const m of marks) {
    const same = now.marks.find((k) => k.id === m.id);
    if (!same) act("add", fields(m));
    else if (JSON.stringify(same) !== JSON.stringify(m)) act("change", fields(m));
  }
  for (const suggestion of verdict ? [] : rejections(theirs, marks)) if (!labelsOn(next, id).decided.includes(suggestion)) act("reject", { suggestion });
  if (verdict && verdict !== now.verdict) act("verdict", { value: verdict });
  if (score !== now.score) act("score", { value: score });
  return next;
}

function restoreWhole(state, { preference, declined }, recording) {
  let next = state;
  if (JSON.stringify(preference) !== JSON.stringify(state.labels.preference)) next = record(next, recording, "prefer", null, preference.length ? { winner: preference[0] } : {});
  if (declined !== state.labels.declined) next = record(next, recording, "decline", null, { reason: declined });
  return next;
}

// ---- what the server knows --------------------------------------------------------------------------------------------

/** The data with the actions that were saved since the page was drawn. */
function withSaved(data, actions = []) {
  const known = new Set(data.events.map((e) => e.id));
  return { ...data, events: [...data.events, ...actions.filter((a) => !known.has(a.id))] };
}

/** Compare two versions of the labels, which both have been shown: `mine`, and what is saved. */
function compared(state, mine) {
  const shown = (labels, id) => JSON.stringify(labels.outputs.get(id) ?? NO_LABELS);
  const outputs = state.data.outputs.map((o) => o.id).filter((id) => shown(mine, id) !== shown(state.labels, id));
  const whole = ({ preference, declined }) => JSON.stringify([preference, declined]);
  const differsWhole = whole(mine) !== whole(state.labels);
  return outputs.length || differsWhole ? { ...state, clash: { mine, outputs, whole: differsWhole } } : say(state, phrase("stale.same"), "alert");
}

/** Whether "Keep both" can be offered: each output that differs has marks in both versions. */
export function mergeable(state) {
  const { mine, outputs, whole } = state.clash;
  return !whole && outputs.every((id) => mine.outputs.get(id)?.marks.length && labelsOn(state, id).marks.length);
}

const MERGES = {
  mine: (mine) => mine,
  both: (mine, saved) => ({ marks: [...saved.marks, ...mine.marks.filter((m) => !saved.marks.some((k) => k.id === m.id || samePlace(k, m)))], verdict: null, score: mine.score ?? saved.score, decided: [...saved.decided, ...mine.decided] }),
};

/** Two versions after actions were refused because the labels changed in another tab: nothing is lost. */
function collided(state, stale, mine) {
  const other = stale.find((e) => keyOf(e) !== keyOf(state.place));
  if (!other) return compared(state, mine);
  const key = keyOf(other);
  const next = { ...state, unsettled: { ...state.unsettled, [key]: state.left[key] } };
  return say(next, phrase("stale.elsewhere", { place: `${other.doc} / ${other.segment}` }), "alert");
}

// ---- commands ---------------------------------------------------------------------------------------------------------

const COMMANDS = {
  /** Show what the page sent. `moved`: another segment; `rebuilt`: other texts or another protocol. */
  open(state, { data, place, moved, rebuilt, pending, waiting }) {
    const key = keyOf(place);
    const before = state.place && keyOf(state.place);
    const { [key]: mine, ...unsettled } = state.unsettled;
    const labelled = (o, i, { length }) => ({ ...o, label: phrase(length > 1 ? "output" : "output.single", { n: String(i + 1) }), inside: phrase(length > 1 ? "output.inside" : "output.single.inside", { n: String(i + 1) }) });
    const outputs = data.outputs.map(labelled);
    let next = { ...state, place, pending, unsettled, data: withSaved({ ...data, outputs }, state.saved[key]) };
    if (moved && before && waiting) next.left = { ...state.left, [before]: state.labels };
    if (moved) Object.assign(next, NOTHING_CHOSEN, { target: outputs[0].id, focus: null, missing: [], message: null, picker: null, onward: false, moving: false });
    if (rebuilt) {
      const marked = data.asks.includes("spans") ? [...(data.source === null ? [] : [["source", data.source]]), ...outputs.map((o) => [o.id, o.text])] : [];
      next.texts = new Map(marked.map(([id, raw]) => [id, { ...readText(raw), id, sentences: readSentences(raw) }]));
      next.cursors = {};
    }
    next = relabelled(next);
    return moved && mine ? compared(next, mine) : next;
  },
  /** Take over the server's answer: what it saved, refused, and refused as stale, of the entries that were sent. */
  answer(state, { answer, saved, refused, stale, pending }) {
    const mine = state.labels;
    const next = { ...state, pending, saved: { ...state.saved } };
    for (const e of saved) next.saved[keyOf(e)] = [...(next.saved[keyOf(e)] ?? []), e.action];
    const segment = answer.segments.find((s) => keyOf({ ...s, rater: state.place.rater }) === keyOf(state.place));
    next.data = withSaved(segment ? { ...state.data, events: segment.events, locked: segment.locked } : state.data, next.saved[keyOf(state.place)]);
    const wrong = refused.find((e) => !stale.includes(e));
    if (wrong) next.message = { text: phrase("refused", { why: answer.refused[wrong.action.id] }), tone: "alert" };
    return stale.length ? collided(relabelled(next), stale, mine) : relabelled(next);
  },
  /** What waits in the outbox, which other tabs change too. */
  outbox: (state, { pending }) => relabelled({ ...state, pending }),
  merge(state, { how }, recording) {
    if (!state.clash) return state;
    const { mine, outputs, whole } = state.clash;
    let next = { ...state, clash: null };
    if (!MERGES[how]) return next;
    for (const id of outputs) next = restore(next, id, MERGES[how](mine.outputs.get(id) ?? NO_LABELS, labelsOn(next, id)), recording);
    return whole ? restoreWhole(next, mine, recording) : next;
  },

  // places: texts, outputs, marks
  go: (state, { id }) => ({ ...state, target: id === "source" ? state.target : id, focus: asks(state, "spans") ? id : state.focus }),
  visit: (state, { id }) => COMMANDS.go({ ...state, mark: null }, { id }),
  /** A text has the keyboard focus. */
  focus(state, { id }) {
    const next = { ...state, focus: id, target: id === "source" ? state.target : id };
    if (state.focus !== id) Object.assign(next, { selection: null, half: false });
    if (!next.selection && !next.mark) next.selection = placed(state.cursors[id] ?? 0);
    return next;
  },
  /** The score of an output has the keyboard focus. */
  focusScore: (state, { id }) => ({ ...state, ...NOTHING_CHOSEN, focus: null, target: id }),
  target: (state, { id }) => ({ ...state, target: id, mark: null }),
  nextTarget: (state) => COMMANDS.target(state, { id: cycle(state.data.outputs.map((o) => o.id), state.target, 1) }),
  pick: (state, { mark }) => ({ ...state, mark, selection: null, half: false }),
  showMark: (state, { mark }) => ({ ...state, mark }),
  nextMark(state, { by }) {
    const id = cycle(listed(state).map((m) => m.id), state.mark, by);
    if (!id) return say(state, phrase("mark.none"));
    return { ...state, mark: id, selection: null, half: false, focus: textOf(state, markOf(state, id)).id };
  },
  move(state, { id, selection }) {
    const { raw } = state.texts.get(id);
    return {
      ...state, selection, half: false, mark: state.rebound ? state.mark : null, cursors: { ...state.cursors, [id]: selection.head },
      spoken: { text: isEmpty(selection) ? "" : raw.slice(startOf(selection), endOf(selection)) },
    };
  },
  /** `typing`: the text with the cursor has the keyboard focus too. */
  clear(state, { typing = false }) {
    const cursors = state.focus && state.selection && state.texts.has(state.focus) ? { ...state.cursors, [state.focus]: startOf(state.selection) } : state.cursors;
    return { ...state, ...NOTHING_CHOSEN, cursors, selection: typing ? placed(cursors[state.focus] ?? 0) : null, message: null, missing: [] };
  },

  // the pointer
  press(state, { id, at, pressing }) {
    const kept = state.focus === id && (state.selection || state.mark);
    return { ...state, pressing, selection: kept ? state.selection : placed(at) };
  },
  drag: (state, { id, from, to, byCharacter }) => ({ ...state, dragging: true, half: false, mark: state.rebound ? state.mark : null, selection: dragged(state.texts.get(id), from, to, byCharacter) }),
  click(state, { id, at, character, base, extend, old, wasHalf, byCharacter }) {
    const text = state.texts.get(id);
    if (old && (extend || wasHalf)) {
      const onto = byCharacter ? at : base.base.start >= old.base.end ? base.base.end : base.base.end <= old.base.start ? base.base.start : old.head;
      return { ...state, selection: dragged(text, old, onto, byCharacter), half: false };
    }
    const under = marksOn(state, id).filter((m) => m.from <= character && character < m.to && markOf(state, m.id));
    const smallest = under.sort((a, b) => a.end - a.start - (b.end - b.start))[0];
    if (smallest && !state.rebound && smallest.id !== state.mark) return COMMANDS.pick(state, { mark: smallest.id });
    return { ...state, mark: state.rebound, selection: base, half: true };
  },
  release(state, { id, cancelled }) {
    const next = { ...state, dragging: false, pressing: false };
    if (cancelled || isEmpty(state.selection)) return next;
    return { ...next, spoken: { text: state.texts.get(id).raw.slice(startOf(state.selection), endOf(state.selection)) } };
  },

  // marks
  severity(state, { level }, recording) {
    const stop = barred(state, state.target);
    if (stop) return stop;
    if (!isEmpty(state.selection)) return addMark(state, level, recording);
    return state.mark ? changeMark(state, state.mark, { severity: level }, recording) : say(state, phrase("select.first"));
  },
  change: (state, { mark, change }, recording) => changeMark(state, mark, change, recording),
  accept: (state, { mark = state.mark }, recording) => decided(state, mark, (s) => acceptSuggestion(state, s, {}, recording)),
  reject: (state, { mark = state.mark }, recording) =>
    decided(state, mark, (s) => ({ ...record(state, recording, "reject", state.target, { suggestion: s.id }), spoken: { text: phrase("suggestion.rejected", { quote: s.quote }) } })),
  delete(state, { mark }, recording) {
    const m = markOf(state, mark);
    if (m?.suggested) return COMMANDS.reject(state, { mark }, recording);
    const stop = m && barred(state, state.target);
    if (!m || stop) return stop ?? state;
    const text = textOf(state, m);
    const next = { ...state, cursors: { ...state.cursors, [text.id]: text.units(m.end) } };
    return say(record(next, recording, "delete", state.target, { mark }), phrase("mark.deleted"));
  },
  /** `at`: "row" if the list of categories opens at the mark in the list of marks, else at the mark in the text. */
  category(state, { at = "text" }) {
    const stop = barred(state, state.target);
    if (stop) return stop;
    const m = markOf(state, state.mark);
    if (!m) return say(state, phrase("mark.first"));
    const title = phrase("mark.title", { severity: severityName(m.severity), quote: m.quote });
    return { ...state, focus: textOf(state, m).id, picker: { title, side: m.side, path: m.category, mark: m.id, at } };
  },
  closePicker: (state) => ({ ...state, picker: null }),
  /** A category was chosen in the list that `picker` describes. */
  categorise: (state, { picker, path }, recording) => (picker.span ? placeMark(state, { ...picker.span, category: path }, recording) : changeMark(state, picker.mark, { category: path }, recording)),
  draft: (state, { drafting }) => ({ ...state, drafting }),
  note(state, { mark, note }, recording) {
    const m = markOf(state, mark);
    const next = { ...state, drafting: false };
    if (!m || m.note === note) return next;
    const { id, suggestion, ...span } = { ...m, note };
    return record(next, recording, "change", state.target, { mark: id, ...span });
  },
  /** Begin to set the boundaries of the selected mark. */
  rebound(state, { touch = false }) {
    const stop = barred(state, state.target);
    if (stop) return stop;
    const m = markOf(state, state.mark);
    if (!m) return say(state, phrase("mark.first"));
    const text = textOf(state, m);
    const [start, end] = [text.units(m.start), text.units(m.end)];
    const next = { ...state, rebound: m.id, focus: text.id, selection: { base: { start, end: start }, head: end } };
    return say(next, phrase(touch ? "bounds.how.touch" : "bounds.how"));
  },
  setBounds(state, _, recording) {
    const text = state.texts.get(state.focus);
    const m = markOf(state, state.rebound); // none while another output is the target
    if (isEmpty(state.selection) || !m || text !== textOf(state, m)) return say(state, phrase("bounds.same"), "alert");
    const next = { ...state, ...NOTHING_CHOSEN, mark: state.rebound, message: null };
    return changeMark(next, state.rebound, spanOf(text, state.selection), recording);
  },

  // outputs and the segment
  verdict(state, { id, value }, recording) {
    const now = labelsOn(state, id);
    const n = now.marks.length;
    const open = suggestionsOn(state, id).length;
    const next = { ...state, target: id };
    const stop = barred(next, id);
    if (stop) return stop;
    const done = record({ ...next, ...NOTHING_CHOSEN }, recording, "verdict", id, { value: now.verdict === value ? null : value });
    const { inside } = outputOf(state, id);
    const said = [n && phrase("marks.deleted", { n, output: inside }), open && phrase("suggestions.decided", { n: open, output: inside })].filter(Boolean);
    return said.length ? say(done, said.join(" · ")) : done;
  },
  score: (state, { id, value }, recording) => barred(state, id) ?? record(state, recording, "score", id, { value }),
  /** Choose the better output, null if both are equally good. */
  prefer(state, { winner }, recording) {
    const stop = barredWhole(state);
    if (stop) return stop;
    let next = state;
    if (state.data.asks.length === 1 && next.labels.declined) next = record(next, recording, "decline", null, { reason: "" });
    if (!next.labels.preference.length || next.labels.preference[0] !== winner) next = record(next, recording, "prefer", null, { winner });
    return next;
  },
  decline: (state, { reason }, recording) => barredWhole(state) ?? record(state, recording, "decline", null, { reason }),
  /** Submit, or list what is missing. */
  submit(state, _, recording) {
    const items = missing(state.data, state.labels);
    if (items.length) return { ...state, missing: items, message: null };
    const next = record(state, recording, "submit", null, { outputs: state.data.outputs.map((o) => o.id) });
    return { ...next, onward: Boolean(state.data.goes_on) };
  },
  reopen: (state, _, recording) => record({ ...state, onward: false }, recording, "reopen", null, {}),
  undo: (state, _, recording) => stepped(state, "undo", recording),
  redo: (state, _, recording) => stepped(state, "redo", recording),

  // the screen
  barred: (state, { id }) => barred(state, id) ?? state,
  barredWhole: (state) => barredWhole(state) ?? state,
  decideFirst: (state) => say(state, phrase("suggestion.first")),
  markFirst: (state) => say(state, phrase("mark.first")),
  around: (state) => ({ ...state, around: !state.around }),
  hold: (state) => ({ ...state, moving: true }),
  free: (state) => ({ ...state, moving: false }),
  /** Decide whether the next segment opens after the submission: not if it is withdrawn or refused. */
  goOn: (state) => ({ ...state, onward: state.onward && state.labels.submitted && !state.clash }),
  stopGoingOn: (state) => ({ ...state, onward: false }),
};

function cycle(list, current, by) {
  const at = list.indexOf(current);
  return at < 0 ? list.at(by > 0 ? 0 : -1) : list[(at + by + list.length) % list.length];
}

function stepped(state, kind, recording) {
  const last = kind === "undo" ? state.labels.canUndo : state.labels.canRedo;
  if (!last) return say(state, phrase(`${kind}.none`));
  const next = { ...record(state, recording, kind, null, {}), selection: null, half: false, rebound: null };
  if (outputOf(state, last.output)) next.target = last.output;
  next.mark = [last.payload.mark, last.payload.suggestion].find((id) => markOf(next, id)) ?? null;
  const what = [phrase(`edit.${last.kind}`), single(state) ? null : outputOf(state, last.output)?.label].filter(Boolean).join(", ");
  return say(next, phrase(kind === "undo" ? "undone" : "redone", { what }));
}

/** The state after a command. `recording` makes the ids and times of recorded actions. */
export function reduce(state, command, recording = RECORDING) {
  return COMMANDS[command.do](state, command, recording);
}
