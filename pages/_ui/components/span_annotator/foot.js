// The foot of the editor. `status` is that of sending (`createSender`).

import { el } from "../shared/elements.js";
import { BY_FINGER } from "./dialogs.js";
import { outbox } from "./outbox.js";
import { asks, hasCategories, hasContext, hasSuggestions, hasVerdicts, isWithdrawn, justSubmitted, levelsOf, reasonText, verdictsOf } from "./state.js";
import { phrase, severityName } from "./texts.js";

const SHOWN_MISSING = 4;

/** How many changes wait because the server cannot be reached, or does not take them now. */
const unsent = ({ place }, status) => (status.why !== null || navigator.onLine === false ? outbox.ofRater(place).length : 0);

/** Whether everything is saved, as [tone, text]. */
function savedState(state, status) {
  const { why, denied, savedAt } = status;
  const n = outbox.ofRater(state.place).length;
  const values = { n, why: why ? ` ${why}.` : "" };
  if (n && denied && outbox.durable()) return ["late", phrase("state.kept", values)];
  if (unsent(state, status)) return ["late", phrase("state.late", values)];
  if (n) return ["busy", phrase("state.busy")];
  if (state.drafting) return ["busy", phrase("state.note")];
  const done = savedAt ? phrase("state.saved.at", { time: savedAt.toLocaleTimeString([], { hour12: false }) })
    : phrase(state.data.events.length ? "state.saved" : "state.none");
  return outbox.onOtherPages ? ["late", `${done} · ${phrase("state.elsewhere", { n: outbox.onOtherPages })}`] : ["done", done];
}

/** What is said of a submission: of this segment, or of the one before it. */
function submission(state, status) {
  if (!state.labels.submitted || state.moving) return phrase("submitted.now");
  if (unsent(state, status)) return phrase("submitted.waiting");
  if (outbox.ofRater(state.place).length) return phrase("submitted.now");
  return phrase(state.data.next ? BY_FINGER.matches ? "submitted.touch" : "submitted" : "submitted.all");
}

function note(state, status, run) {
  const { missing, message, data, labels } = state;
  const line = (tone, text, more = {}) => el("div", { class: `esa-said ${tone}`, role: "status", ...more, text });
  if (missing.length) {
    const buttons = missing.slice(0, SHOWN_MISSING).map((item) => el("button", { type: "button", class: "esa-plain", text: item.text, onclick: () => run({ do: "reach", item }) }));
    return el("div", { class: "esa-said alert", role: "alert" }, el("span", { text: phrase("missing", { n: missing.length }) }), ...buttons,
      missing.length > SHOWN_MISSING ? el("span", { text: phrase("missing.more", { n: missing.length - SHOWN_MISSING }) }) : null);
  }
  if (message) return line(message.tone, message.text);
  if (data.locked.length) return line("done", phrase("locked"));
  if (labels.submitted || justSubmitted(state)) {
    const undo = el("button", { type: "button", class: "esa-plain", "data-key": "take back", text: phrase(BY_FINGER.matches ? "undo" : "submitted.undo"), disabled: state.moving, onclick: () => run({ do: "undo" }) });
    return el("div", { class: `esa-said ${unsent(state, status) ? "" : "done"}`, role: "status" }, el("span", {}, `${submission(state, status)} · `, undo));
  }
  if (labels.declined) return line("", phrase("labels.declined", { reason: reasonText(labels.declined) }), { dir: "auto" });
  return isWithdrawn(state) ? line("alert", phrase("withdrawn")) : null;
}

function hints(state) {
  return [
    ...(hasSuggestions(state) ? [["A", phrase("suggestion.accept")], ["F", phrase("suggestion.reject")]] : []),
    ...(asks(state, "spans") ? levelsOf(state).map((s, i) => [String(i + 1), severityName(s)]) : []),
    ...(asks(state, "spans") && hasCategories(state) ? [["C", phrase("hint.category")]] : []),
    ...(hasVerdicts(state) ? [["N", phrase("hint.no_error")], ["X", verdictsOf(state).non_translation.replace(/^./u, (first) => first.toLowerCase())]] : []),
    ...(asks(state, "score") ? asks(state, "spans") ? [["S", phrase("hint.score")]] : [["0 … 9", phrase("hint.digits")]] : []),
  ];
}

/** The parts of the foot: what is to be said, the keys, undo and redo, whether everything is saved, and the button that submits. */
export function footParts(state, status, run) {
  const { data, labels, moving, around } = state;
  const [tone, text] = savedState(state, status);
  const steps = [["undo", "U", phrase("undo"), labels.canUndo || labels.submitted || justSubmitted(state)], ["redo", "R", phrase("redo"), labels.canRedo]];
  const submitText = phrase(labels.submitted ? (unsent(state, status) ? "submit.waiting" : moving || !data.next ? "submit.done" : "submit.next") : "submit");
  return [
    note(state, status, run),
    el("div", { class: "esa-bar" },
      el("div", { class: "esa-hints" }, ...hints(state).map(([k, what]) => el("span", {}, el("kbd", { text: k }), ` ${what}`)),
        el("button", { type: "button", class: "esa-plain", onclick: () => run({ do: "help" }) }, el("kbd", { text: "?" }), ` ${phrase("hint.help")}`),
        hasContext(state) ? el("button", { type: "button", class: "esa-plain", "aria-pressed": String(around), title: phrase("context.title"), onclick: () => run({ do: "around" }) }, el("kbd", { text: "D" }), ` ${phrase(around ? "context.hide" : "context")}`) : null),
      el("span", { class: "esa-steps" }, ...steps.map(([kind, k, what, possible]) =>
        el("button", { type: "button", "data-key": kind, disabled: !possible || data.locked.length > 0, title: `${what} (${k})`, onclick: () => run({ do: kind }) }, el("kbd", { text: k }), ` ${what}`))),
      el("span", { class: `esa-saved ${tone}`, role: "status", "data-testid": "saved-state", text }),
      el("button", { type: "button", class: "esa-submit", "data-key": "submit", "data-testid": "submit", text: submitText, disabled: labels.submitted && (moving || unsent(state, status) > 0 || !data.next), onclick: () => run({ do: "submit" }) })),
  ].filter(Boolean);
}
