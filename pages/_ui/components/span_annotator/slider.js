// The score of an output: a scale from 0 to 100 that shows no position until a value is chosen.

import { el, freshId } from "../shared/elements.js";
import { phrase } from "./texts.js";

const HIGHEST = 100;
const SETTLE_MS = 300;
const TYPING_MS = 1000; // after a digit that another one may follow
const SMALL_STEP = 1;
const LARGE_STEP = 10;
const UNSET = null;
const MOST_BELOW = 5; // anchors that fit below the scale

/** The columns of the labels under the scale, in percent: each label is centred on its tick, the outer ones begin and end there. */
function anchorColumns(values) {
  const between = values.slice(1).map((v, i) => {
    const before = values[i];
    const share = i === 0 ? 0.6 : i === values.length - 2 ? 0.4 : 0.5;
    return before + share * (v - before);
  });
  return values.map((v, i) => {
    if (i === 0) return [v, between[0] ?? HIGHEST];
    if (i === values.length - 1) return [between[i - 1], v];
    const half = Math.min(v - between[i - 1], between[i] - v);
    return [v - half, v + half];
  });
}

/** The values of a scale with their texts. */
export const anchorLabels = (anchors) => anchors.map(({ value, text }) => el("span", { class: "esa-anchor", dir: "auto" }, el("b", { text: String(value) }), ` ${text}`));

/** `change(value)` is called once for each change that has settled; null means that the score was removed. With `short`, only the anchor nearest to the value is shown. */
export function createSlider({ name, anchors, short, change, focused, allowed }) {
  const ticks = (anchors.length ? [...anchors] : [{ value: 0, text: "" }, { value: HIGHEST, text: "" }]).sort((a, b) => a.value - b.value);
  const fill = el("span", { class: "esa-fill" });
  const thumb = el("span", { class: "esa-thumb" });
  const about = el("div", { class: "esa-anchors", id: `esa-anchors-${freshId()}` });
  const rail = el("div", { class: "esa-rail" }, fill, ...ticks.map(({ value }) => placedAt(el("span", { class: "esa-tick", "data-value": value }), value)), thumb);
  const track = el("div", { class: "esa-track", role: "slider", tabindex: "0", "aria-label": name, "aria-valuemin": "0", "aria-valuemax": String(HIGHEST), "aria-describedby": about.id }, rail);
  const shown = el("span", { class: "esa-value", "aria-hidden": "true" });
  const node = el("div", { class: "esa-score" }, el("div", { class: "esa-row" }, el("div", { class: "esa-scale" }, track, about), shown));
  const labels = anchorLabels(ticks);
  anchorColumns(ticks.map((t) => t.value)).forEach(([from, to], i) => {
    labels[i].style.setProperty("--from", `${from}%`);
    labels[i].style.setProperty("--wide", `${to - from}%`);
  });
  about.append(...labels);
  node.classList.toggle("esa-many", ticks.length > MOST_BELOW);
  node.classList.toggle("esa-short", Boolean(short));

  let stored = UNSET;
  let draft; // undefined: what is shown is stored
  let typed = "";
  let timer = 0;
  let holding = false;

  function placedAt(part, value) {
    part.style.setProperty("--at", `${value}%`);
    return part;
  }

  function nearest(value) {
    const distance = (i) => Math.abs(ticks[i].value - value);
    labels.forEach((label, i) => label.classList.toggle("esa-nearest", value !== UNSET && labels.every((_, k) => distance(k) > distance(i) || (distance(k) === distance(i) && k >= i))));
  }

  function paint() {
    const value = draft === undefined ? stored : draft;
    node.classList.toggle("esa-unset", value === UNSET);
    nearest(value);
    placedAt(thumb, value ?? 0);
    placedAt(fill, value ?? 0);
    shown.textContent = value === UNSET ? phrase("score.unset") : String(value);
    track.setAttribute("aria-valuenow", String(value ?? 0));
    track.setAttribute("aria-valuetext", value === UNSET ? phrase("score.unset") : phrase("score.value", { value }));
  }

  function set(value, wait = SETTLE_MS) {
    if (!allowed()) return;
    draft = value === UNSET ? UNSET : Math.max(0, Math.min(HIGHEST, Math.round(value)));
    paint();
    clearTimeout(timer);
    if (!holding) timer = setTimeout(settle, wait);
  }

  function settle() {
    clearTimeout(timer);
    typed = "";
    if (draft === undefined) return;
    const value = draft;
    draft = undefined;
    if (value === stored) return;
    stored = value;
    change(value);
  }

  /** Take a key; return whether it was one of the slider. */
  function key(e) {
    if (e.ctrlKey || e.metaKey || e.altKey) return false;
    const digit = /^\d$/.test(e.key) ? e.key : /^(Digit|Numpad)\d$/.test(e.code) && !e.shiftKey ? e.code.at(-1) : null;
    if (digit !== null) {
      typed = Number(typed + digit) > HIGHEST ? digit : String(Number(typed + digit));
      const mayGrow = typed === "10" || typed.length < 2;
      set(Number(typed), mayGrow ? TYPING_MS : SETTLE_MS);
      return true;
    }
    const now = draft ?? stored;
    const rtl = getComputedStyle(track).direction === "rtl";
    const by = { ArrowUp: SMALL_STEP, ArrowDown: -SMALL_STEP, ArrowRight: rtl ? -SMALL_STEP : SMALL_STEP, ArrowLeft: rtl ? SMALL_STEP : -SMALL_STEP, PageUp: LARGE_STEP, PageDown: -LARGE_STEP }[e.key];
    if (e.key === "Backspace" && typed.length > 1) {
      typed = typed.slice(0, -1);
      set(Number(typed), TYPING_MS);
      return true;
    }
    if (by === undefined && !["Home", "End", "Backspace", "Delete"].includes(e.key)) return false;
    typed = "";
    if (e.key === "Home") set(0);
    else if (e.key === "End") set(HIGHEST);
    else if (by === undefined) set(UNSET);
    else set((now ?? HIGHEST / 2) + by); // the first step begins in the middle
    return true;
  }

  function valueAt(e) {
    const box = rail.getBoundingClientRect();
    const share = (e.clientX - box.left) / box.width;
    return HIGHEST * (getComputedStyle(track).direction === "rtl" ? 1 - share : share);
  }

  // A finger that moves up or down scrolls the page, so a touch counts when it moves sideways or ends where it began.
  track.addEventListener("pointerdown", (e) => {
    if (e.button !== 0 || !allowed()) return;
    const ends = new AbortController();
    const before = draft;
    let moving = e.pointerType !== "touch";
    holding = true;
    typed = "";
    track.focus({ preventScroll: true });
    track.setPointerCapture?.(e.pointerId);
    if (moving) set(valueAt(e));
    track.addEventListener("pointermove", (m) => {
      moving ||= Math.abs(m.clientX - e.clientX) > 6;
      if (moving) set(valueAt(m));
    }, { signal: ends.signal });
    const done = (u) => {
      ends.abort();
      holding = false;
      if (u.type === "pointercancel") {
        draft = before;
        paint();
        timer = setTimeout(settle, SETTLE_MS);
      } else set(valueAt(u));
    };
    for (const kind of ["pointerup", "pointercancel"]) track.addEventListener(kind, done, { signal: ends.signal });
  });
  track.addEventListener("pointermove", (e) => { if (!holding && e.pointerType === "mouse") nearest(valueAt(e)); });
  track.addEventListener("pointerleave", () => paint());
  track.addEventListener("mousedown", (e) => e.preventDefault()); // no selection of text while dragging
  track.addEventListener("focus", focused);
  track.addEventListener("blur", settle);
  paint();

  return {
    node, track, settle, key,
    /** Show the stored value, unless another one was just chosen. */
    show(value, locked) {
      stored = value;
      track.setAttribute("aria-disabled", String(locked));
      node.classList.toggle("esa-locked", locked);
      paint();
    },
  };
}
