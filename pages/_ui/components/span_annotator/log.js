// The labels as a view of the log of actions. Same fold as core/mqm/log.py, so that actions show before they are saved.
// An action is {id, kind, output, payload}; spans inside are in code points.

import { named, phrase, severityName } from "./texts.js";

const ON_OUTPUT = new Set(["add", "change", "delete", "reject", "verdict", "score"]);
const ON_SEGMENT = new Set(["prefer", "decline"]);
const isEdit = (kind) => ON_OUTPUT.has(kind) || ON_SEGMENT.has(kind);
export const NO_LABELS = Object.freeze({ marks: [], verdict: null, score: null, decided: [] });

function applied(labels, { kind, payload }) {
  const mark = (p) => ({ id: p.mark, side: p.side, start: p.start, end: p.end, quote: p.quote, severity: p.severity, category: p.category, note: p.note ?? "", ...(p.suggestion ? { suggestion: p.suggestion } : {}) });
  const decided = payload?.suggestion && !labels.decided.includes(payload.suggestion) ? [...labels.decided, payload.suggestion] : labels.decided;
  switch (kind) {
    case "add": return { ...labels, marks: [...labels.marks, mark(payload)], verdict: null, decided };
    case "change": return { ...labels, marks: labels.marks.map((m) => (m.id === payload.mark ? { ...mark(payload), ...(m.suggestion ? { suggestion: m.suggestion } : {}) } : m)) };
    case "delete": return { ...labels, marks: labels.marks.filter((m) => m.id !== payload.mark) };
    case "reject": return { ...labels, decided };
    case "verdict": return payload.value ? { ...labels, marks: [], verdict: payload.value, decided: [] } : { ...labels, verdict: null };
    case "score": return { ...labels, score: payload.value };
    default: return labels;
  }
}

export function fold(actions) {
  const done = [];
  const undone = [];
  const drafts = new Set(); // outputs that were changed after the last submission that names them
  let submitted = false;
  const changed = (action) => { drafts.add(action.output ?? ""); submitted = false; };
  for (const action of actions) {
    if (action.kind === "submit") { (action.payload?.outputs ?? [...drafts]).forEach((id) => drafts.delete(id)); submitted = true; }
    else if (action.kind === "reopen") { done.filter((a) => a.output != null).forEach(changed); submitted = false; }
    else if (action.kind === "undo" && done.length) { undone.push(done.pop()); changed(undone.at(-1)); }
    else if (action.kind === "redo" && undone.length) { done.push(undone.pop()); changed(done.at(-1)); }
    else if (isEdit(action.kind)) { done.push(action); undone.length = 0; changed(action); }
  }
  const outputs = new Map();
  for (const action of done.filter(({ kind }) => ON_OUTPUT.has(kind))) outputs.set(action.output, applied(outputs.get(action.output) ?? NO_LABELS, action));
  const whole = Object.fromEntries(done.filter(({ kind }) => ON_SEGMENT.has(kind)).map(({ kind, payload }) => [kind, payload]));
  const preference = whole.prefer && "winner" in whole.prefer ? [whole.prefer.winner] : []; // null: equally good
  const versions = new Map(done.map((action) => [action.output ?? "", action.id]));
  return { outputs, submitted, drafts, versions, preference, declined: whole.decline?.reason ?? "", canUndo: done.at(-1) ?? null, canRedo: undone.at(-1) ?? null };
}

/** The version of the labels that an action replaces or confirms, as `SegmentLabels.version` in core/mqm/log.py. */
export function versionFor(labels, kind, output) {
  if (isEdit(kind)) return labels.versions.get(output ?? "") ?? "";
  return (kind === "redo" ? labels.canRedo : labels.canUndo)?.id ?? "";
}

/** The suggestions of an output that were neither accepted nor edited nor rejected, as `SegmentLabels.undecided` in core/ports/labels.py. */
export function undecided({ id, suggestions = [] }, { outputs }) {
  const { verdict, decided } = outputs.get(id) ?? NO_LABELS;
  return verdict ? [] : suggestions.filter((s) => !decided.includes(s.id));
}

/** The names of the verdicts on an output without error spans. */
export const verdictNames = (whole) => ({ no_error: phrase("verdict.no_error"), non_translation: named(whole.name) });

export const samePlace = (a, b) =>
  a.side === b.side && a.start === b.start && a.end === b.end && a.severity === b.severity && a.category === b.category;

/** Whether the labels of an output have what the protocol asks for, as `SegmentLabels.answered` in core/mqm/log.py. */
export function answered({ marks, verdict, score }, asks) {
  if (asks.includes("score")) return score !== null;
  return !asks.includes("spans") || marks.length > 0 || verdict !== null;
}

/** The labels of a segment after these actions. A submission may be that of a file, or of other outputs than those that are shown: then it does not count. */
export function labelsOf({ outputs, asks }, actions) {
  const labels = fold(actions);
  const complete = outputs.every(({ id }) => !labels.drafts.has(id) && answered(labels.outputs.get(id) ?? NO_LABELS, asks));
  return { ...labels, submitted: labels.submitted && (Boolean(labels.declined) || complete) };
}

/** What is missing before the segment can be submitted, in reading order. */
export function missing({ outputs, asks, categories, ties, whole }, labels) {
  const items = [];
  const verdicts = Object.values(verdictNames(whole)).join(phrase("or"));
  if (labels.declined) return items;
  const short = (quote) => (quote.length > 24 ? `${quote.slice(0, 22)}…` : quote);
  outputs.forEach((output) => {
    const { id, label } = output;
    for (const s of undecided(output, labels)) items.push({ output: id, mark: s.id, need: "decision", text: phrase("missing.decision", { output: label, quote: short(s.quote) }) });
    const of = labels.outputs.get(id) ?? NO_LABELS;
    if (!answered(of, asks) && !asks.includes("score")) items.push({ output: id, need: "label", text: phrase("missing.label", { output: label, verdicts }) });
    for (const m of asks.includes("spans") ? of.marks : []) {
      const quote = short(m.quote);
      if (!m.category) items.push({ output: id, mark: m.id, need: "category", text: phrase("missing.category", { output: label, quote }) });
      else if (categories.find((c) => c.path === m.category)?.needs_note && !m.note.trim())
        items.push({ output: id, mark: m.id, need: "note", text: phrase("missing.note", { output: label, quote, category: named(m.category) }) });
    }
    if (!answered(of, asks) && asks.includes("score")) items.push({ output: id, need: "score", text: phrase("missing.score", { output: label }) });
  });
  if (asks.includes("preference") && !labels.preference.length) items.push({ output: outputs[0].id, need: "preference", text: phrase(ties ? "missing.preference.ties" : "missing.preference") });
  return items;
}

/** The labels of an output in words, one line each. */
export function worded({ marks, verdict, score, decided }, { asks, whole }) {
  const spans = marks.map((m) => phrase("labels.span", { severity: severityName(m.severity), category: m.category ? named(m.category) : phrase("labels.no_category"), quote: m.quote || phrase("labels.position") }) + (m.note ? ` · ${m.note}` : ""));
  if (verdict) return [verdictNames(whole)[verdict]];
  const rejected = decided.filter((id) => !marks.some((m) => m.suggestion === id)).length;
  if (rejected) spans.push(phrase("labels.rejected", { n: rejected }));
  if (!asks.includes("score")) return spans.length ? spans : [phrase("labels.none")];
  const value = score === null ? phrase("labels.no_score") : phrase("labels.score", { value: score });
  return [...(spans.length || !asks.includes("spans") ? spans : [phrase("labels.no_spans")]), value];
}
