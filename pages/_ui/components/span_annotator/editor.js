// The span editor. It holds the state, posts actions in batches, and gets back which ones are saved (api/actions.py).
import { el, freshId } from "../shared/elements.js";
import { aligned, readSentences } from "./align.js";
import { answered, fold, labelsOf, missing, NO_LABELS, samePlace, verdictNames, versionFor, worded } from "./log.js";
import { AT_ONCE, batched, deliver, outbox, strays } from "./outbox.js";
import { anchorLabels, createSlider } from "./slider.js";
import { dragged, endOf, isEmpty, moved, onToken, placed, readText, startOf } from "./text.js";
import { EDITOR_TEXTS, KEYS, named, phrase, severityName, useTexts } from "./texts.js";

export const FIRST_RETRY = 4000;
const LAST_RETRY = 30000;
const BY_FINGER = matchMedia("(pointer: coarse)"); // no keyboard, and no dragging: a finger that moves scrolls the page
const DECLINE_REASONS = ["broken", "language", "subject"]; // stored in English in every language of the page
const LONGEST_REASON = 500;
const SHOWN_MISSING = 4;
const LONGEST_HOLD = 3000; // milliseconds
const FEW_OUTPUTS = 3; // with more, the anchors of the score are explained once, above them

let lastFocus = {}; // {place, id} of the text that had the focus; outlives a remount of the component

const judged = (props, text) => el("p", { dir: "auto", ...props, text });

export function createEditor(parent) {
  const root = el("div", { class: "esa", "data-testid": "span-editor" });
  const pane = el("div", { class: "esa-pane" });
  const read = el("div", { class: "esa-read" });
  const side = el("aside", { class: "esa-side", });
  const foot = el("div", { class: "esa-foot" });
  const tool = el("div", { class: "esa-tool", role: "toolbar", hidden: true });
  const picker = el("div", { class: "esa-picker", role: "dialog", hidden: true });
  const help = el("dialog", { class: "esa-help" });
  const clash = el("dialog", { class: "esa-help" });
  const refusal = el("dialog", { class: "esa-help esa-refusal" });
  const prefer = el("div", { class: "esa-prefer", role: "group", tabindex: "-1" });
  const decline = el("div", { class: "esa-decline" });
  const aloud = el("div", { class: "esa-aloud", "aria-live": "polite" });
  const grid = el("div", { class: "esa-grid" }, el("div", { class: "esa-main" }, pane, read), side);
  root.append(grid, foot, tool, picker, help, clash, refusal, aloud);
  parent.append(root);

  let data = null;
  let go = () => {};
  let place = null; // {outbox, rater, project, doc, segment}
  let texts = new Map(); // "source" or an output's id -> readText(...) + {el, nodes}
  let cards = new Map(); // output id -> {card, state, buttons, slider}
  let labels = fold([]);
  let target = null; // the output that marks go to
  let focus = null; // the text that has the cursor
  let sel = null;
  let half = false; // the first of two clicks is made
  let mark = null; // id of the selected mark
  let rebound = null; // id of the mark whose boundaries are being set
  let wanted = []; // what a refused submit is missing
  let message = null;
  let around = false;
  let waiting = 0; // the timer of waitFor
  let onward = false; // this segment was just submitted, and the next one opens once everything is saved
  let moving = false; // another segment is being opened
  let moves = 0; // the timer of `hold`
  const left = new Map(); // segments that were left before all was saved -> their labels as shown then
  const unsettled = new Map(); // of these, the ones of which something was refused as stale
  let near = null; // the sentence of the source for the cursor in an output
  let followed = -1; // where the one begins that was brought into view last
  let drafting = false;
  const saved = new Map(); // segment -> actions that the server has saved since the page was drawn
  const flight = { running: null, ask: false, why: null, ended: false, wait: FIRST_RETRY, timer: 0, savedAt: null, heard: 0 };

  // ---- labels -------------------------------------------------------------------------------------------------------

  const keyOf = ({ rater, project, doc, segment }) => JSON.stringify([rater, project, doc, segment]);
  const asks = (what) => data.asks.includes(what);
  const single = () => data.outputs.length === 1;
  const verdicts = () => verdictNames(data.whole);
  const hasVerdicts = () => asks("spans") && !asks("score"); // with a score, an output without spans is free of errors
  const categoriesOf = (where) => data.categories.filter((c) => c.where === "either" || c.where === where);
  const hasCategories = () => ["output", "source"].some((where) => categoriesOf(where).length > 1);
  const levels = () => data.severities.map((s) => s.name);
  const of = (id) => labels.outputs.get(id) ?? NO_LABELS;
  const output = (id) => data.outputs.find((o) => o.id === id);
  const textOf = (m) => texts.get(m.side === "source" ? "source" : target);
  const inOrder = (marks) => [...marks].sort((a, b) => (a.side === b.side ? a.start - b.start || b.end - a.end : a.side === "output" ? -1 : 1));
  const listed = () => inOrder(of(target).marks);
  const find = (id) => of(target).marks.find((m) => m.id === id) ?? null;

  function refold() {
    const known = new Set(data.events.map((e) => e.id));
    labels = labelsOf(data, [...data.events, ...outbox.here(place).map((e) => e.action).filter((a) => !known.has(a.id))]);
    if (mark && !find(mark)) mark = null;
    if (rebound && !find(rebound)) rebound = null;
  }

  function act(kind, outputId, payload) {
    const seen = versionFor(labels, kind, outputId);
    outbox.put(place, { id: freshId(), kind, output: outputId, payload: { ...payload, seen }, time: new Date().toISOString() });
    wanted = [];
    message = null;
    refold();
    setTimeout(flush, 20);
  }

  /** Whether the labels of an output can no longer change, because the system names were shown; says so. */
  function barred(id) {
    if (data.locked.includes(id)) say(phrase("locked"), "alert");
    return data.locked.includes(id);
  }

  function duplicate(span, except) {
    const same = of(target).marks.some((m) => m.id !== except && samePlace(m, span));
    if (same) say(phrase("duplicate"), "alert");
    return same;
  }

  function addMark(severity) {
    const text = texts.get(focus);
    const [start, end] = [startOf(sel), endOf(sel)];
    const where = focus === "source" ? "source" : "output";
    const only = [...data.categories.filter((c) => c.path === data.omission && where === "source"), ...(categoriesOf(where).length === 1 ? categoriesOf(where) : [])];
    const span = { side: where, start: text.points(start), end: text.points(end), quote: text.raw.slice(start, end), severity, category: only[0]?.path ?? "", note: "" };
    if (span.category) placeMark(span);
    else openPicker({ title: phrase("mark.title", { severity: severityName(severity), quote: span.quote }), side: where, at: rectOf(text, start, end), choose: (c) => placeMark({ ...span, category: c.path }) });
  }

  function placeMark(span) {
    if (duplicate(span)) return draw();
    const gone = verdicts()[of(target).verdict];
    const id = freshId();
    act("add", target, { mark: id, ...span });
    const text = textOf(span);
    text.last = text.units(span.end);
    [sel, half, mark] = [null, false, id];
    aloud.textContent = `${severityName(span.severity)}, ${named(span.category)}: ${span.quote}`;
    if (gone) say(phrase("verdict.withdrawn", { verdict: gone }));
    draw();
  }

  function changeMark(id, change) {
    const m = find(id);
    if (barred(target)) return draw();
    if (!m || Object.entries(change).every(([k, v]) => m[k] === v)) return;
    const { id: _, ...span } = { ...m, ...change };
    if (duplicate(span, id)) return draw();
    act("change", target, { mark: id, ...span });
    draw();
  }

  function deleteMark(id) {
    const m = find(id);
    if (!m || barred(target)) return;
    textOf(m).last = textOf(m).units(m.end);
    act("delete", target, { mark: id });
    say(phrase("mark.deleted"));
    draw();
  }

  function severity(level) {
    if (!level || barred(target)) return;
    if (!isEmpty(sel)) addMark(level);
    else if (mark) changeMark(mark, { severity: level });
    else say(phrase("select.first"));
  }

  function verdict(id, value) {
    const now = of(id);
    const n = now.marks.length;
    target = id;
    if (barred(id)) return draw();
    [sel, mark, half, rebound] = [null, null, false, null];
    act("verdict", id, { value: now.verdict === value ? null : value });
    if (n) say(phrase("marks.deleted", { n, output: output(id).inside }));
    draw();
  }

  /** Report the scores that were just chosen: what follows refers to them. */
  function settleScores() {
    for (const { slider } of cards.values()) slider?.settle();
  }

  function setScore(id, value) {
    if (barred(id)) return draw();
    act("score", id, { value });
    draw();
  }

  /** Choose the better output, null if both are equally good. Where nothing else is asked, this submits. */
  function choose(winner) {
    if (moving) return;
    const once = data.asks.length === 1;
    if (data.locked.length) say(phrase("locked"), "alert");
    else {
      if (once && labels.declined) act("decline", null, { reason: "" });
      if (!labels.preference.length || labels.preference[0] !== winner) act("prefer", null, { winner });
      if (once) return submit();
    }
    prefer.focus({ preventScroll: true }); // so that Enter submits
    draw();
  }

  const reasonText = (reason) => {
    const known = DECLINE_REASONS.find((name) => EDITOR_TEXTS[`decline.${name}`] === reason);
    return known ? phrase(`decline.${known}`) : reason;
  };

  function setReason(reason) {
    if (data.locked.length) return say(phrase("locked"), "alert");
    act("decline", null, { reason });
    draw();
  }

  function askReason() {
    if (!data.declines || refusal.open) return;
    const text = el("textarea", { class: "esa-note", name: "text", rows: "2", maxlength: String(LONGEST_REASON), dir: "auto", "aria-label": phrase("decline.text"), placeholder: phrase("decline.text") });
    const option = (value) => el("label", {}, el("input", { type: "radio", name: "reason", value, required: true }), ` ${phrase(`decline.${value}`)}`);
    const form = el("form", { method: "dialog", onsubmit: (e) => {
      e.preventDefault();
      const { value } = form.elements.reason;
      refusal.close();
      setReason(value === "other" ? text.value.trim() : EDITOR_TEXTS[`decline.${value}`]);
    } },
    el("h4", { text: phrase("decline.why") }), ...[...DECLINE_REASONS, "other"].map(option), text,
    el("div", { class: "esa-choices" }, el("button", { type: "submit", text: phrase("decline.save") }), el("button", { type: "button", text: phrase("cancel"), onclick: () => refusal.close() })));
    const other = () => {
      text.hidden = form.elements.reason.value !== "other";
      text.required = !text.hidden;
      text.setCustomValidity(text.required && !text.value.trim() ? phrase("decline.text") : "");
      if (!text.hidden) text.focus();
    };
    form.addEventListener("change", (e) => { if (e.target !== text) other(); });
    text.addEventListener("input", () => text.setCustomValidity(text.value.trim() ? "" : phrase("decline.text")));
    text.addEventListener("keydown", (e) => { if (e.key === "Enter" && !e.shiftKey && !e.isComposing) { e.preventDefault(); form.requestSubmit(); } });
    text.hidden = true;
    refusal.replaceChildren(form);
    refusal.showModal();
  }
  refusal.addEventListener("close", () => home().focus({ preventScroll: true }));

  /** Whether the last thing that the annotator did is the submission that led to this segment. */
  const justSubmitted = () => Boolean(data.submitted_before) && (labels.canUndo?.id ?? "") === data.submitted_before.version;

  function withdraw() {
    onward = false;
    act("reopen", null, {});
    draw();
  }

  function step(kind) {
    if (moving) return;
    settleScores();
    if (data.locked.length) return say(phrase("locked"), "alert");
    if (kind === "undo" && labels.submitted) return withdraw();
    if (kind === "undo" && justSubmitted()) return travel({ ...data.submitted_before, withdraw: true });
    const last = kind === "undo" ? labels.canUndo : labels.canRedo;
    if (!last) return say(phrase(`${kind}.none`));
    act(kind, null, {});
    if (output(last.output)) target = last.output;
    [sel, half, rebound] = [null, false, null];
    mark = find(last.payload.mark) ? last.payload.mark : null;
    const what = [phrase(`edit.${last.kind}`), single() ? null : output(last.output)?.label].filter(Boolean).join(", ");
    say(phrase(kind === "undo" ? "undone" : "redone", { what }));
    draw();
  }

  function submit() {
    if (moving) return;
    commitNote();
    settleScores();
    if (labels.submitted) return travel("unlabelled");
    wanted = missing(data, labels);
    if (wanted.length) {
      message = null;
      reach(wanted[0]);
    } else {
      act("submit", null, { outputs: data.outputs.map((o) => o.id) });
      onward = Boolean(data.goes_on);
      if (onward) hold();
      flush();
    }
    draw();
  }

  function reach(item) {
    focusOn(item.output);
    if (item.need === "score") cards.get(item.output).slider.track.focus({ preventScroll: true });
    const card = item.need === "preference" ? prefer : cards.get(item.output).card;
    card.scrollIntoView({ block: "center", behavior: "smooth" });
    card.classList.remove("esa-flash");
    requestAnimationFrame(() => card.classList.add("esa-flash"));
    if (!item.mark) return;
    mark = item.mark;
    draw();
    if (item.need === "note") editNote();
    else editCategory();
  }

  /** The element that has the keyboard focus when nothing else has it. */
  function home() {
    return texts.get(focus ?? target)?.el ?? (asks("preference") ? prefer : cards.get(target).card); // not a score: its keys would scroll the page elsewhere
  }

  function focusOn(id) {
    if (id !== "source") target = id;
    if (asks("spans")) focus = id;
    home().focus({ preventScroll: true });
    draw();
  }

  function goToScore() {
    const { slider } = cards.get(target);
    commitNote();
    slider.track.focus({ preventScroll: true });
    slider.node.scrollIntoView({ block: "nearest" });
  }

  /** What Tab visits, in this order: texts that can be marked, and scores. */
  const stops = () => ["source", ...data.outputs.map((o) => o.id)].flatMap((id) => [
    ...(texts.has(id) ? [{ el: texts.get(id).el, visit: () => { mark = null; focusOn(id); showCursor(); } }] : []),
    ...(cards.get(id)?.slider ? [{ el: cards.get(id).slider.track, visit: () => { target = id; goToScore(); } }] : []),
  ]);

  /** Put the cursor where work goes on: `id`, or the first output without labels. A field elsewhere on the page keeps the focus. */
  function begin(id) {
    target = cards.has(id) ? id : (data.outputs.find((o) => !answered(of(o.id), data.asks)) ?? data.outputs[0]).id;
    const on = document.activeElement;
    if (on && !root.contains(on) && on.matches("input, textarea, select, [contenteditable=true]")) return waitFor(on);
    focusOn(target);
    if (root.getBoundingClientRect().top < 0) root.scrollIntoView({ block: "start" });
    if (target !== data.outputs[0].id) texts.has(target) ? showCursor() : cards.get(target).card.scrollIntoView({ block: "nearest" });
  }

  /** A form that was sent is removed only after the page is drawn: then the focus is nowhere, and belongs here. */
  function waitFor(field) {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      const on = document.activeElement;
      if (on === field) waitFor(field);
      else if (!on || on === document.body) focusOn(target);
    }, 200);
  }

  function showCursor() {
    texts.get(focus)?.el.querySelector(".esa-caret")?.scrollIntoView({ block: "nearest" });
  }

  // A button that is replaced while it is pressed gets no click, so a part is not redrawn before the press in it has ended.
  let pressed = null, late = false;
  root.addEventListener("pointerdown", (e) => {
    pressed = e.target;
    const ends = new AbortController();
    const released = () => {
      ends.abort();
      setTimeout(() => {
        pressed = null;
        if (late) draw();
        late = false;
      }, 30);
    };
    for (const kind of ["pointerup", "pointercancel"]) addEventListener(kind, released, { signal: ends.signal });
  }, true);
  root.addEventListener("click", () => { pressed = null; }, true);

  // With the list of categories open, a press beside it closes the list and does nothing else.
  let closing = false;
  root.addEventListener("pointerdown", (e) => { closing = !picker.hidden && !picker.contains(e.target); }, true);
  root.addEventListener("click", (e) => {
    if (!closing) return;
    closing = false;
    e.preventDefault();
    e.stopImmediatePropagation();
    closePicker();
  }, true);

  function isPressed(part) {
    const here = pressed !== null && part.contains(pressed);
    late ||= here;
    return here;
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

  /** Go to another segment, once everything is saved or cannot be saved now. Two versions are compared first. */
  function travel(to) {
    commitNote();
    settleScores();
    hold();
    flush().then(() => (clash.open ? release() : leave({ to })));
  }

  function leave(where) {
    hold();
    Promise.resolve(go(where)).finally(release);
  }

  /** Go on after a submission that is saved. If it cannot be saved now, this waits; if it is withdrawn or refused, the segment stays. */
  function goOn() {
    if (!onward) return;
    onward = labels.submitted && !clash.open;
    if (!onward || outbox.of(place).length) return release();
    onward = false;
    leave({ to: "unlabelled", submitted: true });
  }

  /** Let nothing be changed while another segment is being opened, at most for a while: it may be meant for that one. */
  function hold() {
    clearTimeout(moves);
    moves = setTimeout(release, LONGEST_HOLD);
    [moving, grid.inert] = [true, true];
  }

  function free() {
    clearTimeout(moves);
    [moving, grid.inert] = [false, false];
  }

  function release() {
    if (!moving) return;
    free();
    if (!document.activeElement || document.activeElement === document.body) home().focus({ preventScroll: true });
    drawFoot();
  }

  // ---- saving -------------------------------------------------------------------------------------------------------

  /** Send what is not saved yet; resolves when nothing is left, or the server did not take it. */
  function flush() {
    flight.running ??= sendAll().finally(() => { flight.running = null; goOn(); });
    return flight.running;
  }

  async function sendAll() {
    clearTimeout(flight.timer);
    for (;;) {
      const from = place;
      const entries = outbox.of(from).slice(0, AT_ONCE);
      if (!entries.length && !flight.ask) return drawFoot();
      flight.ask = false;
      drawFoot();
      const { rater, project, doc, segment } = from;
      const answer = await deliver(data.server, { rater, batches: entries.length ? batched(entries) : [{ project, doc, segment, actions: [] }] });
      if (!root.isConnected) return;
      if (!answer.reached) return retryLater(answer);
      heard(answer, entries, from);
      draw();
      const taken = new Set([...answer.acknowledged, ...Object.keys(answer.refused)]);
      if (entries.some((e) => !taken.has(e.action.id)) && outbox.of(from).length) return retryLater(answer);
    }
  }

  function retryLater({ why = "", ended = false }) {
    Object.assign(flight, { why, ended });
    flight.timer = setTimeout(flush, flight.wait);
    flight.wait = Math.min(flight.wait * 2, LAST_RETRY);
    drawFoot();
  }

  /** Take over the server's answer to `entries`, which were sent from a place. */
  function heard(answer, entries, from) {
    const mine = labels;
    const wasSubmitted = fold(data.events).submitted;
    const done = new Set(answer.acknowledged);
    for (const e of entries.filter((entry) => done.has(entry.action.id))) {
      const key = keyOf(e);
      saved.set(key, [...(saved.get(key) ?? []), e.action]);
    }
    outbox.drop(answer.acknowledged);
    const here = answer.segments.find((s) => keyOf({ ...s, rater: place.rater }) === keyOf(place));
    if (here) Object.assign(data, { events: here.events, locked: here.locked });
    addSaved();
    const refused = entries.filter((e) => answer.refused[e.action.id]);
    const stale = refused.filter((e) => answer.stale.includes(e.action.id));
    outbox.rebase(refused.filter((e) => !stale.includes(e)));
    outbox.drop([...refused, ...strays(outbox.of(from), answer.refused)].map((e) => e.action.id));
    Object.assign(flight, { why: null, ended: false, wait: FIRST_RETRY, heard: Date.now() });
    if (done.size) flight.savedAt = new Date();
    if (refused.length > stale.length) message = { text: phrase("refused", { why: answer.refused[refused.find((e) => !stale.includes(e)).action.id] }), tone: "alert" };
    if (stale.length) collided(stale, mine);
    refold();
    if (fold(data.events).submitted !== wasSubmitted && !onward) go({ to: "stay" });
  }

  /** Add what was saved to the events of the open segment: the page may have been drawn before. */
  function addSaved() {
    const known = new Set(data.events.map((e) => e.id));
    data.events = [...data.events, ...(saved.get(keyOf(place)) ?? []).filter((action) => !known.has(action.id))];
  }

  /** Actions were refused because the labels changed in another tab: show both versions, and nothing is lost. */
  function collided(stale, mine) {
    const elsewhere = stale.find((e) => keyOf(e) !== keyOf(place));
    if (elsewhere) {
      unsettled.set(keyOf(elsewhere), left.get(keyOf(elsewhere)));
      message = { text: phrase("stale.elsewhere", { place: `${elsewhere.doc} / ${elsewhere.segment}` }), tone: "alert" };
      return;
    }
    compare(mine);
  }

  function compare(mine) {
    refold();
    const shown = (all, id) => JSON.stringify(all.outputs.get(id) ?? NO_LABELS);
    const differ = data.outputs.filter(({ id }) => shown(mine, id) !== shown(labels, id));
    const whole = ({ preference, declined }) => JSON.stringify([preference, declined]);
    const differWhole = whole(mine) !== whole(labels);
    if (!differ.length && !differWhole) {
      message = { text: phrase("stale.same"), tone: "alert" };
      return;
    }
    const version = (title, lines) => el("section", {}, el("h4", { text: title }), ...lines.map((text) => el("p", { dir: "auto", text })));
    const versions = (title, id, lines) => el("div", { class: "esa-versions", "data-output": id }, el("h4", { text: title }), version(phrase("clash.saved"), lines(labels)), version(phrase("clash.yours"), lines(mine)));
    const take = (label, merge) => el("button", { type: "button", text: label, onclick: () => {
      clash.close();
      if (merge) for (const { id } of differ) restore(id, merge(mine.outputs.get(id) ?? NO_LABELS, of(id)));
      if (merge && differWhole) restoreWhole(mine);
      draw();
    } });
    const both = (a, b) => ({ marks: [...b.marks, ...a.marks.filter((m) => !b.marks.some((k) => k.id === m.id || samePlace(k, m)))], verdict: null, score: a.score ?? b.score });
    const mergeable = differ.every(({ id }) => mine.outputs.get(id)?.marks.length && of(id).marks.length);
    clash.replaceChildren(
      el("h4", { text: phrase("clash.title") }),
      el("p", { text: phrase("clash.intro") }),
      ...differ.map((o) => versions(o.label, o.id, (all) => worded(all.outputs.get(o.id) ?? NO_LABELS, data))),
      ...(differWhole ? [versions(phrase("clash.segment"), "", wordedWhole)] : []),
      el("div", { class: "esa-choices" }, take(phrase("clash.keep")), take(phrase("clash.mine"), (a) => a), mergeable && !differWhole ? take(phrase("clash.both"), both) : null));
    if (!clash.open) clash.showModal();
  }

  /** Change the labels of an output to `want`, in actions that can be undone. */
  function restore(id, { marks, verdict: wish, score }) {
    const now = of(id);
    const fields = ({ id: name, ...span }) => ({ mark: name, ...span });
    for (const m of now.marks) if (!wish && !marks.some((k) => k.id === m.id)) act("delete", id, { mark: m.id });
    if (!wish && now.verdict && !marks.length) act("verdict", id, { value: null });
    for (const m of marks) {
      const there = now.marks.find((k) => k.id === m.id);
      if (!there) act("add", id, fields(m));
      else if (JSON.stringify(there) !== JSON.stringify(m)) act("change", id, fields(m));
    }
    if (wish && wish !== now.verdict) act("verdict", id, { value: wish });
    if (score !== now.score) act("score", id, { value: score });
  }

  function restoreWhole({ preference, declined }) {
    if (JSON.stringify(preference) !== JSON.stringify(labels.preference)) act("prefer", null, preference.length ? { winner: preference[0] } : {});
    if (declined !== labels.declined) act("decline", null, { reason: declined });
  }

  const preferred = (winner) => (winner === null ? phrase("prefer.tie") : phrase("prefer.output", { output: output(winner)?.label ?? "" }));

  /** What was answered about the segment as a whole, in words, one line each. */
  function wordedWhole({ preference, declined }) {
    const found = preference.map(preferred);
    if (declined) found.push(phrase("labels.declined", { reason: reasonText(declined) }));
    return found.length ? found : [phrase("labels.no_preference")];
  }

  /** The log may have grown since the page was written, in another tab or just before a reload: ask the server for it. */
  function lookAgain() {
    if (document.visibilityState !== "visible" || !data || Date.now() - flight.heard < 1500) return;
    if (data.server) outbox.recall(place);
    refold();
    flight.ask = true;
    flush();
  }

  /** How many changes wait because the server cannot be reached, or does not take them now. */
  const unsent = () => (flight.why !== null || navigator.onLine === false ? outbox.of(place).length : 0);

  function savedState() {
    const n = outbox.of(place).length;
    const why = flight.why ? ` ${flight.why}.` : "";
    if (n && flight.ended && outbox.durable()) return ["late", phrase("state.kept", { n, why })];
    if (unsent()) return ["late", phrase("state.late", { n, why })];
    if (n) return ["busy", phrase("state.busy")];
    if (drafting) return ["busy", phrase("state.note")];
    const done = flight.savedAt ? phrase("state.saved.at", { time: flight.savedAt.toLocaleTimeString([], { hour12: false }) })
      : phrase(data.events.length ? "state.saved" : "state.none");
    return outbox.elsewhere ? ["late", `${done} · ${phrase("state.elsewhere", { n: outbox.elsewhere })}`] : ["done", done];
  }

  // ---- drawing ------------------------------------------------------------------------------------------------------

  function say(text, tone = "") {
    message = { text, tone };
    drawFoot();
  }

  function build() {
    texts = new Map();
    cards = new Map();
    followed = -1;
    read.replaceChildren();
    pane.replaceChildren();
    if (data.source !== null) {
      const line = asks("spans") ? textLine("source", data.source, phrase("source")) : stillText(data.source);
      pane.append(
        el("section", { class: "esa-source" },
          el("div", { class: "esa-head" }, el("h4", { text: phrase("source") }), asks("spans") ? el("div", { class: "esa-for" }) : null),
          el("div", { class: "esa-flow" }, ...data.before.map((t) => judged({ class: "esa-dim esa-cut" }, t)), line, ...data.after.map((t) => judged({ class: "esa-dim esa-cut" }, t)))),
      );
    } else if (data.references.length) {
      pane.append(el("section", { class: "esa-source" }, el("div", { class: "esa-head" }, el("h4", { text: phrase("reference") })), el("div", { class: "esa-flow" }, ...data.references.map((t) => judged({ class: "esa-dim" }, t)))));
    }
    pane.hidden = !pane.childElementCount;
    const scrolls = asks("spans") ? {} : { tabindex: "0", role: "region", "aria-label": phrase(data.source === null ? "reference" : "source") }; // without a text in it that has the focus
    for (const name of ["tabindex", "role", "aria-label"]) scrolls[name] ? pane.setAttribute(name, scrolls[name]) : pane.removeAttribute(name);
    if (asks("score") && data.anchors.length && data.outputs.length > FEW_OUTPUTS) read.append(el("div", { class: "esa-legend" }, ...anchorLabels(data.anchors)));
    for (const o of data.outputs) {
      const state = el("span", { class: "esa-state" });
      const buttons = Object.entries(hasVerdicts() ? verdicts() : {}).map(([value, label]) =>
        el("button", { type: "button", "data-verdict": value, text: label, "aria-label": phrase("verdict.of", { verdict: label, output: o.inside }), title: `${label} (${value === "no_error" ? "N" : "X"})`, onclick: () => { focusOn(o.id); verdict(o.id, value); } }));
      const slider = asks("score") ? createSlider({
        name: phrase("score.of", { output: o.inside }), anchors: data.anchors, short: data.outputs.length > FEW_OUTPUTS, change: (value) => setScore(o.id, value), allowed: () => !barred(o.id),
        focused: () => {
          commitNote();
          [sel, half, mark, rebound, focus] = [null, false, null, null, null];
          target = o.id;
          lastFocus = { place: keyOf(place), id: o.id };
          draw();
        },
      }) : null;
      const card = el("section", { class: "esa-output", "data-output": o.id, tabindex: asks("spans") ? null : "-1", "aria-label": asks("spans") ? null : o.label },
        el("div", { class: "esa-head" }, digitsChoose() && cards.size < 9 ? el("kbd", { text: String(cards.size + 1), "aria-hidden": "true" }) : null, el("h4", { text: o.label }), el("span", { class: "esa-name" }), state, el("span", { class: "esa-verdicts" }, ...buttons)),
        el("div", { class: "esa-flow" },
          o.before ? judged({ class: "esa-dim esa-cut esa-around" }, o.before) : null,
          asks("spans") ? textLine(o.id, o.text, o.label) : stillText(o.text),
          o.after ? judged({ class: "esa-dim esa-cut esa-around" }, o.after) : null),
        slider?.node ?? null);
      card.addEventListener("click", (e) => {
        if (!e.target.isConnected || e.target.closest("button, .esa-score")) return; // a tap has redrawn the text
        if (digitsChoose() && getSelection().isCollapsed) return choose(o.id); // no text of it was selected
        if (digitsChoose() || e.target.closest(".esa-text")) return;
        if (!isEmpty(sel)) clear();
        if (target !== o.id) focusOn(o.id);
      });
      cards.set(o.id, { card, state, buttons, slider, name: card.querySelector(".esa-name") });
      read.append(card);
    }
    root.classList.toggle("esa-no-marks", !asks("spans"));
    root.classList.toggle("esa-pairs", asks("preference") && data.outputs.length === 2);
    root.classList.toggle("esa-choices-by-card", digitsChoose());
    side.hidden = !asks("spans");
    prefer.replaceChildren();
    if (asks("preference")) read.append(prefer);
    if (data.declines) read.append(decline);
    for (const [part, key] of [[side, "spans"], [tool, "mark"], [picker, "category"], [help, "help"], [clash, "clash"], [refusal, "decline"]]) part.setAttribute("aria-label", phrase(`aria.${key}`));
    prefer.setAttribute("aria-label", phrase("prefer"));
  }

  /** A text that is read only. */
  function stillText(raw) {
    return raw ? el("div", { class: "esa-text esa-still", dir: "auto", text: raw }) : el("div", { class: "esa-text esa-still" }, el("span", { class: "esa-none", text: phrase("empty") }));
  }

  function textLine(id, raw, label) {
    const node = el("div", { class: "esa-text", dir: "auto", tabindex: "0", role: "textbox", "aria-readonly": "true", "aria-multiline": "true", "aria-label": label });
    const text = Object.assign(readText(raw), { id, el: node, nodes: [], last: 0, sentences: readSentences(raw) });
    texts.set(id, text);
    node.addEventListener("mousedown", (e) => e.preventDefault());
    node.addEventListener("selectstart", (e) => e.preventDefault());
    let finger = false;
    node.addEventListener("pointerdown", (e) => {
      finger = e.pointerType === "touch";
      if (!finger) press(text, e);
    });
    node.addEventListener("click", (e) => { if (finger) tap(text, e); });
    node.addEventListener("focus", () => {
      if (focus !== id) [sel, half] = [null, false];
      focus = id;
      lastFocus = { place: keyOf(place), id };
      if (id !== "source") target = id;
      if (!sel && !mark) sel = placed(text.last);
      draw();
    });
    return node;
  }

  /** The marks on a text, numbered as in the list; a lane each for those that overlap. */
  function laid(id) {
    const text = texts.get(id);
    const ends = [];
    return inOrder(of(id === "source" ? target : id).marks)
      .map((m, i) => ({ ...m, n: i + 1, from: text.units(m.start), to: text.units(m.end) }))
      .filter((m) => (m.side === "source") === (id === "source"))
      .map((m) => {
        const free = ends.findIndex((end) => end <= m.from);
        const lane = free < 0 ? ends.length : free;
        ends[lane] = m.to;
        return { ...m, lane };
      });
  }

  function drawText(id) {
    const text = texts.get(id);
    const marks = laid(id);
    const deepest = Math.max(0, ...marks.map((m) => m.lane));
    const cursor = focus === id ? sel : null;
    const lit = id === "source" ? near : null;
    const cuts = [...new Set([0, text.raw.length, ...marks.flatMap((m) => [m.from, m.to]), ...(cursor ? [startOf(cursor), endOf(cursor)] : []), ...(lit ? [lit.start, lit.end] : [])])].sort((a, b) => a - b);
    const line = [];
    text.nodes = [];
    cuts.forEach((from, i) => {
      for (const m of marks.filter((k) => k.from === k.to && k.from === from)) line.push(el("span", { class: `esa-p esa-place ${m.severity.toLowerCase()}`, "data-n": m.n }));
      if (cursor && cursor.head === from) line.push(el("span", { class: "esa-caret" }));
      const to = cuts[i + 1];
      if (to === undefined) return;
      const over = marks.filter((m) => m.from <= from && m.to >= to && m.from < m.to);
      const starts = over.filter((m) => m.from === from);
      const chosen = cursor && startOf(cursor) <= from && endOf(cursor) >= to;
      const piece = el("span", {
        class: ["esa-p", ...new Set(over.map((m) => m.severity.toLowerCase())), over.length && "marked", over.some((m) => m.id === mark) && "active", chosen && "chosen", lit && lit.start <= from && lit.end >= to && "esa-near"].filter(Boolean).join(" "),
        "data-marks": over.length ? over.map((m) => m.id).join(" ") : null,
        "data-n": starts.length ? starts.map((m) => m.n).join("·") : null,
      });
      const node = document.createTextNode(text.raw.slice(from, to));
      piece.append(node);
      if (over.length) {
        piece.style.paddingBottom = `${1 + deepest * 4}px`;
        piece.style.backgroundImage = over.map((m) => `var(--line-${m.severity.toLowerCase()})`).join(",");
        piece.style.backgroundPosition = over.map((m) => `0 calc(100% - ${(deepest - m.lane) * 4}px)`).join(",");
      }
      text.nodes.push({ from, to, node });
      line.push(piece);
    });
    text.el.replaceChildren(...line);
    text.el.classList.toggle("esa-here", focus === id);
    if (!text.raw) text.el.append(el("span", { class: "esa-none", text: phrase("empty") }));
  }

  function drawCards() {
    for (const o of data.outputs) {
      const { card, state, buttons, slider, name } = cards.get(o.id);
      const { marks, verdict: given, score } = of(o.id);
      name.textContent = o.name ?? "";
      const better = labels.preference[0] === o.id;
      state.textContent = better ? `✓ ${phrase("prefer.better")}` : !asks("spans") || given ? "" : marks.length ? phrase("spans", { n: marks.length }) : phrase(hasVerdicts() ? "spans.unlabelled" : "spans.none");
      slider?.show(score, data.locked.includes(o.id));
      card.classList.toggle("esa-better", better);
      buttons.forEach((b) => { b.setAttribute("aria-pressed", String(b.dataset.verdict === given)); b.disabled = data.locked.includes(o.id); });
      card.classList.toggle("esa-target", o.id === target && (asks("spans") || asks("score")));
      card.classList.toggle("esa-wanted", wanted.some((w) => w.output === o.id));
      card.classList.toggle("esa-done", asks("preference") ? labels.preference.length > 0 : answered(of(o.id), data.asks));
    }
    const forWhom = pane.querySelector(".esa-for");
    if (forWhom) fill(forWhom, single() ? [el("span", { text: phrase("omission.single") })] : [el("span", { text: phrase("omission.for") }), chips(phrase("omission.in"))]);
    if (asks("preference")) drawPreference();
    if (data.declines) drawDecline();
    root.classList.toggle("esa-wide", around);
  }

  function drawPreference() {
    const option = (winner, key) => el("button", { type: "button", "data-key": String(winner), "aria-pressed": String(labels.preference.length > 0 && labels.preference[0] === winner), disabled: data.locked.length > 0, onclick: () => choose(winner) },
      ...(key ? [el("kbd", { text: key }), " "] : []), preferred(winner));
    const outputs = data.outputs.map((o, i) => option(o.id, digitsChoose() && i < 9 ? String(i + 1) : ""));
    const tie = data.ties ? [option(null, digitsChoose() ? "0" : "")] : [];
    prefer.classList.toggle("esa-wanted", wanted.some((w) => w.need === "preference"));
    const how = data.asks.length === 1 ? el("p", { class: "esa-quiet", text: phrase(BY_FINGER.matches ? "prefer.how.touch" : "prefer.how") }) : null;
    fill(prefer, [el("h4", { text: phrase("prefer") }), el("div", { class: "esa-options-row" }, ...outputs.slice(0, -1), ...tie, ...outputs.slice(-1)), how].filter(Boolean));
  }

  const digitsChoose = () => asks("preference") && !asks("spans");

  function drawDecline() {
    root.classList.toggle("esa-declined", Boolean(labels.declined));
    fill(decline, labels.declined
      ? [el("span", { role: "status", dir: "auto", text: phrase("declined", { reason: reasonText(labels.declined) }) }), el("button", { type: "button", text: phrase("declined.withdraw"), onclick: () => setReason("") })]
      : [el("button", { type: "button", class: "esa-plain", onclick: askReason }, el("kbd", { text: "I" }), ` ${phrase("decline")}`)]);
  }

  const chips = (what) =>
    el("span", { class: "esa-chips", role: "group", "aria-label": phrase("chips.group", { what }) }, ...data.outputs.map((o) =>
      el("button", { type: "button", text: o.label, "aria-label": phrase("chips.of", { what, output: o.inside }), "aria-pressed": String(o.id === target), onclick: () => { commitNote(); target = o.id; mark = null; draw(); } })));

  function drawSide() {
    if (side.hidden) return;
    if (side.contains(document.activeElement) && document.activeElement.tagName === "TEXTAREA") return;
    const marks = listed();
    const given = of(target).verdict;
    const rows = marks.map((m, i) => markRow(m, i + 1));
    const keys = levels().map((s, i) => `${i + 1} (${severityName(s)})`);
    const empty = given ? `${verdicts()[given]}.` : phrase(`side.empty${hasVerdicts() ? "" : ".score"}${BY_FINGER.matches ? ".touch" : ""}`, { keys: [keys.slice(0, -1).join(", "), ...keys.slice(-1)].filter(Boolean).join(phrase("or")) });
    const scrolled = side.scrollTop;
    fill(side, [
      el("div", { class: "esa-head" }, el("h4", { text: phrase("aria.spans") }), single() ? null : chips(phrase("spans.of"))),
      rows.length ? el("ol", { class: "esa-marks" }, ...rows) : el("p", { class: "esa-quiet", text: empty }),
    ]);
    side.scrollTop = scrolled;
  }

  function markRow(m, n) {
    const pick = () => { commitNote(); [mark, sel, half] = [m.id, null, false]; draw(); };
    const active = m.id === mark;
    const note = el("textarea", { class: "esa-note", rows: "1", maxlength: "10000", dir: "auto", placeholder: phrase("note"), "aria-label": phrase("note.of", { n: String(n) }), "data-mark": m.id });
    note.value = m.note;
    let timer = 0;
    note.addEventListener("input", () => {
      drafting = note.value !== m.note;
      note.style.height = "auto";
      note.style.height = `${note.scrollHeight + 2}px`;
      clearTimeout(timer);
      timer = setTimeout(commitNote, 900);
      drawFoot();
    });
    note.addEventListener("blur", () => { clearTimeout(timer); commitNote(); setTimeout(draw, 0); });
    note.readOnly = data.locked.includes(target);
    return el("li", { class: `esa-mark ${m.severity.toLowerCase()}${active ? " active" : ""}`, "data-mark": m.id },
      el("button", { type: "button", class: "esa-quote", onclick: pick, title: phrase("mark.pick") },
        el("span", { class: "esa-n", text: String(n) }), el("q", { dir: "auto", text: m.quote || phrase("mark.position") }), m.side === "source" ? el("small", { text: phrase("mark.source") }) : null),
      el("button", { type: "button", class: "esa-x", title: phrase("mark.delete.title"), "aria-label": phrase("mark.delete", { n: String(n) }), text: "×", onclick: () => deleteMark(m.id) }),
      el("div", { class: "esa-fields" },
        el("span", { class: "esa-seg", role: "group", "aria-label": phrase("aria.severity") }, ...[...new Set([...levels(), m.severity])].map((s) =>
          el("button", { type: "button", class: s.toLowerCase(), text: severityName(s), "aria-pressed": String(m.severity === s), onclick: () => { pick(); changeMark(m.id, { severity: s }); } }))),
        !hasCategories() ? null : el("button", { type: "button", class: `esa-category${m.category ? "" : " none"}`, text: m.category ? named(m.category).replace("/", " › ") : phrase("category.choose"), title: phrase("category.title"), onclick: (e) => { pick(); editCategory(side.querySelector(`li[data-mark="${CSS.escape(m.id)}"] .esa-category`) ?? e.target); } }),
        active ? el("button", { type: "button", class: "esa-plain", text: phrase("bounds"), title: phrase("bounds.title"), onclick: startRebound }) : null),
      active || m.note ? note : null);
  }

  const withdrawn = () => [...data.events, ...outbox.here(place).map((e) => e.action)].some((a) => a.kind === "submit");

  function drawFoot() {
    if (!data) return;
    const [tone, text] = savedState();
    const keys = [
      ...(asks("spans") ? levels().map((s, i) => [String(i + 1), severityName(s)]) : []),
      ...(asks("spans") && hasCategories() ? [["C", phrase("hint.category")]] : []),
      ...(hasVerdicts() ? [["N", phrase("hint.no_error")], ["X", verdicts().non_translation.replace(/^./u, (first) => first.toLowerCase())]] : []),
      ...(asks("score") ? asks("spans") ? [["S", phrase("hint.score")]] : [["0 … 9", phrase("hint.digits")]] : []),
    ];
    const steps = [["undo", "U", phrase("undo"), labels.canUndo || labels.submitted || justSubmitted()], ["redo", "R", phrase("redo"), labels.canRedo]];
    const said = wanted.length
      ? el("div", { class: "esa-said alert", role: "alert" }, el("span", { text: phrase("missing", { n: wanted.length }) }),
        ...wanted.slice(0, SHOWN_MISSING).map((w) => el("button", { type: "button", class: "esa-plain", text: w.text, onclick: () => reach(w) })), wanted.length > SHOWN_MISSING ? el("span", { text: phrase("missing.more", { n: wanted.length - SHOWN_MISSING }) }) : null)
      : message ? el("div", { class: `esa-said ${message.tone}`, role: "status", text: message.text })
      : data.locked.length ? el("div", { class: "esa-said done", role: "status", text: phrase("locked") })
      : labels.submitted || justSubmitted() ? el("div", { class: `esa-said ${unsent() ? "" : "done"}`, role: "status" }, el("span", {}, `${submission()} · `,
        el("button", { type: "button", class: "esa-plain", "data-key": "take back", text: phrase(BY_FINGER.matches ? "undo" : "submitted.undo"), disabled: moving, onclick: () => step("undo") })))
      : labels.declined ? el("div", { class: "esa-said", role: "status", dir: "auto", text: phrase("labels.declined", { reason: reasonText(labels.declined) }) })
      : withdrawn() ? el("div", { class: "esa-said alert", role: "status", text: phrase("withdrawn") }) : null;
    fill(foot,
      [said,
        el("div", { class: "esa-bar" },
          el("div", { class: "esa-hints" }, ...keys.map(([k, what]) => el("span", {}, el("kbd", { text: k }), ` ${what}`)),
            el("button", { type: "button", class: "esa-plain", onclick: toggleHelp }, el("kbd", { text: "?" }), ` ${phrase("hint.help")}`),
            data.outputs.some((o) => o.before || o.after) ? el("button", { type: "button", class: "esa-plain", "aria-pressed": String(around), title: phrase("context.title"), onclick: toggleAround }, el("kbd", { text: "D" }), ` ${phrase(around ? "context.hide" : "context")}`) : null),
          el("span", { class: "esa-steps" }, ...steps.map(([kind, k, what, possible]) =>
            el("button", { type: "button", "data-key": kind, disabled: !possible || data.locked.length > 0, title: `${what} (${k})`, onclick: () => step(kind) }, el("kbd", { text: k }), ` ${what}`))),
          el("span", { class: `esa-saved ${tone}`, role: "status", "data-testid": "saved-state", text }),
          el("button", { type: "button", class: "esa-submit", "data-key": "submit", "data-testid": "submit", text: phrase(labels.submitted ? (unsent() ? "submit.waiting" : moving || !data.next ? "submit.done" : "submit.next") : "submit"), disabled: labels.submitted && (moving || unsent() > 0 || !data.next), onclick: submit }))].filter(Boolean),
    );
    root.toggleAttribute("data-unsaved", outbox.of(place).length > 0);
    clearFoot();
  }

  /** What is said of a submission: of this segment, or of the one before it. */
  function submission() {
    if (!labels.submitted || moving) return phrase("submitted.now");
    if (unsent()) return phrase("submitted.waiting");
    if (outbox.of(place).length) return phrase("submitted.now");
    return phrase(data.next ? BY_FINGER.matches ? "submitted.touch" : "submitted" : "submitted.all");
  }

  /** Keep the foot above the line of running jobs, and what is scrolled to above both. */
  function clearFoot() {
    const jobs = document.querySelector(".st-key-errorscope-foot")?.closest("[data-testid=stLayoutWrapper]")?.offsetHeight ?? 0;
    foot.style.bottom = `${jobs}px`;
    root.style.setProperty("--below", `${foot.offsetHeight + jobs}px`);
  }

  function drawTool() {
    const m = BY_FINGER.matches && isEmpty(sel) && !rebound ? find(mark) : null; // the list of error spans may be out of sight
    const free = !dragging && picker.hidden && !data.locked.includes(target);
    const show = free && (m || (focus && sel && !isEmpty(sel)));
    tool.hidden = !show;
    if (!show || isPressed(tool)) return;
    const button = (text, onclick) => el("button", { type: "button", text, onclick });
    const choices = (set) => levels().map((s, i) => el("button", { type: "button", class: s.toLowerCase(), title: data.severities[i].definition, "aria-pressed": m ? String(m.severity === s) : null, onclick: () => set(s) }, el("kbd", { text: String(i + 1) }), ` ${severityName(s)}`));
    const parts = rebound ? [button(phrase("bounds.set"), endRebound), button(phrase("cancel"), clear)]
      : m ? [...choices((s) => changeMark(m.id, { severity: s })), hasCategories() && button(phrase("tool.category"), () => editCategory()), button(phrase("tool.note"), editNote), button(phrase("tool.delete"), () => deleteMark(m.id))]
      : [...choices(addMark), focus === "source" ? el("small", { text: phrase(single() ? "omission.tool.single" : "omission.tool", { output: output(target).inside }) }) : half ? el("small", { text: phrase(BY_FINGER.matches ? "tool.half.touch" : "tool.half") }) : null];
    tool.replaceChildren(...parts.filter(Boolean));
    const text = m ? textOf(m) : texts.get(focus);
    float(tool, m ? rectOf(text, text.units(m.start), text.units(m.end)) : rectOf(text, startOf(sel), endOf(sel)), true);
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

  /** Find the sentence of the source for the cursor; light it up, and bring it into view if the source scrolls. */
  function followSource() {
    const source = texts.get("source");
    const text = texts.get(focus);
    const m = find(mark);
    const at = sel ? sel.head : m && m.side === "output" ? texts.get(target).units(m.end) : text?.last;
    near = source && text && text !== source ? aligned(source.sentences, text.sentences, at) : null;
    drawText("source");
    if (!near || !at || near.start === followed) return; // a new segment is read from its start
    followed = near.start;
    const lit = source.el.querySelector(".esa-near")?.getBoundingClientRect();
    const box = pane.getBoundingClientRect();
    if (lit && (lit.top < box.top || lit.bottom > box.bottom)) pane.scrollTop += lit.top - box.top - pane.clientHeight / 3;
  }

  function draw() {
    if (!data) return;
    if (texts.has("source") && !pressing) followSource();
    for (const id of texts.keys()) drawText(id);
    drawCards();
    if (!pressing) { // nothing moves under a pointer that is down
      drawSide();
      drawFoot();
    }
    drawTool();
  }

  // ---- places on the screen -----------------------------------------------------------------------------------------

  function nodeAt(text, at) {
    const piece = text.nodes.find((p) => at >= p.from && at < p.to) ?? text.nodes.at(-1);
    return piece ? [piece.node, Math.min(at, piece.to) - piece.from] : [text.el, 0];
  }

  function rangeOf(text, from, to) {
    const range = document.createRange();
    range.setStart(...nodeAt(text, from));
    range.setEnd(...nodeAt(text, to));
    return range;
  }

  function rectOf(text, from, to) {
    const rects = text.nodes.length ? rangeOf(text, from, to).getClientRects() : [];
    return rects[0] ?? text.el.getBoundingClientRect();
  }

  /** The place in the text for a position in its element. Positions on what is drawn between the pieces, such as the cursor, are those of the next piece. */
  function placeOf(text, node, offset) {
    const piece = text.nodes.find((p) => p.node === node);
    if (piece) return piece.from + offset;
    const range = document.createRange();
    range.setStart(node, offset);
    return text.nodes.find((p) => range.comparePoint(p.node, 0) >= 0)?.from ?? text.raw.length;
  }

  /** The place and the character under a point of the screen. */
  function hit(text, x, y) {
    const caret = document.caretPositionFromPoint?.(x, y);
    const range = caret ? null : document.caretRangeFromPoint?.(x, y);
    const [node, offset] = caret ? [caret.offsetNode, caret.offset] : range ? [range.startContainer, range.startOffset] : [null, 0];
    if (!text.el.contains(node)) {
      const box = text.el.getBoundingClientRect();
      if (y < box.top) return { at: 0, character: 0 };
      if (y > box.bottom) return { at: text.raw.length, character: Math.max(0, text.raw.length - 1) };
      const beside = Math.max(box.left + 1, Math.min(x, box.right - 1));
      return beside === x ? null : hit(text, beside, y);
    }
    const at = text.floor(placeOf(text, node, offset));
    const before = text.previous(at);
    const inside = [...rangeOf(text, before, at).getClientRects()].some((r) => x >= r.left && x <= r.right && y >= r.top - 2 && y <= r.bottom + 2);
    return { at, character: at > 0 && inside ? before : at };
  }

  let dragging = false;
  let pressing = false;

  /** Put the cursor into a text for a pointer event; return where it is and what was there, or null in an empty text. */
  function pointedAt(text, e) {
    commitNote();
    const start = hit(text, e.clientX, e.clientY);
    const sameText = focus === text.id;
    const old = sameText ? sel : null;
    const wasHalf = half && sameText;
    if (!sameText || (!old && !mark)) sel = sel && sameText ? sel : placed(start?.at ?? 0);
    pressing = Boolean(start && text.raw) && e.type === "pointerdown";
    text.el.focus({ preventScroll: true });
    if (!start || !text.raw) return null;
    const word = text.token(start.character);
    return { start, old, wasHalf, base: e.altKey || !word ? placed(start.at) : onToken(word) };
  }

  function tap(text, e) {
    const at = pointedAt(text, e);
    if (at) clicked(text, at.start, at.base, { extend: false, old: at.old, wasHalf: at.wasHalf, byCharacter: false });
    draw();
  }

  function press(text, e) {
    if (e.button !== 0) return;
    const first = { x: e.clientX, y: e.clientY };
    const at = pointedAt(text, e);
    if (!at) return draw();
    const { start, old, wasHalf, base } = at;
    const move = (m) => {
      if (!dragging && Math.hypot(m.clientX - first.x, m.clientY - first.y) < 4) return;
      const now = hit(text, m.clientX, m.clientY);
      if (!now) return;
      if (!dragging) text.el.setPointerCapture?.(e.pointerId);
      [dragging, mark, half] = [true, rebound ? mark : null, false];
      sel = dragged(text, e.shiftKey && old ? old : base, now.at, m.altKey);
      drawText(text.id);
      drawTool();
    };
    const up = (u) => {
      text.el.removeEventListener("pointermove", move);
      text.el.removeEventListener("pointerup", up);
      text.el.removeEventListener("pointercancel", up);
      const was = dragging;
      dragging = pressing = false;
      if (u.type === "pointercancel") return draw();
      if (!was) clicked(text, start, base, { extend: e.shiftKey, old, wasHalf, byCharacter: e.altKey });
      if (!isEmpty(sel)) aloud.textContent = text.raw.slice(startOf(sel), endOf(sel));
      draw();
    };
    text.el.addEventListener("pointermove", move);
    text.el.addEventListener("pointerup", up);
    text.el.addEventListener("pointercancel", up);
  }

  function clicked(text, { at, character }, base, { extend, old, wasHalf, byCharacter }) {
    if (old && (extend || wasHalf)) {
      const onto = byCharacter ? at : base.base.start >= old.base.end ? base.base.end : base.base.end <= old.base.start ? base.base.start : old.head;
      [sel, half] = [dragged(text, old, onto, byCharacter), false];
      return;
    }
    const under = text.nodes.find((p) => character >= p.from && character < p.to)?.node.parentNode.dataset.marks?.split(" ") ?? [];
    const smallest = under.map(find).filter(Boolean).sort((a, b) => a.end - a.start - (b.end - b.start))[0];
    if (smallest && !rebound && smallest.id !== mark) [mark, sel, half] = [smallest.id, null, false];
    else [mark, sel, half] = [rebound, base, true];
  }

  // ---- categories, notes, boundaries ------------------------------------------------------------------------------------

  function editCategory(anchor = null) {
    const m = find(mark);
    if (barred(target)) return;
    if (!m) return say(phrase("mark.first"));
    const text = textOf(m);
    focus = text.id;
    openPicker({
      title: phrase("mark.title", { severity: severityName(m.severity), quote: m.quote }), side: m.side, path: m.category,
      at: anchor ? anchor.getBoundingClientRect() : rectOf(text, text.units(m.start), text.units(m.end)),
      choose: (c) => changeMark(m.id, { category: c.path }),
    });
  }

  function openPicker({ title, side: where, path = "", at: anchor, choose }) {
    const choices = categoriesOf(where);
    let shown = choices;
    let at = Math.max(0, choices.findIndex((c) => c.path === path));
    const input = el("input", { type: "text", class: "esa-filter", placeholder: phrase("category.filter"), role: "combobox", "aria-expanded": "true", "aria-autocomplete": "list", "aria-controls": "esa-categories", "aria-label": phrase("aria.filter"), autocomplete: "off", spellcheck: "false" });
    const list = el("div", { class: "esa-options", role: "listbox", id: "esa-categories", "aria-label": phrase("aria.categories") });
    const about = el("p", { class: "esa-quiet esa-about", dir: "auto", "aria-live": "polite" });
    const explain = (c) => { about.textContent = c ? `${c.definition} ${c.example}` : ""; };
    const take = (c) => {
      closePicker();
      choose(c);
      if (c.needs_note && mark && !find(mark)?.note.trim()) editNote();
    };
    const fill = () => {
      let group = null;
      list.replaceChildren(...shown.flatMap((c, i) => {
        const [top, sub] = named(c.path).split("/");
        const head = sub && top !== group ? [el("div", { class: "esa-group", text: top })] : [];
        group = top;
        const option = el("button", { type: "button", role: "option", id: `esa-category-${i}`, tabindex: "-1", class: sub ? "sub" : "top", "aria-selected": String(i === at), onclick: () => take(c), onmouseenter: () => explain(c) }, sub ?? top, el("small", { class: "esa-finger", text: c.definition }));
        return [...head, option];
      }));
      explain(shown[at]);
      input.setAttribute("aria-activedescendant", shown.length ? `esa-category-${at}` : "");
      if (!shown.length) list.append(el("p", { class: "esa-quiet", text: phrase("category.none") }));
      const [row, box] = [list.querySelector("[aria-selected=true]")?.getBoundingClientRect(), list.getBoundingClientRect()];
      if (row) list.scrollTop += Math.min(0, row.top - box.top) + Math.max(0, row.bottom - box.bottom); // the page stays where it is
    };
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      shown = choices.filter((c) => words.every((w) => named(c.path).toLowerCase().includes(w)));
      at = 0;
      fill();
    });
    input.addEventListener("keydown", (e) => {
      const by = { ArrowDown: 1, ArrowUp: -1 }[e.key];
      if (by && shown.length) at = (at + by + shown.length) % shown.length;
      else if (e.key === "Enter" && shown[at]) take(shown[at]);
      else if (e.key === "Escape" || e.key === "Tab") closePicker();
      else return;
      e.preventDefault();
      e.stopPropagation();
      if (by) fill();
    });
    picker.replaceChildren(
      el("div", { class: "esa-head" }, el("p", { class: "esa-quiet esa-title", dir: "auto", text: title }), el("button", { type: "button", class: "esa-cancel", text: phrase("cancel"), onclick: closePicker })),
      el("p", { class: "esa-quiet esa-keyboard", text: `${path ? "" : phrase("category.intro")}${phrase("category.keys")}` }),
      input, list, about);
    picker.hidden = false;
    tool.hidden = true;
    fill();
    float(picker, anchor, false);
    if (!BY_FINGER.matches) input.focus({ preventScroll: true }); // it would open the keyboard of the screen
    picker.scrollIntoView({ block: "nearest" });
  }

  function closePicker() {
    if (picker.hidden) return;
    picker.hidden = true;
    home().focus({ preventScroll: true });
    draw();
  }

  function editNote() {
    if (barred(target)) return;
    if (!mark) return say(phrase("mark.first"));
    drawSide();
    const note = side.querySelector(`textarea[data-mark="${CSS.escape(mark)}"]`);
    note?.focus();
    note?.scrollIntoView({ block: "nearest" });
  }

  function commitNote() {
    const note = side.querySelector("textarea:focus") ?? [...side.querySelectorAll("textarea")].find((t) => (find(t.dataset.mark)?.note ?? t.value) !== t.value);
    drafting = false;
    const m = note && find(note.dataset.mark);
    if (!m || m.note === note.value) return;
    const { id, ...span } = { ...m, note: note.value };
    act("change", target, { mark: id, ...span });
    drawFoot();
  }

  function startRebound() {
    const m = find(mark);
    if (barred(target)) return;
    if (!m) return say(phrase("mark.first"));
    const text = textOf(m);
    rebound = m.id;
    focus = text.id;
    const [start, end] = [text.units(m.start), text.units(m.end)];
    sel = { base: { start, end: start }, head: end };
    text.el.focus({ preventScroll: true });
    text.el.scrollIntoView({ block: "nearest" });
    say(phrase(BY_FINGER.matches ? "bounds.how.touch" : "bounds.how"));
    draw();
  }

  function endRebound() {
    const id = rebound;
    const text = texts.get(focus);
    const [start, end] = [startOf(sel), endOf(sel)];
    if (isEmpty(sel) || text !== textOf(find(id))) return say(phrase("bounds.same"), "alert");
    [rebound, sel, half, mark, message] = [null, null, false, id, null];
    changeMark(id, { start: text.points(start), end: text.points(end), quote: text.raw.slice(start, end) });
    draw();
  }

  function clear() {
    const text = texts.get(focus);
    if (text && sel) text.last = startOf(sel);
    [sel, half, mark, rebound, message, wanted] = [text && document.activeElement === text.el ? placed(text.last) : null, false, null, null, null, []];
    draw();
  }

  /** Whether keys of this kind do something here (`KEYS`). */
  function applies(when) {
    switch (when) {
      case "verdicts": return hasVerdicts();
      case "categories": return asks("spans") && hasCategories();
      case "omissions": return asks("spans") && data.source !== null && data.outputs.length > 1;
      case "preference": return digitsChoose();
      case "ties": return digitsChoose() && data.ties;
      case "declines": return data.declines;
      case "context": return data.outputs.some((o) => o.before || o.after);
      default: return asks(when);
    }
  }

  function toggleHelp() {
    if (help.open) return help.close();
    const explained = (rows) => el("dl", { class: "esa-explained" }, ...rows.flatMap((r) => [el("dt", { dir: "auto", text: named(r.path ?? r.name).replace("/", " › ") }), el("dd", { dir: "auto" }, r.definition, r.example ? el("span", { class: "esa-quiet", text: ` ${r.example}` }) : null)]));
    const severities = levels().map(severityName).join(" · ");
    const digits = levels().map((_, i) => i + 1).join(" · ");
    help.replaceChildren(el("button", { type: "button", class: "esa-close", text: phrase("close"), onclick: () => help.close() }), ...[
      asks("spans") && [phrase("help.severities"), explained(data.severities.map((s) => ({ ...s, name: severityName(s.name) })))],
      asks("spans") && hasCategories() && [phrase("help.categories", { typology: named(data.typology) }), explained([...data.categories, ...(hasVerdicts() ? [data.whole] : [])])],
      asks("score") && data.anchors.length && [phrase("help.score"), explained(data.anchors.map(({ value, text }) => ({ name: String(value), definition: text })))],
      [phrase("help.keys"), el("dl", {}, ...KEYS.filter(([, , when]) => !when || applies(when)).flatMap(([k, what]) => [el("dt", {}, el("kbd", { text: what === "key.severity" ? digits : named(k) })), el("dd", { text: phrase(what, { severities }) })]))],
    ].filter(Boolean).flatMap(([title, part]) => [el("h4", { text: title }), part]));
    help.showModal();
    help.scrollTop = 0;
  }

  function toggleAround() {
    around = !around;
    draw();
  }

  // ---- keys ---------------------------------------------------------------------------------------------------------

  function arrow(text, e) {
    const rtl = getComputedStyle(text.el).direction === "rtl";
    const from = sel ?? placed(mark && find(mark) && textOf(find(mark)) === text ? text.units(find(mark).end) : text.last);
    if (!rebound) mark = null;
    half = false;
    if (e.key === "Home" || e.key === "End") {
      const to = e.key === "Home" ? 0 : text.raw.length;
      sel = e.shiftKey ? { base: from.base, head: to } : placed(to);
    } else if (e.key === "ArrowUp" || e.key === "ArrowDown") sel = byLine(text, from, e.key === "ArrowUp" ? -1 : 1, e);
    else sel = moved(text, from, { forward: (e.key === "ArrowRight") !== rtl, extend: e.shiftKey, byCharacter: e.altKey });
    text.last = sel.head;
    aloud.textContent = isEmpty(sel) ? "" : text.raw.slice(startOf(sel), endOf(sel));
    draw();
    showCursor();
  }

  function byLine(text, from, way, e) {
    const rect = rectOf(text, text.previous(from.head), from.head);
    const rtl = getComputedStyle(text.el).direction === "rtl";
    const there = hit(text, (rtl ? rect.left : rect.right) - (rtl ? -1 : 1), rect.top + rect.height / 2 + way * parseFloat(getComputedStyle(text.el).lineHeight));
    if (!there) return from;
    if (e.shiftKey) return dragged(text, from, there.at, e.altKey);
    const word = text.token(there.character);
    return e.altKey || !word ? placed(there.at) : onToken(word);
  }

  function cycle(list, current, by) {
    const at = list.indexOf(current);
    return at < 0 ? list.at(by > 0 ? 0 : -1) : list[(at + by + list.length) % list.length];
  }

  function nextMark(by) {
    const id = cycle(listed().map((m) => m.id), mark, by);
    if (!id) return say(phrase("mark.none"));
    [mark, sel, half] = [id, null, false];
    const text = textOf(find(id));
    focus = text.id;
    text.el.focus({ preventScroll: true });
    text.el.scrollIntoView({ block: "nearest" });
    draw();
  }

  function nextTarget() {
    target = cycle(data.outputs.map((o) => o.id), target, 1);
    mark = null;
    draw();
  }

  const always = {
    u: () => step("undo"), r: () => step("redo"), d: toggleAround, "?": toggleHelp,
    j: () => travel("next"), k: () => travel("previous"), g: () => travel("unlabelled"), escape: clear, enter: () => (rebound ? endRebound() : submit()),
  };
  const forSpans = {
    t: editNote, b: startRebound, m: (e) => nextMark(e.shiftKey ? -1 : 1), delete: () => deleteMark(mark), backspace: () => deleteMark(mark),
  };

  /** What a key does in this protocol. */
  function commandOf(name) {
    if (/^\d$/.test(name) && asks("spans")) return levels()[name - 1] && (() => severity(levels()[name - 1]));
    if (name === "0" && digitsChoose()) return data.ties && (() => choose(null));
    if (/^\d$/.test(name) && digitsChoose()) return data.outputs[name - 1] && (() => choose(data.outputs[name - 1].id));
    if (/^\d$/.test(name)) return (e) => { goToScore(); cards.get(target).slider.key(e); };
    if (name in always) return always[name];
    if (name in forSpans) return asks("spans") && forSpans[name];
    const [when, run] = {
      c: ["categories", () => editCategory()], o: ["spans", nextTarget], s: ["score", goToScore], i: ["declines", askReason],
      n: ["verdicts", () => verdict(target, "no_error")], x: ["verdicts", () => verdict(target, "non_translation")],
    }[name] ?? [];
    return when && applies(when) && run;
  }

  function nameOf(e) {
    if (/^(Digit|Numpad)\d$/.test(e.code) && !e.shiftKey) return e.code.at(-1);
    if (/^Key[A-Z]$/.test(e.code) && e.key.length === 1 && e.key > "\u007f") return e.code.at(-1).toLowerCase(); // a keyboard of another script
    return e.key.toLowerCase();
  }

  function onKey(e) {
    const on = document.activeElement;
    if (!data || !root.isConnected || e.isComposing || !(root.contains(on) || on === document.body || !on)) return;
    if (e.target.matches?.("input, textarea, select, [contenteditable=true]")) {
      if (e.key !== "Escape" || e.target.tagName !== "TEXTAREA") return;
      if (!refusal.open) home().focus({ preventScroll: true });
      return;
    }
    if (help.open || clash.open || refusal.open) return;
    const visited = stops().findIndex((s) => s.el === on);
    const slider = [...cards.values()].find((c) => c.slider?.track === on)?.slider;
    const text = [...texts.values()].find((t) => t.el === on);
    let run = null;
    if (slider?.key(e)) run = () => {};
    else if (e.ctrlKey || e.metaKey) {
      const k = e.key.toLowerCase();
      if (k === "z" || k === "y") run = () => step(k === "y" || e.shiftKey ? "redo" : "undo");
    } else if (text && /^(Arrow|Home|End)/.test(e.key)) run = () => arrow(text, e);
    else if (visited >= 0 && e.key === "Tab") run = stops()[visited + (e.shiftKey ? -1 : 1)]?.visit;
    else if (e.key === "Tab" && !e.shiftKey && (!on || on === document.body)) run = () => { focusOn(target); showCursor(); };
    else if (!e.altKey && !(on?.tagName === "BUTTON" && (e.key === "Enter" || e.key === " "))) {
      const command = commandOf(nameOf(e));
      if (command) run = e.repeat ? () => {} : () => command(e); // a key that is held down does not submit one segment after the other
    }
    if (!run) return;
    e.preventDefault();
    e.stopImmediatePropagation();
    if (!moving) run();
  }

  function onCopy(e) {
    if (isEmpty(sel) || document.activeElement !== texts.get(focus)?.el) return;
    e.clipboardData.setData("text/plain", texts.get(focus).raw.slice(startOf(sel), endOf(sel)));
    e.preventDefault();
  }

  function onLeave(e) {
    commitNote();
    settleScores();
    flush();
    if (e.type === "beforeunload" && !outbox.durable() && outbox.of(place).length) e.preventDefault();
  }

  const online = () => { flight.wait = FIRST_RETRY; flush(); };
  let width = innerWidth;
  function resized() {
    if (innerWidth !== width) closePicker(); // a phone was turned: the list would be at a wrong place
    width = innerWidth;
    if (data) drawTool();
  }

  const listeners = [
    [window, "keydown", onKey, true], [window, "online", online], [window, "offline", drawFoot], [window, "focus", lookAgain],
    [document, "visibilitychange", lookAgain], [window, "pagehide", onLeave], [window, "beforeunload", onLeave], [root, "copy", onCopy], [window, "resize", resized],
  ];
  for (const [where, type, f, capture] of listeners) where.addEventListener(type, f, capture ?? false);
  const clearing = setInterval(clearFoot, 1000); // jobs start and end without the editor
  tool.addEventListener("mousedown", (e) => e.preventDefault());

  return {
    travel,
    lookAgain,
    /** Withdraw the submission of the open segment, if it is submitted. */
    withdraw() {
      if (labels.submitted && !data.locked.length) withdraw();
    },
    /** Show `next`; `openSegment({to, submitted})` opens another segment. */
    update(next, openSegment) {
      go = openSegment;
      const there = { outbox: next.outbox, rater: next.rater, project: next.project, doc: next.doc, segment: next.segment };
      const moved = !place || Object.keys(there).some((k) => there[k] !== place[k]);
      useTexts(next.texts);
      const shape = (d) => JSON.stringify([d.texts, d.asks, d.severities, d.anchors, d.ties, d.declines, d.whole.name, d.source, d.before, d.after, d.references, d.outputs.map((o) => [o.id, o.text, o.before, o.after])]);
      if (moved && data) {
        commitNote();
        settleScores();
      }
      if (place && place.rater !== there.rater) flight.savedAt = null;
      const rebuilt = moved || shape(next) !== shape(data);
      const had = rebuilt && !moved ? focus : null;
      if (moved && place && outbox.here(place).length) left.set(keyOf(place), labels);
      [data, place] = [{ ...next, outputs: next.outputs.map((o, i, { length }) => ({ ...o, label: phrase(length > 1 ? "output" : "output.single", { n: String(i + 1) }), inside: phrase(length > 1 ? "output.inside" : "output.single.inside", { n: String(i + 1) }) })) }, there];
      addSaved();
      if (moved) {
        if (data.server) outbox.recall(place);
        [target, focus, sel, half, mark, rebound, wanted, message] = [data.outputs[0].id, null, null, false, null, null, [], null];
        picker.hidden = true;
        onward = false;
      }
      if (rebuilt) build();
      if (had && texts.has(had)) texts.get(had).el.focus({ preventScroll: true });
      refold();
      if (moved && unsettled.get(keyOf(place))) compare(unsettled.get(keyOf(place)));
      unsettled.delete(keyOf(place));
      if (moved) {
        free();
        begin(lastFocus.place === keyOf(place) ? lastFocus.id : null);
      }
      draw();
      if (outbox.of(place).length) flush();
    },
    destroy() {
      if (data) {
        commitNote();
        settleScores();
      }
      clearTimeout(flight.timer);
      clearTimeout(waiting);
      clearTimeout(moves);
      clearInterval(clearing);
      for (const [where, type, f, capture] of listeners) where.removeEventListener(type, f, capture ?? false);
      root.remove();
    },
  };
}
