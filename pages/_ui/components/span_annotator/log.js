// The labels as a view of the log of actions. Same fold as core/mqm/log.py, so that actions show before they are saved.
// An action is {id, kind, output, payload}; spans inside are in code points.

const EDITS = new Set(["add", "change", "delete", "verdict"]);
const NO_LABELS = Object.freeze({ marks: [], verdict: null });

function applied(labels, { kind, payload }) {
  const mark = (p) => ({ id: p.mark, side: p.side, start: p.start, end: p.end, quote: p.quote, severity: p.severity, category: p.category, note: p.note ?? "" });
  switch (kind) {
    case "add": return { marks: [...labels.marks, mark(payload)], verdict: null };
    case "change": return { ...labels, marks: labels.marks.map((m) => (m.id === payload.mark ? mark(payload) : m)) };
    case "delete": return { ...labels, marks: labels.marks.filter((m) => m.id !== payload.mark) };
    case "verdict": return payload.value ? { marks: [], verdict: payload.value } : { ...labels, verdict: null };
    default: return labels;
  }
}

function fold(actions) {
  const done = [];
  const undone = [];
  let submitted = false;
  for (const action of actions) {
    if (action.kind === "submit") submitted = true;
    else if (action.kind === "reopen") submitted = false;
    else if (action.kind === "undo" && done.length) { undone.push(done.pop()); submitted = false; }
    else if (action.kind === "redo" && undone.length) { done.push(undone.pop()); submitted = false; }
    else if (EDITS.has(action.kind)) { done.push(action); undone.length = 0; submitted = false; }
  }
  const outputs = new Map();
  for (const action of done) outputs.set(action.output, applied(outputs.get(action.output) ?? NO_LABELS, action));
  const versions = new Map(done.map((action) => [action.output, action.id]));
  return { outputs, submitted, versions, canUndo: done.at(-1) ?? null, canRedo: undone.at(-1) ?? null };
}

/** The version of the labels that an action replaces or confirms, as `SegmentLabels.version` in core/mqm/log.py. */
function versionFor(labels, kind, output) {
  if (EDITS.has(kind)) return labels.versions.get(output) ?? "";
  return (kind === "redo" ? labels.canRedo : labels.canUndo)?.id ?? "";
}

const samePlace = (a, b) =>
  a.side === b.side && a.start === b.start && a.end === b.end && a.severity === b.severity && a.category === b.category;

/** What is missing before the segment can be submitted, in reading order. */
function missing(outputs, labels, categories) {
  const found = [];
  outputs.forEach(({ id, label }) => {
    const { marks, verdict } = labels.outputs.get(id) ?? NO_LABELS;
    if (!marks.length && !verdict) found.push({ output: id, text: `${label}: mark an error, or choose ${Object.values(VERDICTS).join(" or ")}` });
    for (const m of marks) {
      const quote = m.quote.length > 24 ? `${m.quote.slice(0, 22)}…` : m.quote;
      if (!m.category) found.push({ output: id, mark: m.id, need: "category", text: `${label}, “${quote}”: choose a category` });
      else if (categories.find((c) => c.path === m.category)?.needs_note && !m.note.trim())
        found.push({ output: id, mark: m.id, need: "note", text: `${label}, “${quote}”: ${m.category} needs a note` });
    }
  });
  return found;
}

/** The labels of an output in words, one line each. */
function worded({ marks, verdict }) {
  if (verdict) return [VERDICTS[verdict]];
  if (!marks.length) return ["not labelled"];
  return marks.map((m) => `${m.severity} · ${m.category || "no category"} · “${m.quote || "position"}”${m.note ? ` · ${m.note}` : ""}`);
}
