// The span editor. Keys and the view send commands; `reduce` makes the next state (state.js), which the view draws and whose new
// actions go to the outbox. What a command does besides is in `EFFECTS`: the keyboard focus, sending, and opening another segment.

import { BY_FINGER } from "./dialogs.js";
import { commandOf, selectionAfter } from "./keys.js";
import { fold } from "./log.js";
import { createSender, outbox, settle } from "./outbox.js";
import { isRightToLeft, lineFrom } from "./places.js";
import { cursorOf, isAnswered, isLocked, justSubmitted, keyOf, markOf, NO_STATE, reduce } from "./state.js";
import { dragged, endOf, isEmpty, onToken, placed, startOf } from "./text.js";
import { useTexts } from "./texts.js";
import { createView } from "./view.js";

const LONGEST_HOLD = 3000; // milliseconds
const FOOT = new Set(["message", "drafting", "moving", "onward", "saved", "left", "unsettled"]); // what shows at the foot only, or nowhere
const DRAG = new Set(["selection", "dragging", "mark", "half"]);

let lastFocus = {}; // {place, id} of the text or score that had the focus; outlives a remount of the component

/** What makes the view build its parts anew. */
const shapeOf = (d) => JSON.stringify([d.texts, d.asks, d.severities, d.anchors, d.ties, d.declines, d.whole.name, d.source, d.before, d.after, d.references, d.outputs.map((o) => [o.id, o.text, o.before, o.after])]);
const isField = (node) => node.matches("input, textarea, select, [contenteditable=true]");

export function createEditor(parent) {
  let state = NO_STATE;
  let openSegment = () => {};
  let fieldTimer = 0;
  let holdTimer = 0;

  const getState = () => state;
  const pendingOf = (place) => outbox.ofSegment(place).map((e) => e.action);
  const sender = createSender({
    source: () => ({ place: state.place, server: state.data.server }), active: () => view.root.isConnected,
    changed: () => show(view.drawFoot), heard, ended: goOn,
  });
  const view = createView(parent, { run, getState, getStatus: () => sender.status });

  // ---- commands -----------------------------------------------------------------------------------------------------

  /** Take a command into the state and draw what it changed. */
  function dispatch(command) {
    const before = state;
    state = reduce(state, command);
    const recorded = state.pending.filter((action) => !before.pending.includes(action));
    if (command.do !== "open" && command.do !== "answer" && command.do !== "outbox" && recorded.length) {
      for (const action of recorded) outbox.put(state.place, action);
      setTimeout(sender.flush, 20);
    }
    if (command.rebuilt) view.build(state);
    const changed = Object.keys(state).filter((name) => state[name] !== before[name]);
    if (!changed.length || command.do === "press" && state.pressing) return;
    if (changed.every((name) => FOOT.has(name))) show(view.drawFoot);
    else if (state.dragging && changed.every((name) => DRAG.has(name))) show(view.drawSelection);
    else show(view.draw);
  }

  let showing = false;
  let outdated = false;
  /** Draw the state. What is drawn may get the keyboard focus, which changes the state: then it is drawn again. */
  function show(draw) {
    if (showing) {
      outdated = true;
      return;
    }
    showing = true;
    try {
      draw(state);
      while (outdated) {
        outdated = false;
        view.draw(state);
      }
    } finally {
      showing = false;
    }
  }

  /** Carry out a command. */
  function run(command) {
    if (EFFECTS[command.do]) EFFECTS[command.do](command);
    else dispatch(command);
  }

  const EFFECTS = {
    // places
    go(command) {
      dispatch(command);
      view.focusHome();
    },
    visit(command) {
      dispatch(command);
      view.focusHome();
      view.showCursor();
    },
    focus(command) {
      lastFocus = { place: keyOf(state.place), id: command.id };
      dispatch(command);
    },
    focusScore(command) {
      commitNote();
      lastFocus = { place: keyOf(state.place), id: command.id };
      dispatch(command);
    },
    goToScore({ id = state.target }) {
      commitNote();
      view.focusScore(id);
    },
    typeScore({ event }) {
      run({ do: "goToScore" });
      view.slider(state.target).key(event);
    },
    target(command) {
      commitNote();
      dispatch(command);
    },
    pick(command) {
      commitNote();
      dispatch(command);
    },
    nextMark(command) {
      dispatch(command);
      if (state.mark) view.focusText(state.focus);
    },
    accept: decide,
    reject: decide,
    clear() {
      const text = view.text(state.focus);
      dispatch({ do: "clear", typing: Boolean(text) && document.activeElement === text.el });
    },
    /** Go to what is missing. */
    reach({ item }) {
      run({ do: "go", id: item.output });
      if (item.need === "score") view.slider(item.output).track.focus({ preventScroll: true });
      view.flash(item);
      if (!item.mark) return;
      dispatch({ do: "showMark", mark: item.mark });
      if (item.need !== "decision") run({ do: item.need === "note" ? "editNote" : "category" });
    },

    // marks
    closePicker() {
      if (!state.picker) return;
      dispatch({ do: "closePicker" });
      view.focusHome();
    },
    categorise(command) {
      run({ do: "closePicker" });
      dispatch(command);
      const m = markOf(state, state.mark);
      if (m && needsNote(command.path) && !m.note.trim()) run({ do: "editNote" });
    },
    commitNote,
    redraw: () => show(view.draw),
    editNote() {
      if (isLocked(state, state.target)) return dispatch({ do: "barred", id: state.target });
      if (!state.mark) return dispatch({ do: "markFirst" });
      if (markOf(state, state.mark).suggested) return dispatch({ do: "decideFirst" });
      view.editNote(state);
    },
    rebound() {
      dispatch({ do: "rebound", touch: BY_FINGER.matches });
      if (state.rebound) view.focusText(state.focus);
    },

    // the segment
    prefer(command) {
      if (state.moving) return;
      dispatch(command);
      if (state.data.asks.length === 1 && !state.data.locked.length) return run({ do: "submit" });
      view.focusPreference(); // so that Enter submits
    },
    askReason: () => view.dialogs.askReason(state),
    help: () => view.dialogs.toggleHelp(state),
    undo() {
      if (state.moving) return;
      view.settleScores();
      if (state.data.locked.length) dispatch({ do: "barredWhole" });
      else if (state.labels.submitted) dispatch({ do: "reopen" });
      else if (justSubmitted(state)) travel({ ...state.data.submitted_before, withdraw: true });
      else dispatch({ do: "undo" });
    },
    redo() {
      if (state.moving) return;
      view.settleScores();
      dispatch({ do: state.data.locked.length ? "barredWhole" : "redo" });
    },
    submit() {
      if (state.moving) return;
      commitNote();
      view.settleScores();
      if (state.labels.submitted) return travel("unlabelled");
      dispatch({ do: "submit" });
      if (state.missing.length) return run({ do: "reach", item: state.missing[0] });
      if (state.onward) hold();
      sender.flush();
    },
    travel: ({ to }) => travel(to),
  };

  /** Decide on a suggestion; the keyboard is then at the next one. */
  function decide(command) {
    commitNote();
    dispatch(command);
    if (state.mark) view.focusText(state.focus);
  }

  const needsNote = (path) => state.data.categories.find((c) => c.path === path)?.needs_note;

  function commitNote() {
    const open = state.data && view.openNote(state);
    if (open) dispatch({ do: "note", ...open });
    else if (state.drafting) dispatch({ do: "draft", drafting: false });
  }

  /** What was begun in a field, or chosen just now, is recorded: a note, and scores. */
  function commit() {
    if (!state.data) return;
    commitNote();
    view.settleScores();
  }

  // ---- the keyboard focus -------------------------------------------------------------------------------------------

  /** Put the cursor where work goes on: `id`, or the first output without labels. A field elsewhere on the page keeps the focus. */
  function begin(id) {
    const { outputs } = state.data;
    const target = outputs.some((o) => o.id === id) ? id : (outputs.find((o) => !isAnswered(state, o.id)) ?? outputs[0]).id;
    dispatch({ do: "target", id: target });
    const on = document.activeElement;
    if (on && !view.root.contains(on) && isField(on)) return waitFor(on);
    run({ do: "go", id: target });
    if (view.root.getBoundingClientRect().top < 0) view.root.scrollIntoView({ block: "start" });
    if (target !== outputs[0].id) view.text(target) ? view.showCursor() : view.showCard(target);
  }

  /** A form that was sent is removed only after the page is drawn: then the focus is nowhere, and belongs to the editor. */
  function waitFor(field) {
    clearTimeout(fieldTimer);
    fieldTimer = setTimeout(() => {
      const on = document.activeElement;
      if (on === field) waitFor(field);
      else if (!on || on === document.body) run({ do: "go", id: state.target });
    }, 200);
  }

  // ---- other segments -----------------------------------------------------------------------------------------------

  /** Go to another segment, once everything is saved or cannot be saved now. Two versions are compared first. */
  function travel(to) {
    commit();
    hold();
    sender.flush().then(() => (state.clash ? release() : leave({ to })));
  }

  function leave(where) {
    hold();
    Promise.resolve(openSegment(where)).finally(release);
  }

  /** Go on after a submission that is saved. If it cannot be saved now, this waits; if it is withdrawn or refused, the segment stays. */
  function goOn() {
    if (!state.onward) return;
    dispatch({ do: "goOn" });
    if (!state.onward || outbox.ofRater(state.place).length) return release();
    dispatch({ do: "stopGoingOn" });
    leave({ to: "unlabelled", submitted: true });
  }

  /** Let nothing be changed while another segment is being opened, at most for a while: it may be meant for that one. */
  function hold() {
    clearTimeout(holdTimer);
    holdTimer = setTimeout(release, LONGEST_HOLD);
    dispatch({ do: "hold" });
  }

  function release() {
    if (!state.moving) return;
    clearTimeout(holdTimer);
    dispatch({ do: "free" });
    if (!document.activeElement || document.activeElement === document.body) view.focusHome();
  }

  // ---- saving -------------------------------------------------------------------------------------------------------

  /** Take over the server's answer to `entries`, which were sent from a place. */
  function heard(answer, entries, place) {
    const submitted = fold(state.data.events).submitted;
    const { saved, refused, stale } = settle(answer, entries, place);
    dispatch({ do: "answer", answer, saved, refused, stale, pending: pendingOf(state.place) });
    if (fold(state.data.events).submitted !== submitted && !state.onward) openSegment({ to: "stay" });
  }

  /** The log may have grown since the page was written, in another tab or just before a reload: ask the server for it. */
  function lookAgain() {
    if (document.visibilityState !== "visible" || !state.data || sender.heardJustNow()) return;
    if (state.data.server) outbox.recall(state.place);
    dispatch({ do: "outbox", pending: pendingOf(state.place) });
    sender.ask();
  }

  // ---- events -------------------------------------------------------------------------------------------------------

  function arrow(text, e) {
    let selection;
    if (e.key === "ArrowUp" || e.key === "ArrowDown") selection = lineAfter(text, cursorOf(state, text.id), e);
    else selection = selectionAfter(state, text.id, e, isRightToLeft(text));
    dispatch({ do: "move", id: text.id, selection });
    view.showCursor();
  }

  function lineAfter(text, from, e) {
    const place = lineFrom(text, from.head, e.key === "ArrowUp" ? -1 : 1);
    if (!place) return from;
    if (e.shiftKey) return dragged(text, from, place.at, e.altKey);
    const word = text.token(place.character);
    return e.altKey || !word ? placed(place.at) : onToken(word);
  }

  function onKey(e) {
    const on = document.activeElement;
    if (!state.data || !view.root.isConnected || e.isComposing || !(view.root.contains(on) || on === document.body || !on)) return;
    if (e.target.matches?.("input, textarea, select, [contenteditable=true]")) {
      if (e.key !== "Escape" || e.target.tagName !== "TEXTAREA") return;
      if (!view.dialogs.refusal.open) view.focusHome();
      return;
    }
    if (view.dialogs.takesKeys()) return;
    const stops = view.stops();
    const at = stops.findIndex((s) => s.el === on);
    const action = actionOf(e, on, stops, at);
    if (!action) return;
    e.preventDefault();
    e.stopImmediatePropagation();
    if (!state.moving) action();
  }

  /** What a key does while `on` has the focus, the stop of Tab number `at`; null if it is not for the editor. */
  function actionOf(e, on, stops, at) {
    const { id, slider } = stops[at] ?? {};
    if (slider?.key(e)) return () => {};
    if (e.ctrlKey || e.metaKey) {
      const k = e.key.toLowerCase();
      return k === "z" || k === "y" ? () => run({ do: k === "y" || e.shiftKey ? "redo" : "undo" }) : null;
    }
    if (id && !slider && /^(Arrow|Home|End)/.test(e.key)) return () => arrow(view.text(id), e);
    if (at >= 0 && e.key === "Tab") {
      const next = stops[at + (e.shiftKey ? -1 : 1)];
      return next ? () => run(next.command) : null;
    }
    if (e.key === "Tab" && !e.shiftKey && (!on || on === document.body)) return () => { run({ do: "go", id: state.target }); view.showCursor(); };
    if (e.altKey || (on?.tagName === "BUTTON" && (e.key === "Enter" || e.key === " "))) return null;
    const command = commandOf(state, e);
    if (!command) return null;
    return e.repeat ? () => {} : () => run(command); // a key that is held down does not submit one segment after the other
  }

  function onCopy(e) {
    const text = view.text(state.focus);
    if (isEmpty(state.selection) || !text || document.activeElement !== text.el) return;
    e.clipboardData.setData("text/plain", text.raw.slice(startOf(state.selection), endOf(state.selection)));
    e.preventDefault();
  }

  function onLeave(e) {
    if (!state.data) return;
    commit();
    sender.flush();
    if (e.type === "beforeunload" && !outbox.durable() && outbox.ofRater(state.place).length) e.preventDefault();
  }

  let width = innerWidth;
  function resized() {
    if (innerWidth !== width) run({ do: "closePicker" }); // a phone was turned: the list would be at a wrong place
    width = innerWidth;
    if (state.data) view.drawTool(state);
  }

  const listeners = [
    [window, "keydown", onKey, true], [window, "online", () => state.data && sender.retryNow()], [window, "offline", () => state.data && show(view.drawFoot)], [window, "focus", lookAgain],
    [document, "visibilitychange", lookAgain], [window, "pagehide", onLeave], [window, "beforeunload", onLeave], [view.root, "copy", onCopy], [window, "resize", resized],
  ];
  for (const [target, type, listener, capture] of listeners) target.addEventListener(type, listener, capture ?? false);

  return {
    travel,
    lookAgain,
    /** Withdraw the submission of the open segment, if it is submitted. */
    withdraw() {
      if (state.labels.submitted && !state.data.locked.length) dispatch({ do: "reopen" });
    },
    /** Show `data`; `open({to, submitted})` opens another segment. */
    update(data, open) {
      openSegment = open;
      const place = { outbox: data.outbox, rater: data.rater, project: data.project, doc: data.doc, segment: data.segment };
      const moved = !state.place || Object.keys(place).some((name) => place[name] !== state.place[name]);
      useTexts(data.texts);
      if (moved) commit();
      if (state.place && state.place.rater !== place.rater) sender.status.savedAt = null;
      const rebuilt = moved || shapeOf(data) !== shapeOf(state.data);
      const kept = rebuilt && !moved ? state.focus : null;
      const waiting = moved && state.place && outbox.ofSegment(state.place).length > 0;
      if (moved && data.server) outbox.recall(place);
      if (moved) clearTimeout(holdTimer);
      dispatch({ do: "open", data, place, moved, rebuilt, waiting, pending: pendingOf(place) });
      if (kept && view.text(kept)) view.focusText(kept, false);
      if (moved) begin(lastFocus.place === keyOf(place) ? lastFocus.id : null);
      if (outbox.ofRater(place).length) sender.flush();
    },
    destroy() {
      commit();
      sender.stop();
      clearTimeout(fieldTimer);
      clearTimeout(holdTimer);
      for (const [target, type, listener, capture] of listeners) target.removeEventListener(type, listener, capture ?? false);
      view.destroy();
    },
  };
}
