// The editor on the screen: `createView` makes its parts, and `draw` shows a state in them. What a person does becomes a command.

import { el } from "../shared/elements.js";
import { BY_FINGER, createDialogs } from "./dialogs.js";
import { footParts } from "./foot.js";
import { outbox } from "./outbox.js";
import { rectOf } from "./places.js";
import { listen } from "./pointer.js";
import { chips, decisions, sideParts } from "./side.js";
import { anchorLabels, createSlider } from "./slider.js";
import {
  asks, digitsChoose, followedSentence, hasCategories, hasVerdicts, isAnswered, isLocked, labelsOn, levelsOf, markOf, marksOn, outputOf,
  preferenceText, reasonText, single, suggestionsOn, textOf, verdictsOf,
} from "./state.js";
import { endOf, isEmpty, startOf } from "./text.js";
import { phrase, severityName } from "./texts.js";

const FEW_OUTPUTS = 3; // with more, the anchors of the score are explained once, above them
const PRESS_MS = 30; // a click follows a press that ends
const LANE_PX = 4;

const judged = (props, text) => el("p", { dir: "auto", ...props, text });
const lineOf = (m) => (m.suggested ? "suggested" : m.severity.toLowerCase());
const numberOf = (m) => (m.suggested ? `${m.n}?` : m.n);
const joined = (names) => names.filter(Boolean).join(" ");

/** The view in `parent`. `run(command)` carries out commands, `getState()` is the state, and `getStatus()` that of sending. */
export function createView(parent, { run, getState, getStatus }) {
  const root = el("div", { class: "esa", "data-testid": "span-editor" });
  const pane = el("div", { class: "esa-pane" });
  const read = el("div", { class: "esa-read" });
  const side = el("aside", { class: "esa-side" });
  const foot = el("div", { class: "esa-foot" });
  const tool = el("div", { class: "esa-tool", role: "toolbar", hidden: true });
  const prefer = el("div", { class: "esa-prefer", role: "group", tabindex: "-1" });
  const decline = el("div", { class: "esa-decline" });
  const aloud = el("div", { class: "esa-aloud", "aria-live": "polite" });
  const grid = el("div", { class: "esa-grid" }, el("div", { class: "esa-main" }, pane, read), side);
  const dialogs = createDialogs({ run, close: () => focusHome() });
  root.append(grid, foot, tool, dialogs.picker, dialogs.help, dialogs.clash, dialogs.refusal, aloud);
  parent.append(root);

  let texts = new Map(); // id -> the text of the state with {el, nodes}
  let cards = new Map(); // output id -> {card, state, buttons, slider, name}
  let near = null; // the sentence of the source for the cursor in an output
  let followed = -1; // where the one begins that was brought into view last
  let spoken = null;
  let openPicker = null;
  let openClash = null;

  // ---- presses ------------------------------------------------------------------------------------------------------

  // A button that is replaced while it is pressed gets no click, so a part is not redrawn before the press in it has ended.
  let pressed = null;
  let late = false;
  root.addEventListener("pointerdown", (e) => {
    pressed = e.target;
    const ends = new AbortController();
    const released = () => {
      ends.abort();
      setTimeout(() => {
        pressed = null;
        if (late) run({ do: "redraw" });
        late = false;
      }, PRESS_MS);
    };
    for (const kind of ["pointerup", "pointercancel"]) addEventListener(kind, released, { signal: ends.signal });
  }, true);
  root.addEventListener("click", () => { pressed = null; }, true);

  // With the list of categories open, a press beside it closes the list and does nothing else.
  let closing = false;
  root.addEventListener("pointerdown", (e) => { closing = !dialogs.picker.hidden && !dialogs.picker.contains(e.target); }, true);
  root.addEventListener("click", (e) => {
    if (!closing) return;
    closing = false;
    e.preventDefault();
    e.stopImmediatePropagation();
    run({ do: "closePicker" });
  }, true);
  tool.addEventListener("mousedown", (e) => e.preventDefault());

  function isPressed(part) {
    const within = pressed !== null && part.contains(pressed);
    late ||= within;
    return within;
  }

  /** Replace the children of a part. If the keyboard focus was in it, it stays on the same button, else it goes to the text. */
  function fill(part, children) {
    if (isPressed(part)) return;
    const key = (b) => b.dataset.key ?? b.getAttribute("aria-label") ?? b.textContent;
    const had = part.contains(document.activeElement) ? key(document.activeElement) : null;
    part.replaceChildren(...children);
    if (had === null) return;
    const same = [...part.querySelectorAll("button:not(:disabled)")].find((b) => key(b) === had);
    (same ?? home()).focus({ preventScroll: true });
  }

  // ---- the keyboard focus -------------------------------------------------------------------------------------------

  /** The element that has the keyboard focus when nothing else has it: not a score, whose keys would scroll the page elsewhere. */
  function home() {
    const state = getState();
    return texts.get(state.focus ?? state.target)?.el ?? (asks(state, "preference") ? prefer : cards.get(state.target).card);
  }

  const focusHome = () => home().focus({ preventScroll: true });

  /** What Tab visits, in this order: texts that can be marked, and scores. */
  function stops() {
    return ["source", ...getState().data.outputs.map((o) => o.id)].flatMap((id) => [
      ...(texts.has(id) ? [{ id, el: texts.get(id).el, command: { do: "visit", id } }] : []),
      ...(cards.get(id)?.slider ? [{ id, el: cards.get(id).slider.track, slider: cards.get(id).slider, command: { do: "goToScore", id } }] : []),
    ]);
  }

  // ---- parts that stay for a segment --------------------------------------------------------------------------------

  function build(state) {
    const { data } = state;
    texts = new Map();
    cards = new Map();
    followed = -1;
    read.replaceChildren();
    pane.replaceChildren();
    const context = (list) => list.map((t) => judged({ class: "esa-dim esa-cut" }, t));
    if (data.source !== null) {
      const line = asks(state, "spans") ? markedText(state, "source", phrase("source")) : stillText(data.source);
      pane.append(
        el("section", { class: "esa-source" },
          el("div", { class: "esa-head" }, el("h4", { text: phrase("source") }), asks(state, "spans") ? el("div", { class: "esa-for" }) : null),
          el("div", { class: "esa-flow" }, ...context(data.before), line, ...context(data.after))));
    } else if (data.references.length) {
      pane.append(el("section", { class: "esa-source" }, el("div", { class: "esa-head" }, el("h4", { text: phrase("reference") })), el("div", { class: "esa-flow" }, ...data.references.map((t) => judged({ class: "esa-dim" }, t)))));
    }
    pane.hidden = !pane.childElementCount;
    const scrolls = asks(state, "spans") ? {} : { tabindex: "0", role: "region", "aria-label": phrase(data.source === null ? "reference" : "source") }; // without a text in it that has the focus
    for (const name of ["tabindex", "role", "aria-label"]) scrolls[name] ? pane.setAttribute(name, scrolls[name]) : pane.removeAttribute(name);
    if (asks(state, "score") && data.anchors.length && data.outputs.length > FEW_OUTPUTS) read.append(el("div", { class: "esa-legend" }, ...anchorLabels(data.anchors)));
    for (const output of data.outputs) read.append(buildCard(state, output));
    root.classList.toggle("esa-no-marks", !asks(state, "spans"));
    root.classList.toggle("esa-pairs", asks(state, "preference") && data.outputs.length === 2);
    root.classList.toggle("esa-choices-by-card", digitsChoose(state));
    side.hidden = !asks(state, "spans");
    prefer.replaceChildren();
    if (asks(state, "preference")) read.append(prefer);
    if (data.declines) read.append(decline);
    side.setAttribute("aria-label", phrase("aria.spans"));
    tool.setAttribute("aria-label", phrase("aria.mark"));
    prefer.setAttribute("aria-label", phrase("prefer"));
    dialogs.label();
  }

  function buildCard(state, o) {
    const { data } = state;
    const marks = asks(state, "spans");
    const label = el("span", { class: "esa-state" });
    const name = el("span", { class: "esa-name" });
    const buttons = Object.entries(hasVerdicts(state) ? verdictsOf(state) : {}).map(([value, verdict]) =>
      el("button", { type: "button", "data-verdict": value, text: verdict, "aria-label": phrase("verdict.of", { verdict, output: o.inside }), title: `${verdict} (${value === "no_error" ? "N" : "X"})`, onclick: () => { run({ do: "go", id: o.id }); run({ do: "verdict", id: o.id, value }); } }));
    const slider = asks(state, "score") ? createSlider({
      name: phrase("score.of", { output: o.inside }), anchors: data.anchors, short: data.outputs.length > FEW_OUTPUTS,
      change: (value) => run({ do: "score", id: o.id, value }),
      allowed: () => {
        if (isLocked(getState(), o.id)) run({ do: "barred", id: o.id });
        return !isLocked(getState(), o.id);
      },
      focused: () => run({ do: "focusScore", id: o.id }),
    }) : null;
    const around = (text) => (text ? judged({ class: "esa-dim esa-cut esa-around" }, text) : null);
    const card = el("section", { class: "esa-output", "data-output": o.id, tabindex: marks ? null : "-1", "aria-label": marks ? null : o.label },
      el("div", { class: "esa-head" }, digitsChoose(state) && cards.size < 9 ? el("kbd", { text: String(cards.size + 1), "aria-hidden": "true" }) : null, el("h4", { text: o.label }), name, label, el("span", { class: "esa-verdicts" }, ...buttons)),
      el("div", { class: "esa-flow" }, around(o.before), marks ? markedText(state, o.id, o.label) : stillText(o.text), around(o.after)),
      slider?.node ?? null);
    card.addEventListener("click", (e) => {
      if (!e.target.isConnected || e.target.closest("button, .esa-score")) return; // a tap has redrawn the text
      if (digitsChoose(getState()) && getSelection().isCollapsed) return run({ do: "prefer", winner: o.id }); // no text of it was selected
      if (digitsChoose(getState()) || e.target.closest(".esa-text")) return;
      if (!isEmpty(getState().selection)) run({ do: "clear" });
      if (getState().target !== o.id) run({ do: "go", id: o.id });
    });
    cards.set(o.id, { card, label, buttons, slider, name });
    return card;
  }

  /** A text that is read only. */
  function stillText(raw) {
    return raw ? el("div", { class: "esa-text esa-still", dir: "auto", text: raw }) : el("div", { class: "esa-text esa-still" }, el("span", { class: "esa-none", text: phrase("empty") }));
  }

  function markedText(state, id, label) {
    const node = el("div", { class: "esa-text", dir: "auto", tabindex: "0", role: "textbox", "aria-readonly": "true", "aria-multiline": "true", "aria-label": label });
    const text = { ...state.texts.get(id), el: node, nodes: [] };
    texts.set(id, text);
    listen(text, { getState, run, focused: () => node.focus({ preventScroll: true }) });
    node.addEventListener("focus", () => run({ do: "focus", id }));
    return node;
  }

  // ---- texts and cards ----------------------------------------------------------------------------------------------

  function drawText(state, id) {
    const text = texts.get(id);
    const marks = marksOn(state, id);
    const deepest = Math.max(0, ...marks.map((m) => m.lane));
    const cursor = state.focus === id ? state.selection : null;
    const lit = id === "source" ? near : null;
    const cuts = [...new Set([0, text.raw.length, ...marks.flatMap((m) => [m.from, m.to]), ...(cursor ? [startOf(cursor), endOf(cursor)] : []), ...(lit ? [lit.start, lit.end] : [])])].sort((a, b) => a - b);
    const line = [];
    text.nodes = [];
    cuts.forEach((from, i) => {
      for (const m of marks.filter((k) => k.from === k.to && k.from === from)) line.push(el("span", { class: `esa-p esa-place ${lineOf(m)}`, "data-n": numberOf(m) }));
      if (cursor && cursor.head === from) line.push(el("span", { class: "esa-caret" }));
      const to = cuts[i + 1];
      if (to === undefined) return;
      const over = marks.filter((m) => m.from <= from && m.to >= to && m.from < m.to);
      const starts = over.filter((m) => m.from === from);
      const chosen = cursor && startOf(cursor) <= from && endOf(cursor) >= to;
      const node = document.createTextNode(text.raw.slice(from, to));
      const piece = el("span", {
        class: joined(["esa-p", ...new Set(over.map(lineOf)), over.length && "marked", over.some((m) => m.id === state.mark) && "active", chosen && "chosen", lit && lit.start <= from && lit.end >= to && "esa-near"]),
        "data-marks": over.length ? over.map((m) => m.id).join(" ") : null,
        "data-n": starts.length ? starts.map(numberOf).join("·") : null,
      }, node);
      if (over.length) {
        piece.style.paddingBottom = `${1 + deepest * LANE_PX}px`;
        piece.style.backgroundImage = over.map((m) => `var(--line-${lineOf(m)})`).join(",");
        piece.style.backgroundPosition = over.map((m) => `0 calc(100% - ${(deepest - m.lane) * LANE_PX}px)`).join(",");
      }
      text.nodes.push({ from, to, node });
      line.push(piece);
    });
    text.el.replaceChildren(...line);
    text.el.classList.toggle("esa-here", state.focus === id);
    if (!text.raw) text.el.append(el("span", { class: "esa-none", text: phrase("empty") }));
  }

  /** Light up the sentence of the source for the cursor, and bring it into view if the source scrolls. */
  function followSource(state) {
    const { sentence, at } = followedSentence(state);
    near = sentence;
    drawText(state, "source");
    if (!near || !at || near.start === followed) return; // a new segment is read from its start
    followed = near.start;
    const lit = texts.get("source").el.querySelector(".esa-near")?.getBoundingClientRect();
    const box = pane.getBoundingClientRect();
    if (lit && (lit.top < box.top || lit.bottom > box.bottom)) pane.scrollTop += lit.top - box.top - pane.clientHeight / 3;
  }

  function drawCards(state) {
    const { data, labels } = state;
    for (const o of data.outputs) {
      const { card, label, buttons, slider, name } = cards.get(o.id);
      const { marks, verdict, score } = labelsOn(state, o.id);
      name.textContent = o.name ?? "";
      const better = labels.preference[0] === o.id;
      label.textContent = better ? `✓ ${phrase("prefer.better")}` : !asks(state, "spans") || verdict ? "" : marks.length ? phrase("spans", { n: marks.length }) : phrase(hasVerdicts(state) ? "spans.unlabelled" : "spans.none");
      const open = suggestionsOn(state, o.id).length;
      if (open) label.textContent = [marks.length ? label.textContent : "", phrase("suggestions", { n: open })].filter(Boolean).join(" · ");
      slider?.show(score, isLocked(state, o.id));
      buttons.forEach((b) => { b.setAttribute("aria-pressed", String(b.dataset.verdict === verdict)); b.disabled = isLocked(state, o.id); });
      card.classList.toggle("esa-better", better);
      card.classList.toggle("esa-target", o.id === state.target && (asks(state, "spans") || asks(state, "score")));
      card.classList.toggle("esa-wanted", state.missing.some((m) => m.output === o.id));
      card.classList.toggle("esa-done", asks(state, "preference") ? labels.preference.length > 0 : isAnswered(state, o.id));
    }
    const omissions = pane.querySelector(".esa-for");
    if (omissions) fill(omissions, single(state) ? [el("span", { text: phrase("omission.single") })] : [el("span", { text: phrase("omission.for") }), chips(state, phrase("omission.in"), run)]);
    if (asks(state, "preference")) drawPreference(state);
    if (data.declines) drawDecline(state);
    root.classList.toggle("esa-wide", state.around);
  }

  function drawPreference(state) {
    const { data, labels } = state;
    const option = (winner, key) => el("button", { type: "button", "data-key": String(winner), "aria-pressed": String(labels.preference.length > 0 && labels.preference[0] === winner), disabled: data.locked.length > 0, onclick: () => run({ do: "prefer", winner }) },
      ...(key ? [el("kbd", { text: key }), " "] : []), preferenceText(state, winner));
    const outputs = data.outputs.map((o, i) => option(o.id, digitsChoose(state) && i < 9 ? String(i + 1) : ""));
    const tie = data.ties ? [option(null, digitsChoose(state) ? "0" : "")] : [];
    prefer.classList.toggle("esa-wanted", state.missing.some((m) => m.need === "preference"));
    const how = data.asks.length === 1 ? el("p", { class: "esa-quiet", text: phrase(BY_FINGER.matches ? "prefer.how.touch" : "prefer.how") }) : null;
    fill(prefer, [el("h4", { text: phrase("prefer") }), el("div", { class: "esa-options-row" }, ...outputs.slice(0, -1), ...tie, ...outputs.slice(-1)), how].filter(Boolean));
  }

  function drawDecline({ labels }) {
    root.classList.toggle("esa-declined", Boolean(labels.declined));
    fill(decline, labels.declined
      ? [el("span", { role: "status", dir: "auto", text: phrase("declined", { reason: reasonText(labels.declined) }) }), el("button", { type: "button", text: phrase("declined.withdraw"), onclick: () => run({ do: "decline", reason: "" }) })]
      : [el("button", { type: "button", class: "esa-plain", onclick: () => run({ do: "askReason" }) }, el("kbd", { text: "I" }), ` ${phrase("decline")}`)]);
  }

  // ---- beside and below ---------------------------------------------------------------------------------------------

  function drawSide(state) {
    if (side.hidden) return;
    if (side.contains(document.activeElement) && document.activeElement.tagName === "TEXTAREA") return;
    const scrolled = side.scrollTop;
    fill(side, sideParts(state, run));
    side.scrollTop = scrolled;
  }

  function drawFoot(state) {
    fill(foot, footParts(state, getStatus(), run));
    root.toggleAttribute("data-unsaved", outbox.ofRater(state.place).length > 0);
    clearFoot();
  }

  /** Keep the foot above the line of running jobs, and what is scrolled to above both. */
  function clearFoot() {
    const jobs = document.querySelector(".st-key-errorscope-foot")?.closest("[data-testid=stLayoutWrapper]")?.offsetHeight ?? 0;
    foot.style.bottom = `${jobs}px`;
    root.style.setProperty("--below", `${foot.offsetHeight + jobs}px`);
  }
  const clearing = setInterval(clearFoot, 1000); // jobs start and end without the editor

  // ---- what floats at a text ----------------------------------------------------------------------------------------

  function drawTool(state) {
    const { selection, focus, rebound } = state;
    const chosen = isEmpty(selection) && !rebound ? markOf(state, state.mark) : null;
    const m = BY_FINGER.matches || chosen?.suggested ? chosen : null; // the list of error spans may be out of sight
    const free = !state.dragging && !state.picker && !isLocked(state, state.target);
    const show = free && (m || (focus && !isEmpty(selection)));
    tool.hidden = !show;
    if (!show || isPressed(tool)) return;
    const button = (text, command) => el("button", { type: "button", text, onclick: () => run(command) });
    const choices = (command) => levelsOf(state).map((s, i) => el("button", { type: "button", class: s.toLowerCase(), title: state.data.severities[i].definition, "aria-pressed": m ? String(m.severity === s) : null, onclick: () => run(command(s)) }, el("kbd", { text: String(i + 1) }), ` ${severityName(s)}`));
    const parts = rebound ? [button(phrase("bounds.set"), { do: "setBounds" }), button(phrase("cancel"), { do: "clear" })]
      : m?.suggested ? [...decisions(m, run), ...choices((s) => ({ do: "change", mark: m.id, change: { severity: s } }))]
      : m ? [...choices((s) => ({ do: "change", mark: m.id, change: { severity: s } })), hasCategories(state) && button(phrase("tool.category"), { do: "category" }), button(phrase("tool.note"), { do: "editNote" }), button(phrase("tool.delete"), { do: "delete", mark: m.id })]
      : [...choices((level) => ({ do: "severity", level })), focus === "source" ? el("small", { text: phrase(single(state) ? "omission.tool.single" : "omission.tool", { output: outputOf(state, state.target).inside }) }) : state.half ? el("small", { text: phrase(BY_FINGER.matches ? "tool.half.touch" : "tool.half") }) : null];
    tool.replaceChildren(...parts.filter(Boolean));
    float(tool, m ? rectOfMark(state, m) : rectOf(texts.get(focus), startOf(selection), endOf(selection)), true);
  }

  function rectOfMark(state, m) {
    const text = texts.get(textOf(state, m).id);
    return rectOf(text, text.units(m.start), text.units(m.end));
  }

  function float(node, anchor, above) {
    node.style.left = "0px"; // its size depends on the room at its right
    const box = root.getBoundingClientRect();
    const [w, h] = [Math.ceil(node.getBoundingClientRect().width) + 1, node.offsetHeight];
    const room = window.innerHeight - parseFloat(root.style.getPropertyValue("--below") || 0);
    const over = above ? anchor.top > h + 60 : anchor.bottom + h + 8 > room && anchor.top > h + 60;
    node.style.left = `${Math.max(0, Math.min(anchor.left - box.left, box.width - w))}px`;
    node.style.top = `${(over ? anchor.top - h - 6 : anchor.bottom + 6) - box.top}px`;
  }

  function drawPicker(state) {
    const { picker } = state;
    if (picker === openPicker) return;
    openPicker = picker;
    if (!picker) {
      dialogs.picker.hidden = true;
      return;
    }
    const m = picker.span ? null : markOf(state, picker.mark);
    const row = picker.at === "row" ? side.querySelector(`li[data-mark="${CSS.escape(m.id)}"] .esa-category`) : null;
    const anchor = row ? row.getBoundingClientRect() : m ? rectOfMark(state, m) : rectOf(texts.get(state.focus), startOf(state.selection), endOf(state.selection));
    tool.hidden = true;
    dialogs.choose(state, (node) => float(node, anchor, false));
  }

  // ---- the whole ----------------------------------------------------------------------------------------------------

  function draw(state) {
    grid.inert = state.moving;
    if (state.spoken !== spoken) aloud.textContent = state.spoken.text;
    spoken = state.spoken;
    if (texts.has("source") && !state.pressing) followSource(state);
    for (const id of texts.keys()) drawText(state, id);
    drawCards(state);
    if (!state.pressing) { // nothing moves under a pointer that is down
      drawSide(state);
      drawFoot(state);
    }
    drawPicker(state);
    drawTool(state);
    if (state.clash !== openClash) dialogs.compare(state);
    openClash = state.clash;
  }

  return {
    root, build, draw, home, focusHome, stops, dialogs,
    /** Only what a drag changes. */
    drawSelection(state) {
      drawText(state, state.focus);
      drawTool(state);
    },
    /** Only what is at the foot. */
    drawFoot(state) {
      grid.inert = state.moving;
      drawFoot(state);
    },
    drawTool,
    text: (id) => texts.get(id),
    slider: (id) => cards.get(id).slider,
    focusText(id, scroll = true) {
      texts.get(id).el.focus({ preventScroll: true });
      if (scroll) texts.get(id).el.scrollIntoView({ block: "nearest" });
    },
    focusPreference: () => prefer.focus({ preventScroll: true }),
    focusScore(id) {
      const { slider } = cards.get(id);
      slider.track.focus({ preventScroll: true });
      slider.node.scrollIntoView({ block: "nearest" });
    },
    showCursor: () => texts.get(getState().focus)?.el.querySelector(".esa-caret")?.scrollIntoView({ block: "nearest" }),
    showCard: (id) => cards.get(id).card.scrollIntoView({ block: "nearest" }),
    /** Bring what is missing into view, and let it flash. */
    flash({ output, need }) {
      const card = need === "preference" ? prefer : cards.get(output).card;
      card.scrollIntoView({ block: "center", behavior: "smooth" });
      card.classList.remove("esa-flash");
      requestAnimationFrame(() => card.classList.add("esa-flash"));
    },
    /** Put the cursor into the note of the selected mark. */
    editNote(state) {
      drawSide(state);
      const note = side.querySelector(`textarea[data-mark="${CSS.escape(state.mark)}"]`);
      note?.focus();
      note?.scrollIntoView({ block: "nearest" });
    },
    /** The note that is being written, or was not recorded yet: {mark, note}, or null. */
    openNote(state) {
      const changed = (t) => (markOf(state, t.dataset.mark)?.note ?? t.value) !== t.value;
      const field = side.querySelector("textarea:focus") ?? [...side.querySelectorAll("textarea")].find(changed);
      return field ? { mark: field.dataset.mark, note: field.value } : null;
    },
    /** Report the scores that were just chosen: what follows refers to them. */
    settleScores() {
      for (const { slider } of cards.values()) slider?.settle();
    },
    destroy() {
      clearInterval(clearing);
      root.remove();
    },
  };
}
