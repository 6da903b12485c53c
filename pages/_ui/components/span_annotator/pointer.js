// Marking with a pointer: a drag, two clicks, or two taps. A finger that moves scrolls the page.

import { hit } from "./places.js";
import { onToken, placed } from "./text.js";

const DRAG_PX = 4;

/** Listen to pointers on a drawn text. `getState()` is the state of the editor; `focused()` gives the text the keyboard focus. */
export function listen(text, { getState, run, focused }) {
  /** Put the cursor into the text; return where it is and what was selected, or null in an empty text. */
  function point(e) {
    run({ do: "commitNote" });
    const start = hit(text, e.clientX, e.clientY);
    const state = getState();
    const same = state.focus === text.id;
    const before = { old: same ? state.selection : null, wasHalf: same && state.half };
    run({ do: "press", id: text.id, at: start?.at ?? 0, pressing: Boolean(start && text.raw) && e.type === "pointerdown" });
    focused();
    if (!start || !text.raw) return null;
    const word = text.token(start.character);
    return { ...start, ...before, base: e.altKey || !word ? placed(start.at) : onToken(word) };
  }

  function press(e) {
    if (e.button !== 0) return;
    const start = point(e);
    if (!start) return;
    const ends = new AbortController();
    let dragging = false;
    text.el.addEventListener("pointermove", (m) => {
      if (!dragging && Math.hypot(m.clientX - e.clientX, m.clientY - e.clientY) < DRAG_PX) return;
      const now = hit(text, m.clientX, m.clientY);
      if (!now) return;
      if (!dragging) text.el.setPointerCapture?.(e.pointerId);
      dragging = true;
      run({ do: "drag", id: text.id, from: e.shiftKey && start.old ? start.old : start.base, to: now.at, byCharacter: m.altKey });
    }, { signal: ends.signal });
    const up = (u) => {
      ends.abort();
      const cancelled = u.type === "pointercancel";
      if (!cancelled && !dragging) run({ do: "click", id: text.id, ...start, extend: e.shiftKey, byCharacter: e.altKey });
      run({ do: "release", id: text.id, cancelled });
    };
    for (const kind of ["pointerup", "pointercancel"]) text.el.addEventListener(kind, up, { signal: ends.signal });
  }

  let finger = false;
  text.el.addEventListener("mousedown", (e) => e.preventDefault());
  text.el.addEventListener("selectstart", (e) => e.preventDefault());
  text.el.addEventListener("pointerdown", (e) => {
    finger = e.pointerType === "touch";
    if (!finger) press(e);
  });
  text.el.addEventListener("click", (e) => {
    const start = finger && point(e);
    if (start) run({ do: "click", id: text.id, ...start, extend: false, byCharacter: false });
  });
}
