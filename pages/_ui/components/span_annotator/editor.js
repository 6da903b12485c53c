// The span editor. It holds the state, sends actions in batches, and gets back which ones are saved (see __init__.py).

const SEVERITIES = ["Major", "Minor", "Neutral"];
const VERDICTS = { no_error: "No error", non_translation: "Non-translation" };
const LOCKED = "Locked: you have seen the system names of this segment, so its labels can no longer be changed.";
const FIRST_RETRY = 4000;
const LAST_RETRY = 30000;
const KEYS = [
  ["← → ↑ ↓", "move by word or line"], ["Shift + arrows", "extend the selection"], ["Alt + arrows", "move by character, Alt + Shift extends"],
  ["Tab", "next output (or source)"], ["1 · 2 · 3", "Major · Minor · Neutral: severity of the selection or of the chosen error span"], ["C", "category of the selected error span; in the open list, letters filter it"], ["T", "note"],
  ["B", "move the start or end of the error span"], ["M · Shift + M", "next · previous error span"], ["Delete", "delete the error span"], ["O", "in the source: choose for which output the omission counts"],
  ["U · R", "undo · redo (also Ctrl + Z · Ctrl + Y)"], ["N · X", "no error · the whole output is unusable"], ["Enter", "submit; then next segment not submitted"],
  ["J · K", "next · previous segment"], ["G", "next segment not submitted"], ["D", "show the context of each output"], ["Esc", "cancel the selection"], ["?", "definitions and keys"],
];

function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (name === "text") node.textContent = value;
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  node.append(...children.filter((c) => c != null));
  return node;
}

let lastFocus = {}; // {place, id} of the text that had the focus; outlives a remount of the component

const judged = (props, text) => el("p", { dir: "auto", ...props, text });

function createEditor(parent) {
  const root = el("div", { class: "esa", "data-testid": "span-editor" });
  const pane = el("div", { class: "esa-pane" });
  const read = el("div", { class: "esa-read" });
  const side = el("aside", { class: "esa-side", "aria-label": "Error spans" });
  const foot = el("div", { class: "esa-foot" });
  const tool = el("div", { class: "esa-tool", role: "toolbar", "aria-label": "Mark the selection", hidden: true });
  const picker = el("div", { class: "esa-picker", role: "dialog", "aria-label": "Category", hidden: true });
  const help = el("dialog", { class: "esa-help", "aria-label": "Definitions and keys" });
  const clash = el("dialog", { class: "esa-help", "aria-label": "Two versions" });
  const aloud = el("div", { class: "esa-aloud", "aria-live": "polite" });
  root.append(el("div", { class: "esa-grid" }, el("div", { class: "esa-main" }, pane, read), side), foot, tool, picker, help, clash, aloud);
  parent.append(root);

  let data = null;
  let send = () => {};
  let go = () => {};
  let stop = () => {};
  let place = null; // {rater, project, doc, segment}
  let texts = new Map(); // "source" or an output's id -> readText(...) + {el, nodes}
  let cards = new Map(); // output id -> {card, state, buttons}
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
  const left = new Map(); // segments that were left before all was saved -> their labels as shown then
  const unsettled = new Map(); // of these, the ones of which something was refused as stale
  let near = null; // the sentence of the source for the cursor in an output
  let followed = -1; // where the one begins that was brought into view last
  let drafting = false;
  const flight = { n: 0, ids: new Set(), open: false, stalled: false, wait: FIRST_RETRY, timer: 0, savedAt: null, heard: 0 };

  // ---- labels -------------------------------------------------------------------------------------------------------

  const keyOf = ({ rater, project, doc, segment }) => JSON.stringify([rater, project, doc, segment]);
  const of = (id) => labels.outputs.get(id) ?? NO_LABELS;
  const output = (id) => data.outputs.find((o) => o.id === id);
  const textOf = (m) => texts.get(m.side === "source" ? "source" : target);
  const inOrder = (marks) => [...marks].sort((a, b) => (a.side === b.side ? a.start - b.start || b.end - a.end : a.side === "output" ? -1 : 1));
  const listed = () => inOrder(of(target).marks);
  const find = (id) => of(target).marks.find((m) => m.id === id) ?? null;

  function refold() {
    const known = new Set(data.events.map((e) => e.id));
    labels = fold([...data.events, ...outbox.of(place.rater, place).map((e) => e.action).filter((a) => !known.has(a.id))]);
    labels.submitted &&= data.outputs.every(({ id }) => of(id).marks.length || of(id).verdict); // others may have been asked for then
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
    if (data.locked.includes(id)) say(LOCKED, "alert");
    return data.locked.includes(id);
  }

  function duplicate(span, except) {
    const same = of(target).marks.some((m) => m.id !== except && samePlace(m, span));
    if (same) say("This error is marked already (same span, severity and category).", "alert");
    return same;
  }

  function addMark(severity) {
    const text = texts.get(focus);
    const [start, end] = [startOf(sel), endOf(sel)];
    const where = focus === "source" ? "source" : "output";
    const only = data.categories.filter((c) => c.path === data.omission && where === "source");
    const span = { side: where, start: text.points(start), end: text.points(end), quote: text.raw.slice(start, end), severity, category: only[0]?.path ?? "", note: "" };
    if (span.category) placeMark(span);
    else openPicker({ title: `${severity}: “${span.quote}”`, side: where, at: rectOf(text, start, end), choose: (c) => placeMark({ ...span, category: c.path }) });
  }

  function placeMark(span) {
    if (duplicate(span)) return draw();
    const gone = VERDICTS[of(target).verdict];
    const id = freshId();
    act("add", target, { mark: id, ...span });
    const text = textOf(span);
    text.last = text.units(span.end);
    [sel, half, mark] = [null, false, id];
    aloud.textContent = `${span.severity}, ${span.category}: ${span.quote}`;
    if (gone) say(`“${gone}” withdrawn.`);
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
    say("Error span deleted · U to undo");
    draw();
  }

  function severity(level) {
    if (barred(target)) return;
    if (!isEmpty(sel)) addMark(level);
    else if (mark) changeMark(mark, { severity: level });
    else say("Select a word or a passage first.");
  }

  function verdict(id, value) {
    const now = of(id);
    const n = now.marks.length;
    target = id;
    if (barred(id)) return draw();
    [sel, mark, half, rebound] = [null, null, false, null];
    act("verdict", id, { value: now.verdict === value ? null : value });
    if (n) say(`${n === 1 ? "1 error span" : `${n} error spans`} of ${output(id).label} deleted · U to undo`);
    draw();
  }

  function step(kind) {
    const last = kind === "undo" ? labels.canUndo : labels.canRedo;
    if (data.locked.length) return say(LOCKED, "alert");
    if (!last) return say(kind === "undo" ? "Nothing to undo." : "Nothing to redo.");
    act(kind, null, {});
    if (output(last.output)) target = last.output;
    [sel, half, rebound] = [null, false, null];
    mark = find(last.payload.mark) ? last.payload.mark : null;
    say(`${kind === "undo" ? "Undone" : "Redone"}: ${{ add: "error span", change: "change", delete: "deletion", verdict: "verdict" }[last.kind]}, ${output(last.output)?.label ?? ""}`);
    draw();
  }

  function submit() {
    commitNote();
    if (labels.submitted) return travel("unlabelled");
    wanted = missing(data.outputs, labels, data.categories);
    if (wanted.length) {
      message = null;
      reach(wanted[0]);
    } else act("submit", null, { outputs: data.outputs.map((o) => o.id) });
    draw();
  }

  function reach(item) {
    focusOn(item.output);
    const { card } = cards.get(item.output);
    card.scrollIntoView({ block: "center", behavior: "smooth" });
    card.classList.remove("esa-flash");
    requestAnimationFrame(() => card.classList.add("esa-flash"));
    if (!item.mark) return;
    mark = item.mark;
    draw();
    if (item.need === "note") editNote();
    else editCategory();
  }

  function focusOn(id) {
    if (id !== "source") target = id;
    focus = id;
    texts.get(id).el.focus({ preventScroll: true });
    draw();
  }

  /** Put the cursor where work goes on: `id`, or the first output without labels. A field elsewhere on the page keeps the focus. */
  function begin(id) {
    target = texts.has(id) && id !== "source" ? id : (data.outputs.find((o) => !of(o.id).marks.length && !of(o.id).verdict) ?? data.outputs[0]).id;
    const on = document.activeElement;
    if (on && !root.contains(on) && on.matches("input, textarea, select, [contenteditable=true]")) return waitFor(on);
    focusOn(target);
    if (root.getBoundingClientRect().top < 0) root.scrollIntoView({ block: "start" });
    if (target !== data.outputs[0].id) showCursor();
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
    (same ?? texts.get(focus ?? target).el).focus({ preventScroll: true });
  }

  function travel(to) {
    commitNote();
    flush();
    go("go", { to });
  }

  // ---- saving -------------------------------------------------------------------------------------------------------

  function flush(again = false) {
    const entries = outbox.of(place.rater);
    if (!entries.length || (flight.open && !again)) return drawFoot();
    post(entries);
  }

  function post(entries) {
    flight.n = Math.max(flight.n + 1, Date.now());
    flight.ids = new Set(entries.map((e) => e.action.id));
    flight.open = entries.length > 0;
    clearTimeout(flight.timer);
    if (entries.length) {
      flight.timer = setTimeout(() => {
        flight.stalled = true;
        flight.wait = Math.min(flight.wait * 2, LAST_RETRY);
        flush(true);
      }, flight.wait);
    }
    const batches = [];
    for (const e of entries) {
      const last = batches.at(-1);
      if (last && last.project === e.project && last.doc === e.doc && last.segment === e.segment) last.actions.push(e.action);
      else batches.push({ project: e.project, doc: e.doc, segment: e.segment, actions: [e.action] });
    }
    send({ n: flight.n, rater: place.rater, batches });
    drawFoot();
  }

  /** `mine` are the labels as shown until now. */
  function heard(mine) {
    const before = outbox.of(place.rater).length;
    outbox.drop([...data.events.map((e) => e.id), ...data.acknowledged]);
    const left = outbox.of(place.rater);
    const refused = left.filter((e) => data.refused[e.action.id]);
    const stale = refused.filter((e) => data.stale.includes(e.action.id));
    outbox.rebase(refused.filter((e) => !stale.includes(e)));
    outbox.drop([...refused, ...strays(left, data.refused)].map((e) => e.action.id));
    if (stale.length) collided(stale, mine);
    flight.heard = Date.now();
    if (before > left.length) flight.savedAt = new Date();
    if (refused.length > stale.length) message = { text: `Not saved: ${data.refused[refused.find((e) => !stale.includes(e)).action.id]}`, tone: "alert" };
    if (!outbox.of(place.rater).length) {
      clearTimeout(flight.timer);
      Object.assign(flight, { open: false, stalled: false, wait: FIRST_RETRY });
    } else if (data.received >= flight.n) {
      flight.open = false;
      if (outbox.of(place.rater).some((e) => flight.ids.has(e.action.id))) flight.stalled = true; // neither recorded nor refused: kept, sent again
      if (outbox.of(place.rater).some((e) => !flight.ids.has(e.action.id))) setTimeout(flush, 20);
    }
  }

  /** Actions were refused because the labels changed in another tab: show both versions, and nothing is lost. */
  function collided(stale, mine) {
    const elsewhere = stale.find((e) => keyOf(e) !== keyOf(place));
    if (elsewhere) {
      unsettled.set(keyOf(elsewhere), left.get(keyOf(elsewhere)));
      message = { text: `Not saved: your last change to ${elsewhere.doc} / ${elsewhere.segment}, because its labels were changed in another tab or window. Go back to compare both versions.`, tone: "alert" };
      return;
    }
    compare(mine);
  }

  function compare(mine) {
    refold();
    const shown = (all, id) => JSON.stringify(all.outputs.get(id) ?? NO_LABELS);
    const differ = data.outputs.filter(({ id }) => shown(mine, id) !== shown(labels, id));
    if (!differ.length) {
      message = { text: "Not saved: this segment was changed in another tab or window. Check the labels and try again.", tone: "alert" };
      return;
    }
    const version = (title, all, id) => el("section", {}, el("h4", { text: title }), ...worded(all.outputs.get(id) ?? NO_LABELS).map((text) => el("p", { dir: "auto", text })));
    const choose = (label, merge) => el("button", { type: "button", text: label, onclick: () => {
      clash.close();
      if (merge) for (const { id } of differ) restore(id, merge(mine.outputs.get(id) ?? NO_LABELS, of(id)));
      draw();
    } });
    const both = (a, b) => ({ marks: [...b.marks, ...a.marks.filter((m) => !b.marks.some((k) => k.id === m.id || samePlace(k, m)))], verdict: null });
    const mergeable = differ.every(({ id }) => mine.outputs.get(id)?.marks.length && of(id).marks.length);
    clash.replaceChildren(
      el("h4", { text: "Changed in another tab or window" }),
      el("p", { text: "Your last change is not saved, because the saved labels are not those that you saw. Nothing is deleted. Choose a version:" }),
      ...differ.map((o) => el("div", { class: "esa-versions", "data-output": o.id }, el("h4", { text: o.label }), version("Saved", labels, o.id), version("Yours", mine, o.id))),
      el("div", { class: "esa-choices" }, choose("Keep the saved version"), choose("Use my version", (a) => a), mergeable ? choose("Keep both", both) : null));
    if (!clash.open) clash.showModal();
  }

  /** Change the labels of an output to `want`, in actions that can be undone. */
  function restore(id, { marks, verdict: wish }) {
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
  }

  /** Another tab may have added to the log: synchronize when the window gets focus again. */
  function lookAgain() {
    if (document.visibilityState === "visible" && data && Date.now() - flight.heard > 1500) post(outbox.of(place.rater));
  }

  function savedState() {
    const n = outbox.of(place.rater).length;
    if (n && (flight.stalled || navigator.onLine === false)) return ["late", `Saving … ${n} change${n > 1 ? "s" : ""} not saved yet; please do not close this page`];
    if (n) return ["busy", "saving…"];
    if (drafting) return ["busy", "note not saved yet"];
    if (flight.savedAt) return ["done", `saved ✓ ${flight.savedAt.toLocaleTimeString([], { hour12: false })}`];
    return ["done", data.events.length ? "saved ✓" : "no labels yet"];
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
      const line = textLine("source", data.source, "Source");
      pane.append(
        el("section", { class: "esa-source" },
          el("div", { class: "esa-head" }, el("h4", { text: "Source" }), el("div", { class: "esa-for" })),
          el("div", { class: "esa-flow" }, ...data.before.map((t) => judged({ class: "esa-dim" }, t)), line, ...data.after.map((t) => judged({ class: "esa-dim" }, t)))),
      );
    } else if (data.references.length) {
      pane.append(el("section", { class: "esa-source" }, el("div", { class: "esa-head" }, el("h4", { text: "Reference" })), el("div", { class: "esa-flow" }, ...data.references.map((t) => judged({ class: "esa-dim" }, t)))));
    }
    pane.hidden = !pane.childElementCount;
    for (const o of data.outputs) {
      const state = el("span", { class: "esa-state" });
      const buttons = Object.entries(VERDICTS).map(([value, label]) =>
        el("button", { type: "button", "data-verdict": value, text: label, "aria-label": `${label} in ${o.label.toLowerCase()}`, title: `${label} (${value === "no_error" ? "N" : "X"})`, onclick: () => { focusOn(o.id); verdict(o.id, value); } }));
      const card = el("section", { class: "esa-output", "data-output": o.id },
        el("div", { class: "esa-head" }, el("h4", { text: o.label }), el("span", { class: "esa-name" }), state, el("span", { class: "esa-verdicts" }, ...buttons)),
        el("div", { class: "esa-flow" },
          o.before ? judged({ class: "esa-dim esa-around" }, o.before) : null,
          textLine(o.id, o.text, o.label),
          o.after ? judged({ class: "esa-dim esa-around" }, o.after) : null));
      card.addEventListener("click", (e) => { if (target !== o.id && !e.target.closest("button, .esa-text")) focusOn(o.id); });
      cards.set(o.id, { card, state, buttons, name: card.querySelector(".esa-name") });
      read.append(card);
    }
  }

  function textLine(id, raw, label) {
    const node = el("div", { class: "esa-text", dir: "auto", tabindex: "0", role: "textbox", "aria-readonly": "true", "aria-multiline": "true", "aria-label": label });
    const text = Object.assign(readText(raw), { id, el: node, nodes: [], last: 0, sentences: readSentences(raw) });
    texts.set(id, text);
    node.addEventListener("mousedown", (e) => e.preventDefault());
    node.addEventListener("selectstart", (e) => e.preventDefault());
    node.addEventListener("pointerdown", (e) => press(text, e));
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
    if (!text.raw) text.el.append(el("span", { class: "esa-none", text: "empty output" }));
  }

  function drawCards() {
    for (const o of data.outputs) {
      const { card, state, buttons, name } = cards.get(o.id);
      const { marks, verdict: given } = of(o.id);
      name.textContent = o.name ?? "";
      state.textContent = given ? "" : marks.length ? `${marks.length} ${marks.length === 1 ? "error span" : "error spans"}` : "not labelled yet";
      buttons.forEach((b) => { b.setAttribute("aria-pressed", String(b.dataset.verdict === given)); b.disabled = data.locked.includes(o.id); });
      card.classList.toggle("esa-target", o.id === target);
      card.classList.toggle("esa-wanted", wanted.some((w) => w.output === o.id));
      card.classList.toggle("esa-done", Boolean(given || marks.length));
    }
    const forWhom = pane.querySelector(".esa-for");
    if (forWhom) fill(forWhom, [el("span", { text: "Omission: select the missing words here. They are missing in output" }), chips("Omission in")]);
    root.classList.toggle("esa-wide", around);
  }

  const chips = (what) =>
    el("span", { class: "esa-chips", role: "group", "aria-label": `${what} output` }, ...data.outputs.map((o, i) =>
      el("button", { type: "button", text: String(i + 1), title: o.label, "aria-label": `${what} ${o.label.toLowerCase()}`, "aria-pressed": String(o.id === target), onclick: () => { commitNote(); target = o.id; mark = null; draw(); } })));

  function drawSide() {
    if (side.contains(document.activeElement) && document.activeElement.tagName === "TEXTAREA") return;
    const marks = listed();
    const given = of(target).verdict;
    const rows = marks.map((m, i) => markRow(m, i + 1));
    const empty = given ? `${VERDICTS[given]}.` : "No error spans yet. Select a word or a passage, then press 1, 2 or 3. If there is no error, press N.";
    const scrolled = side.scrollTop;
    fill(side, [
      el("div", { class: "esa-head" }, el("h4", { text: output(target).label }), chips("Error spans of")),
      rows.length ? el("ol", { class: "esa-marks" }, ...rows) : el("p", { class: "esa-quiet", text: empty }),
    ]);
    side.scrollTop = scrolled;
  }

  function markRow(m, n) {
    const pick = () => { commitNote(); [mark, sel, half] = [m.id, null, false]; draw(); };
    const active = m.id === mark;
    const note = el("textarea", { class: "esa-note", rows: "1", maxlength: "10000", dir: "auto", placeholder: "Note", "aria-label": `Note on error span ${n}`, "data-mark": m.id });
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
      el("button", { type: "button", class: "esa-quote", onclick: pick, title: "Select this error span" },
        el("span", { class: "esa-n", text: String(n) }), el("q", { dir: "auto", text: m.quote || "(position)" }), m.side === "source" ? el("small", { text: "source" }) : null),
      el("button", { type: "button", class: "esa-x", title: "Delete (Del)", "aria-label": `Delete error span ${n}`, text: "×", onclick: () => deleteMark(m.id) }),
      el("div", { class: "esa-fields" },
        el("span", { class: "esa-seg", role: "group", "aria-label": "Severity" }, ...SEVERITIES.map((s) =>
          el("button", { type: "button", class: s.toLowerCase(), text: s, "aria-pressed": String(m.severity === s), onclick: () => { pick(); changeMark(m.id, { severity: s }); } }))),
        el("button", { type: "button", class: `esa-category${m.category ? "" : " none"}`, text: m.category ? m.category.replace("/", " › ") : "choose a category", title: "Category (C)", onclick: (e) => { pick(); editCategory(side.querySelector(`li[data-mark="${CSS.escape(m.id)}"] .esa-category`) ?? e.target); } }),
        active ? el("button", { type: "button", class: "esa-plain", text: "boundaries", title: "Change boundaries (B)", onclick: startRebound }) : null),
      active || m.note ? note : null);
  }

  const withdrawn = () => [...data.events, ...outbox.of(place.rater, place).map((e) => e.action)].some((a) => a.kind === "submit");

  function drawFoot() {
    if (!data) return;
    const [tone, text] = savedState();
    const keys = [["1", "Major"], ["2", "Minor"], ["3", "Neutral"], ["C", "category"], ["N", "no error"], ["X", data.whole.name.toLowerCase()]];
    const steps = [["undo", "U", "Undo", labels.canUndo], ["redo", "R", "Redo", labels.canRedo]];
    const said = wanted.length
      ? el("div", { class: "esa-said alert", role: "alert" }, el("span", { text: wanted.length === 1 ? "1 thing is missing:" : `${wanted.length} things are missing:` }),
        ...wanted.slice(0, 4).map((w) => el("button", { type: "button", class: "esa-plain", text: w.text, onclick: () => reach(w) })), wanted.length > 4 ? el("span", { text: `and ${wanted.length - 4} more` }) : null)
      : message ? el("div", { class: `esa-said ${message.tone}`, role: "status", text: message.text })
      : data.locked.length ? el("div", { class: "esa-said done", role: "status", text: LOCKED })
      : labels.submitted ? el("div", { class: "esa-said done", role: "status", text: data.next ? "Submitted. Enter goes to the next segment that you have not submitted." : "Submitted. All segments are done: thank you! The top of the page says what to do next." })
      : withdrawn() ? el("div", { class: "esa-said alert", role: "status", text: "You changed this segment after you submitted it. It does not count until you submit it again." }) : null;
    fill(foot,
      [said,
        el("div", { class: "esa-bar" },
          el("div", { class: "esa-hints" }, ...keys.map(([k, what]) => el("span", {}, el("kbd", { text: k }), ` ${what}`)),
            el("button", { type: "button", class: "esa-plain", onclick: toggleHelp }, el("kbd", { text: "?" }), " help"),
            data.outputs.some((o) => o.before || o.after) ? el("button", { type: "button", class: "esa-plain", "aria-pressed": String(around), title: "Text of the same system before and after", onclick: toggleAround }, el("kbd", { text: "D" }), around ? " hide context" : " context") : null),
          el("span", { class: "esa-steps" }, ...steps.map(([kind, k, what, possible]) =>
            el("button", { type: "button", "data-key": kind, disabled: !possible || data.locked.length > 0, title: `${what} (${k})`, onclick: () => step(kind) }, el("kbd", { text: k }), ` ${what}`))),
          el("span", { class: `esa-saved ${tone}`, role: "status", "data-testid": "saved-state", text }),
          el("button", { type: "button", class: "esa-submit", "data-key": "submit", "data-testid": "submit", text: labels.submitted ? (data.next ? "Next not submitted ⏎" : "Submitted ✓") : "Submit ⏎", disabled: labels.submitted && !data.next, onclick: submit }))].filter(Boolean),
    );
    clearFoot();
  }

  /** Keep the foot above the line of running jobs, and what is scrolled to above both. */
  function clearFoot() {
    const jobs = document.querySelector(".st-key-errorscope-foot")?.closest("[data-testid=stLayoutWrapper]")?.offsetHeight ?? 0;
    foot.style.bottom = `${jobs}px`;
    root.style.setProperty("--below", `${foot.offsetHeight + jobs}px`);
  }

  function drawTool() {
    const show = focus && sel && !isEmpty(sel) && !dragging && picker.hidden && !data.locked.includes(target);
    tool.hidden = !show;
    if (!show || isPressed(tool)) return;
    tool.replaceChildren(...(rebound
      ? [el("button", { type: "button", text: "Set boundaries ⏎", onclick: endRebound }), el("button", { type: "button", text: "Cancel", onclick: clear })]
      : [...SEVERITIES.map((s, i) => el("button", { type: "button", class: s.toLowerCase(), title: data.severities[i].definition, onclick: () => addMark(s) }, el("kbd", { text: String(i + 1) }), ` ${s}`)),
        focus === "source" ? el("small", { text: `omission, ${output(target).label}` }) : half ? el("small", { text: "or click at its end" }) : null].filter(Boolean)));
    float(tool, rectOf(texts.get(focus), startOf(sel), endOf(sel)), true);
  }

  function float(node, anchor, above) {
    const box = root.getBoundingClientRect();
    const { offsetWidth: w, offsetHeight: h } = node;
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

  /** The place and the character under a point of the screen. */
  function hit(text, x, y) {
    const caret = document.caretPositionFromPoint?.(x, y);
    const range = caret ? null : document.caretRangeFromPoint?.(x, y);
    const [node, offset] = caret ? [caret.offsetNode, caret.offset] : range ? [range.startContainer, range.startOffset] : [null, 0];
    const piece = text.nodes.find((p) => p.node === node || p.node.parentNode === node);
    if (!piece) {
      const box = text.el.getBoundingClientRect();
      if (!text.el.contains(node) && y < box.top) return { at: 0, character: 0 };
      if (!text.el.contains(node) && y > box.bottom) return { at: text.raw.length, character: Math.max(0, text.raw.length - 1) };
      return null;
    }
    const at = text.floor(piece.from + (piece.node === node ? offset : 0));
    const before = text.previous(at);
    const inside = [...rangeOf(text, before, at).getClientRects()].some((r) => x >= r.left && x <= r.right && y >= r.top - 2 && y <= r.bottom + 2);
    return { at, character: at > 0 && inside ? before : at };
  }

  let dragging = false;
  let pressing = false;

  function press(text, e) {
    if (e.button !== 0) return;
    commitNote();
    const start = hit(text, e.clientX, e.clientY);
    const sameText = focus === text.id;
    const first = { x: e.clientX, y: e.clientY };
    const old = sameText ? sel : null;
    const wasHalf = half && sameText;
    if (!sameText || (!old && !mark)) sel = sel && sameText ? sel : placed(start?.at ?? 0);
    pressing = Boolean(start && text.raw);
    text.el.focus({ preventScroll: true });
    if (!pressing) return draw();
    const word = text.token(start.character);
    const base = e.altKey || !word ? placed(start.at) : onToken(word);
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
    if (!m) return say("Select an error span first (M: next one).");
    const text = textOf(m);
    focus = text.id;
    openPicker({
      title: `${m.severity}: “${m.quote}”`, side: m.side, path: m.category,
      at: anchor ? anchor.getBoundingClientRect() : rectOf(text, text.units(m.start), text.units(m.end)),
      choose: (c) => changeMark(m.id, { category: c.path }),
    });
  }

  function openPicker({ title, side: where, path = "", at: anchor, choose }) {
    const choices = data.categories.filter((c) => c.where === "either" || c.where === where);
    let shown = choices;
    let at = Math.max(0, choices.findIndex((c) => c.path === path));
    const input = el("input", { type: "text", class: "esa-filter", placeholder: "Type to filter", role: "combobox", "aria-expanded": "true", "aria-autocomplete": "list", "aria-controls": "esa-categories", "aria-label": "Filter categories", autocomplete: "off", spellcheck: "false" });
    const list = el("div", { class: "esa-options", role: "listbox", id: "esa-categories", "aria-label": "Categories" });
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
        const [top, sub] = c.path.split("/");
        const head = sub && top !== group ? [el("div", { class: "esa-group", text: top })] : [];
        group = top;
        const option = el("button", { type: "button", role: "option", id: `esa-category-${i}`, tabindex: "-1", class: sub ? "sub" : "top", "aria-selected": String(i === at), text: sub ?? top, onclick: () => take(c), onmouseenter: () => explain(c) });
        return [...head, option];
      }));
      explain(shown[at]);
      input.setAttribute("aria-activedescendant", shown.length ? `esa-category-${at}` : "");
      if (!shown.length) list.append(el("p", { class: "esa-quiet", text: "No matching category" }));
      const [row, box] = [list.querySelector("[aria-selected=true]")?.getBoundingClientRect(), list.getBoundingClientRect()];
      if (row) list.scrollTop += Math.min(0, row.top - box.top) + Math.max(0, row.bottom - box.bottom); // the page stays where it is
    };
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      shown = choices.filter((c) => words.every((w) => c.path.toLowerCase().includes(w)));
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
      el("p", { class: "esa-quiet esa-title", dir: "auto", text: title }),
      el("p", { class: "esa-quiet", text: `${path ? "" : "Choose a category to save the error span. "}Type to search, \u2191 \u2193 and Enter choose, Esc cancels. Other keys, such as C and N, work when the list is closed.` }),
      input, list, about);
    picker.hidden = false;
    tool.hidden = true;
    fill();
    float(picker, anchor, false);
    input.focus({ preventScroll: true });
    picker.scrollIntoView({ block: "nearest" });
  }

  function closePicker() {
    if (picker.hidden) return;
    picker.hidden = true;
    texts.get(focus ?? target).el.focus({ preventScroll: true });
    draw();
  }

  function editNote() {
    if (barred(target)) return;
    if (!mark) return say("Select an error span first (M: next one).");
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
    if (!m) return say("Select an error span first (M: next one).");
    const text = textOf(m);
    rebound = m.id;
    focus = text.id;
    const [start, end] = [text.units(m.start), text.units(m.end)];
    sel = { base: { start, end: start }, head: end };
    text.el.focus({ preventScroll: true });
    say("Select the new passage, or move its end with Shift + arrows (Alt: by character). Enter saves, Esc cancels.");
    draw();
  }

  function endRebound() {
    const id = rebound;
    const text = texts.get(focus);
    const [start, end] = [startOf(sel), endOf(sel)];
    if (isEmpty(sel) || text !== textOf(find(id))) return say("Select the new passage in the same text.", "alert");
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

  function toggleHelp() {
    if (help.open) return help.close();
    const explained = (rows) => el("dl", { class: "esa-explained" }, ...rows.flatMap((r) => [el("dt", { dir: "auto", text: (r.path ?? r.name).replace("/", " › ") }), el("dd", { dir: "auto" }, r.definition, r.example ? el("span", { class: "esa-quiet", text: ` ${r.example}` }) : null)]));
    help.replaceChildren(el("button", { type: "button", class: "esa-close", text: "Close", onclick: () => help.close() }),
      el("h4", { text: "Severities" }), explained(data.severities),
      el("h4", { text: `Categories: ${data.typology}` }), explained([...data.categories, data.whole]),
      el("h4", { text: "Keys" }),
      el("dl", {}, ...KEYS.flatMap(([k, what]) => [el("dt", {}, el("kbd", { text: k })), el("dd", { text: what })])));
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
    if (!id) return say("This output has no error spans yet.");
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

  const commands = {
    1: () => severity("Major"), 2: () => severity("Minor"), 3: () => severity("Neutral"),
    c: () => editCategory(), t: editNote, b: startRebound, o: nextTarget, d: toggleAround, "?": toggleHelp,
    m: (e) => nextMark(e.shiftKey ? -1 : 1), delete: () => deleteMark(mark), backspace: () => deleteMark(mark),
    u: () => step("undo"), r: () => step("redo"), n: () => verdict(target, "no_error"), x: () => verdict(target, "non_translation"),
    j: () => travel("next"), k: () => travel("previous"), g: () => travel("unlabelled"), escape: clear, enter: () => (rebound ? endRebound() : submit()),
  };

  function nameOf(e) {
    if (/^(Digit|Numpad)[123]$/.test(e.code) && !e.shiftKey) return e.code.at(-1);
    if (/^Key[A-Z]$/.test(e.code) && e.key.length === 1 && e.key > "\u007f") return e.code.at(-1).toLowerCase(); // a keyboard of another script
    return e.key.toLowerCase();
  }

  function onKey(e) {
    const on = document.activeElement;
    if (!data || !root.isConnected || e.isComposing || !(root.contains(on) || on === document.body || !on)) return;
    if (e.target.matches?.("input, textarea, select, [contenteditable=true]")) {
      if (e.key !== "Escape" || e.target.tagName !== "TEXTAREA") return;
      texts.get(focus ?? target)?.el.focus({ preventScroll: true });
      return;
    }
    if (help.open || clash.open) return;
    const text = [...texts.values()].find((t) => t.el === on);
    let run = null;
    if (e.ctrlKey || e.metaKey) {
      const k = e.key.toLowerCase();
      if (k === "z" || k === "y") run = () => step(k === "y" || e.shiftKey ? "redo" : "undo");
    } else if (text && /^(Arrow|Home|End)/.test(e.key)) run = () => arrow(text, e);
    else if (text && e.key === "Tab") {
      const next = [...texts.keys()][[...texts.keys()].indexOf(text.id) + (e.shiftKey ? -1 : 1)];
      if (next) run = () => { mark = null; focusOn(next); showCursor(); };
    } else if (e.key === "Tab" && !e.shiftKey && (!on || on === document.body)) run = () => { focusOn(target); showCursor(); };
    else if (!e.altKey && !(on?.tagName === "BUTTON" && (e.key === "Enter" || e.key === " "))) {
      const command = commands[nameOf(e)];
      if (command) run = () => command(e);
    }
    if (!run) return;
    e.preventDefault();
    e.stopImmediatePropagation();
    run();
  }

  function onCopy(e) {
    if (isEmpty(sel) || document.activeElement !== texts.get(focus)?.el) return;
    e.clipboardData.setData("text/plain", texts.get(focus).raw.slice(startOf(sel), endOf(sel)));
    e.preventDefault();
  }

  function onLeave(e) {
    commitNote();
    if (e.type === "beforeunload" && !outbox.durable() && outbox.of(place.rater).length) e.preventDefault();
  }

  const online = () => { flight.wait = FIRST_RETRY; flush(true); };
  const listeners = [
    [window, "keydown", onKey, true], [window, "online", online], [window, "offline", drawFoot], [window, "focus", lookAgain],
    [document, "visibilitychange", lookAgain], [window, "pagehide", onLeave], [window, "beforeunload", onLeave], [root, "copy", onCopy], [window, "resize", () => drawTool()],
  ];
  for (const [where, type, f, capture] of listeners) where.addEventListener(type, f, capture ?? false);
  const clearing = setInterval(clearFoot, 1000); // jobs start and end without the editor
  tool.addEventListener("mousedown", (e) => e.preventDefault());

  return {
    update(component) {
      const next = component.data;
      if (!next) return;
      send = (value) => component.setStateValue("outbox", value);
      [go, stop] = connected(component);
      const there = { rater: next.rater, project: next.project, doc: next.doc, segment: next.segment };
      const moved = !place || Object.keys(there).some((k) => there[k] !== place[k]);
      VERDICTS.non_translation = next.whole.name;
      const shape = (d) => JSON.stringify([d.whole.name, d.source, d.before, d.after, d.references, d.outputs.map((o) => [o.id, o.label, o.text, o.before, o.after])]);
      if (moved && data) commitNote();
      if (place && place.rater !== there.rater) flight.savedAt = null;
      const rebuilt = moved || shape(next) !== shape(data);
      const had = rebuilt && !moved ? focus : null;
      const mine = labels;
      if (moved && place && outbox.of(place.rater, place).length) left.set(keyOf(place), mine);
      [data, place] = [next, there];
      if (moved) {
        outbox.recall();
        [target, focus, sel, half, mark, rebound, wanted, message] = [data.outputs[0].id, null, null, false, null, null, [], null];
        picker.hidden = true;
      }
      if (rebuilt) build();
      if (had && texts.has(had)) texts.get(had).el.focus({ preventScroll: true });
      heard(mine);
      refold();
      if (moved && unsettled.get(keyOf(place))) compare(unsettled.get(keyOf(place)));
      unsettled.delete(keyOf(place));
      if (moved) begin(lastFocus.place === keyOf(place) ? lastFocus.id : null);
      draw();
      if (outbox.of(place.rater).length && !flight.open && ![...flight.ids].length) flush();
      else if (moved && outbox.of(place.rater).length) flush(true);
    },
    destroy() {
      if (data) commitNote();
      clearTimeout(flight.timer);
      clearTimeout(waiting);
      clearInterval(clearing);
      stop();
      for (const [where, type, f, capture] of listeners) where.removeEventListener(type, f, capture ?? false);
      root.remove();
    },
  };
}

/** Called at every change of `data`. */
export default function (component) {
  const { parentElement } = component;
  const [editor, release] = mounted(parentElement, () => createEditor(parentElement), (held) => held.destroy());
  editor.update(component);
  return release;
}
