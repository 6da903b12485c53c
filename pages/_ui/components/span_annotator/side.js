// The list of marks beside the texts.

import { el } from "../shared/elements.js";
import { BY_FINGER } from "./dialogs.js";
import { hasCategories, hasSuggestions, hasVerdicts, isLocked, labelsOn, levelsOf, listed, single, verdictsOf } from "./state.js";
import { named, phrase, severityName } from "./texts.js";

const NOTE_MS = 900; // after the last letter, a note is recorded

/** Buttons that choose the output that marks go to. */
export const chips = ({ data, target }, what, run) =>
  el("span", { class: "esa-chips", role: "group", "aria-label": phrase("chips.group", { what }) }, ...data.outputs.map((o) =>
    el("button", { type: "button", text: o.label, "aria-label": phrase("chips.of", { what, output: o.inside }), "aria-pressed": String(o.id === target), onclick: () => run({ do: "target", id: o.id }) })));

/** The parts of the list: the marks of the target, and the choice of the target. */
export function sideParts(state, run) {
  const { verdict } = labelsOn(state, state.target);
  const rows = listed(state).map((m, i) => markRow(state, m, i + 1, run));
  const keys = levelsOf(state).map((s, i) => `${i + 1} (${severityName(s)})`);
  const empty = verdict ? `${verdictsOf(state)[verdict]}.` : phrase(`side.empty${hasVerdicts(state) ? "" : ".score"}${BY_FINGER.matches ? ".touch" : ""}`, { keys: [keys.slice(0, -1).join(", "), ...keys.slice(-1)].filter(Boolean).join(phrase("or")) });
  return [
    el("div", { class: "esa-head" }, el("h4", { text: phrase("aria.spans") }), single(state) ? null : chips(state, phrase("spans.of"), run)),
    hasSuggestions(state) ? el("p", { class: "esa-quiet", text: phrase(`side.suggestions${BY_FINGER.matches ? ".touch" : ""}`) }) : null,
    rows.length ? el("ol", { class: "esa-marks" }, ...rows) : el("p", { class: "esa-quiet", text: empty }),
  ].filter(Boolean);
}

function noteField(state, m, n, run) {
  const note = el("textarea", { class: "esa-note", rows: "1", maxlength: "10000", dir: "auto", placeholder: phrase("note"), "aria-label": phrase("note.of", { n: String(n) }), "data-mark": m.id });
  note.value = m.note;
  let timer = 0;
  note.addEventListener("input", () => {
    note.style.height = "auto";
    note.style.height = `${note.scrollHeight + 2}px`;
    clearTimeout(timer);
    timer = setTimeout(() => run({ do: "commitNote" }), NOTE_MS);
    run({ do: "draft", drafting: note.value !== m.note });
  });
  note.addEventListener("blur", () => { clearTimeout(timer); run({ do: "commitNote" }); setTimeout(() => run({ do: "redraw" }), 0); });
  note.readOnly = isLocked(state, state.target);
  return note;
}

/** The buttons that accept or reject a suggestion. */
export const decisions = ({ id }, run) => [["accept", "A"], ["reject", "F"]].map(([name, key]) =>
  el("button", { type: "button", "data-key": `${name} ${id}`, onclick: () => run({ do: name, mark: id }) }, el("kbd", { text: key }), ` ${phrase(`suggestion.${name}`)}`));

function markRow(state, m, n, run) {
  const pick = () => run({ do: "pick", mark: m.id });
  const active = m.id === state.mark;
  const severity = (s) => el("button", { type: "button", class: s.toLowerCase(), text: severityName(s), "aria-pressed": String(m.severity === s), onclick: () => { pick(); run({ do: "change", mark: m.id, change: { severity: s } }); } });
  const category = { type: "button", class: `esa-category${m.category ? "" : " none"}`, text: m.category ? named(m.category).replace("/", " › ") : phrase("category.choose"), title: phrase("category.title"), onclick: () => { pick(); run({ do: "category", at: "row" }); } };
  return el("li", { class: `esa-mark ${m.severity.toLowerCase()}${active ? " active" : ""}${m.suggested ? " suggested" : ""}`, "data-mark": m.id },
    el("button", { type: "button", class: "esa-quote", onclick: pick, title: phrase("mark.pick") },
      el("span", { class: "esa-n", text: m.suggested ? `${n}?` : String(n) }), el("q", { dir: "auto", text: m.quote || phrase("mark.position") }), m.side === "source" ? el("small", { text: phrase("mark.source") }) : null),
    m.suggested ? null : el("button", { type: "button", class: "esa-x", title: phrase("mark.delete.title"), "aria-label": phrase("mark.delete", { n: String(n) }), text: "×", onclick: () => run({ do: "delete", mark: m.id }) }),
    el("div", { class: "esa-fields" },
      m.suggested ? el("span", { class: "esa-decision", role: "group", "aria-label": phrase("suggestion.of", { n: String(n) }) }, ...decisions(m, run)) : null,
      el("span", { class: "esa-seg", role: "group", "aria-label": phrase("aria.severity") }, ...[...new Set([...levelsOf(state), m.severity])].map(severity)),
      hasCategories(state) ? el("button", category) : null,
      active ? el("button", { type: "button", class: "esa-plain", text: phrase("bounds"), title: phrase("bounds.title"), onclick: () => run({ do: "rebound" }) }) : null),
    (active || m.note) && !m.suggested ? noteField(state, m, n, run) : null);
}
