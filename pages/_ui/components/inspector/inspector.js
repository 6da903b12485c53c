// What is shown is `view.at`: "r" and a round, or "t" and the number of a try. Offsets are code points, as in the rest of
// Errorscope: texts are cut as arrays of characters.

import { connected, mounted } from "../shared/component.js";
import { el, put, signed } from "../shared/elements.js";

const button = (text, act, { focus, title, className } = {}) => {
  const b = el("button", className, text);
  b.type = "button";
  if (title) b.title = title;
  if (focus) b.dataset.focus = focus;
  b.addEventListener("click", act);
  return b;
};
const change = (x) => (Number(Math.abs(x).toFixed(3)) === 0 ? "\u00b10" : (x > 0 ? "+" : "") + signed(x));
const percent = (p) => (p < 0.0001 ? "< 0.01 %" : `${p < 0.01 ? (100 * p).toFixed(2) : p < 0.1 ? (100 * p).toFixed(1) : Math.round(100 * p)} %`);
const points = (text) => Array.from(text);
const BROKEN = "\ufffd", PART = "part of a character";
const bare = (word) => word.includes(BROKEN) ? PART : word.trim() || word.replace(/\n/g, "\u23ce").replace(/\s/g, "\u2423");
const quoted = (word) => el("bdi", "", word.includes(BROKEN) ? PART : `\u201c${bare(word)}\u201d`);
const number = (text) => el("span", "esi-num", text);
const LETTER = /[\p{L}\p{N}]/u, SPACELESS = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u;

const seen = (view, at = view.at) => (at[0] === "t" ? view.data.tries.find((t) => `t${t.n}` === at)?.round : view.data.rounds[Number(at.slice(1))]) ?? view.data.rounds[0];
const named = (view, at) => (at === "r0" ? "the output" : at[0] === "t" ? `try ${place(view, at)}` : Number(at.slice(1)) === view.data.rounds.length - 1 && view.data.complete ? "the refined text" : `step ${at.slice(1)}`);
const place = (view, at) => { const i = view.data.tries.findIndex((t) => `t${t.n}` === at); return i < 0 ? "?" : view.data.tries[i].number; };

// Stepping

function show(view, at) {
  view.at = at;
  view.token = null;
  drawStage(view);
  drawTries(view);
}

function step(view, by) {
  const now = view.at[0] === "r" ? Number(view.at.slice(1)) : by > 0 ? -1 : 1;
  const to = now + by;
  if (to >= 0 && to < view.data.rounds.length) show(view, `r${to}`);
}

function roundsBar(view) {
  const { rounds, complete, edits } = view.data;
  const now = view.at[0] === "r" ? Number(view.at.slice(1)) : -1;
  const bar = el("div", "esi-rounds");
  if (rounds.length > 1) {
    const back = button("\u2190", () => step(view, -1), { focus: "back", title: "previous step (\u2190)" });
    const next = button("\u2192", () => step(view, 1), { focus: "next", title: "next step (\u2192)" });
    back.setAttribute("aria-label", "previous step");
    next.setAttribute("aria-label", "next step");
    back.disabled = now === 0;
    next.disabled = now === rounds.length - 1;
    const dots = el("div", "esi-dots");
    dots.setAttribute("role", "group");
    dots.setAttribute("aria-label", "steps");
    rounds.forEach((r, i) => {
      const dot = put(button("", () => show(view, `r${i}`), { focus: `dot${i}`, className: "esi-dot", title: `${i === 0 ? "the output" : i === rounds.length - 1 ? "the refined text" : `step ${i}`}, BARTScore ${signed(r.score)}` }), el("i"));
      dot.setAttribute("aria-label", `step ${i}`);
      if (i === now) dot.setAttribute("aria-current", "step");
      dots.append(dot);
    });
    put(bar, back, next, dots);
    bar.classList.toggle("esi-many", rounds.length > 14);
  }
  const last = rounds.length - 1;
  const title = now < 0 ? `your text, ${named(view, view.at)}` : now === 0 ? (last || !complete ? "Step 0: the original output" : "the output") : now === last ? `Step ${last}: the refined text` : `Step ${now}: after ${now} edit${now > 1 ? "s" : ""}`;
  put(bar, el("span", "esi-title", title));
  if (now < 0) bar.append(button("back to the steps", () => show(view, "r0"), { focus: "rounds" }));
  if (!complete) bar.append(button(`replay its ${edits} edits`, (e) => { e.target.disabled = true; e.target.textContent = "replaying \u2026"; view.send("replay"); }, { focus: "replay", title: "long text with many edits: this may take a while" }));
  return bar;
}

function whatNext(view, round) {
  const line = el("p", "esi-what");
  line.setAttribute("aria-live", "polite");
  if (round.step) {
    const [edit, old, fresh, before, after] = round.step;
    const what = el("span");
    if (edit === "substitute") put(what, "next edit: ", put(el("del"), quoted(old)), " \u2192 ", put(el("ins"), quoted(fresh)));
    else if (edit === "delete") put(what, "next edit: ", put(el("del"), quoted(old)), " is deleted");
    else put(what, "next edit: ", put(el("ins"), quoted(fresh)), old ? " is inserted before " : " is added at the end", old ? quoted(old) : null);
    return put(line, what, put(el("span"), "BARTScore ", number(`${signed(before)} \u2192 ${signed(after)} (${change(after - before)})`)));
  }
  put(line, put(el("span"), "BARTScore ", number(signed(round.score))));
  const first = view.data.rounds[0];
  if (round !== first) put(line, put(el("span"), number(change(round.score - first.score)), " against the output"));
  const { status, why, complete } = view.data;
  if (view.at === "r0" && complete) put(line, el("span", "esi-quiet", status === "non_translation" ? `classified as a non-translation, not edited: ${why}` : "no edit raises the score"));
  return line;
}

// The text as sub-words

// Each token as it is drawn: [label, blank after it]. The blank a token begins with is drawn at the end of the one before, where
// a line may break; the label of a further part of a character is "".
function shaped(tokens) {
  const blank = (i) => (i > 0 && i < tokens.length ? /^\s?/.exec(tokens[i][4])[0].replace("\n", "") : "");
  return tokens.map(([, , , , label], i) => [label.slice(blank(i).length).replace(/\n/g, "\u23ce"), blank(i + 1)]);
}

function tokensBox(view, round) {
  const box = el("div", "esi-tokens");
  box.dir = "auto";
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", "the tokens of the text; each opens its likely alternatives");
  const words = shaped(round.tokens);
  const at = round.step ? round.step[5] : -1;
  const fresh = () => {
    const ins = el("ins", "", round.step[2].includes(BROKEN) ? "\u25cc" : round.step[2].replace(/^\s(?=\S)/, ""));
    ins.title = `inserted here in the next edit: ${bare(round.step[2])}`;
    return put(el("span", "esi-new"), ins);
  };
  const lastOne = round.tokens.length - 1;
  const roving = view.token ?? (at >= 0 ? at : 0);
  round.tokens.forEach(([word, , , logp, label], i) => {
    if (i === at && round.step[0] === "insert") box.append(fresh());
    const [core, blank] = words[i], last = i === lastOne;
    const part = !last && !label;
    const level = Math.min(1, -logp / 8);
    const bar = el("i");
    bar.style.height = `${Math.round(2 + 34 * level)}px`;
    bar.style.opacity = String(0.35 + 0.65 * level);
    const struck = i === at && round.step[0] !== "insert";
    const tok = button(null, () => choose(view, view.token === i ? null : i), { focus: `tok${i}`, className: `esi-tok${struck ? " old" : ""}${last ? " end" : part ? " part" : ""}` });
    const name = last ? "end of the text" : part ? `another part of \u201c${word}\u201d` : `\u201c${bare(word)}\u201d`;
    tok.title = `${name}: p ${percent(Math.exp(logp))}, surprise \u2212log p = ${(-logp).toFixed(2)}`;
    tok.setAttribute("aria-label", `${name}, probability ${percent(Math.exp(logp))}${struck ? ", changed in the next edit" : ""}`);
    tok.setAttribute("aria-expanded", String(view.token === i));
    tok.tabIndex = i === Math.min(roving, lastOne) ? 0 : -1;
    box.append(put(tok, bar, put(el("span"), el("b", "", last ? "\u220e" : part ? "" : core), blank)));
    if (struck && round.step[0] === "substitute") box.append(fresh());
  });
  const covered = Math.max(0, ...round.tokens.slice(0, -1).map((t) => t[2]));
  const rest = points(round.text).slice(covered).join("");
  if (rest.trim()) {
    const over = el("p", "esi-rest", rest);
    over.dir = "auto";
    return [box, el("p", "esi-quiet", "Longer than the model reads: this part was not scored."), over];
  }
  return [box];
}

function choose(view, i) {
  view.token = i;
  drawStage(view);
  const tok = view.stage.querySelector(`[data-focus="tok${i}"]`);
  tok?.focus({ preventScroll: true });
  view.stage.querySelector(".esi-panel")?.scrollIntoView({ block: "nearest" });
}

// Alternatives for a token, and edits by the user

export function spliced(round, i, { word, before = false }) {
  const [, start, end] = round.tokens[i];
  const chars = points(round.text);
  return chars.slice(0, start).join("") + word + chars.slice(before ? start : end).join("");
}

function attempt(view, text) {
  const round = seen(view);
  if (text === round.text) { view.aloud.textContent = "That changes nothing."; return; }
  const n = Math.max(Date.now(), (view.n ?? 0) + 1);
  view.n = n;
  view.waiting.push({ n, base: view.at, text });
  view.send("attempts", { list: view.waiting.map((w) => ({ ...w })) });
  view.aloud.textContent = "scoring";
  drawTries(view);
}

function writeInstead(round, i, typed) {
  const [word, start] = round.tokens[i];
  const last = i === round.tokens.length - 1;
  if (!last) return spliced(round, i, { word: (word.match(/^\s*/)[0] || "") + typed.replace(/^\s+/, "") });
  const [a, b] = [points(round.text)[start - 1], points(typed)[0]];
  const apart = a && b && LETTER.test(b) && !/\s/.test(a) && !SPACELESS.test(a + b);
  return spliced(round, i, { word: (apart ? " " : "") + typed });
}

function panel(view, round, i) {
  const [word, , , logp] = round.tokens[i];
  const last = i === round.tokens.length - 1;
  const box = el("section", "esi-panel");
  box.setAttribute("aria-label", "likely alternatives");
  const name = put(el("p"), last ? el("b", "", "end of the text") : put(el("b"), quoted(word)), `, p ${percent(Math.exp(logp))}`);
  const tools = el("span");
  if (!last) tools.append(button("delete token", () => attempt(view, spliced(round, i, { word: "" })), { focus: "delete" }));
  put(box, put(el("div", "esi-panelhead"), name, tools));
  if (!round.near) put(box, el("p", "esi-quiet", "computing alternatives \u2026"));
  else {
    const near = [...round.near[i]];
    if (!near.some((r) => r[2])) near.push([word, Math.exp(logp), true]);
    put(box, el("p", "esi-quiet", last ? "Most probable here. Select one to add it at the end:" : "Most probable here. Select one to replace the token:"));
    const list = el("ol", "esi-near");
    near.forEach(([w, p, here = false], k) => {
      const writable = !w.includes(BROKEN) && !here;
      const label = here && last ? "end of the text" : bare(w);
      const take = button(null, () => attempt(view, spliced(round, i, { word: w, before: last })), { focus: `take${k}`, className: "esi-word" });
      take.append(el("bdi", w.includes(BROKEN) ? "esi-quiet" : "", label));
      take.disabled = !writable;
      take.title = here ? "current token" : writable ? (last ? "add at the end" : "replace the token") : "part of a character: cannot be inserted alone";
      take.setAttribute("aria-label", `${here ? "" : last ? "add " : "replace by "}${label}, ${percent(p)}${here ? ", current token" : ""}`);
      const fill = el("i");
      fill.style.width = `${100 * p}%`;
      const row = put(el("li", here ? "here" : ""), take, put(el("span", "esi-track"), fill), number(percent(p)));
      if (!last && !w.includes(BROKEN)) {
        const before = button(`insert before \u201c${bare(word)}\u201d`, () => attempt(view, spliced(round, i, { word: w, before: true })), { focus: `before${k}`, className: "esi-before" });
        before.setAttribute("aria-label", `insert ${label} before`);
        row.append(before);
      }
      list.append(row);
    });
    put(box, list);
  }
  const input = el("input");
  input.dir = "auto";
  input.dataset.focus = "typed";
  input.value = view.typed ?? "";
  input.autocomplete = "off";
  input.placeholder = "type and press Enter";
  const go = () => {
    if (!input.value.trim()) return;
    const text = writeInstead(round, i, input.value);
    input.value = view.typed = "";
    attempt(view, text);
  };
  input.addEventListener("input", () => { view.typed = input.value; });
  input.addEventListener("keydown", (e) => { if (e.key === "Enter" && !e.isComposing) { e.preventDefault(); go(); } });
  put(box, put(el("div", "esi-own"), put(el("label"), last ? "add text at the end" : "replace by", input), button("score", go, { focus: "score" })));
  return box;
}

function drawStage(view) {
  const round = seen(view);
  if (view.token !== null && view.token >= round.tokens.length) view.token = null;
  if (view.token !== null && !round.near && view.asked !== view.at) view.send("at", { round: Number((view.asked = view.at).slice(1)) });
  const keys = put(el("p", "esi-quiet esi-keys"), el("kbd", "", "\u2190"), " ", el("kbd", "", "\u2192"), " steps, ", el("kbd", "", "\u2191"), " ", el("kbd", "", "\u2193"), " tokens (word parts), ", el("kbd", "", "Enter"), " alternatives. Higher bar: more unexpected (\u2212log p).");
  kept(view, () => view.stage.replaceChildren(
    roundsBar(view), whatNext(view, round), ...tokensBox(view, round),
    view.token === null ? keys : panel(view, round, view.token),
  ));
}

// Tries

function drawTries(view) {
  const { tries } = view.data;
  const head = put(el("div", "esi-trieshead"), el("h4", "", "Your own edits"));
  if (tries.length || view.at[0] === "t") head.append(button("clear my edits", () => { show(view, "r0"); view.send("again"); }, { focus: "again", title: "back to the output; clears this list" }));
  const list = el("ol");
  for (const w of [...view.waiting].reverse()) {
    const text = el("bdi", "esi-trytext", w.text);
    list.append(put(el("li", "esi-try"), text, el("p", "esi-quiet", view.data.refused[w.n] ?? "scoring \u2026")));
  }
  for (const t of tries) {
    const text = el("p", "esi-trytext");
    text.dir = "auto";
    for (const [kind, words] of t.diff) text.append(kind === "same" ? words : el(kind === "insert" ? "ins" : "del", "", words));
    const here = view.at === `t${t.n}`;
    const foot = el("div", "esi-tryfoot");
    put(foot, number(`${signed(t.before)} \u2192 ${signed(t.after)}`), put(el("span", "esi-change"), number(change(t.after - t.before))), el("span", "esi-quiet", `from ${t.base}`));
    put(foot, here ? el("span", "esi-quiet", "shown") : button("continue from here", () => { show(view, `t${t.n}`); view.stage.scrollIntoView({ block: "nearest" }); }, { focus: `go${t.n}` }));
    list.append(put(el("li", `esi-try${here ? " here" : ""}`), text, foot));
  }
  const empty = !tries.length && !view.waiting.length;
  kept(view, () => view.tries.replaceChildren(head, empty ? el("p", "esi-quiet", "None yet. Select a token, then replace, insert or delete it, or type a text. The model scores the new text at once.") : list));
}

// Overlap of the model's edits with error spans of annotators

function drawOverlap(view) {
  const { overlap } = view.data;
  const box = view.overlap;
  box.replaceChildren(el("h4", "", "Model edits and error spans"));
  if (overlap.layers) {
    const text = el("p", "esi-layers");
    text.dir = "auto";
    for (const [words, edited, severity, raters, inserted] of overlap.layers) {
      if (inserted.trim()) {
        const gap = el("span", "esi-gap", "\u2038");
        gap.title = `inserted by the model: ${inserted.trim()}; counts no character`;
        text.append(gap);
      }
      const core = words.trim(), from = core ? words.indexOf(core) : 0;
      if (!core || (!edited && !severity)) { text.append(words); continue; }
      const run = el("span", [edited ? "esi-edited" : "", severity ? `esi-${severity}` : ""].join(" ").trim(), core);
      run.title = [edited ? "edited by the model" : "", severity ? `${severity}, marked by ${raters} of ${overlap.raters}` : ""].filter(Boolean).join("; ");
      text.append(words.slice(0, from), run, words.slice(from + core.length));
    }
    put(box, text);
  }
  if (overlap.layers) {
    const legend = el("div", "esi-legend esi-quiet");
    for (const [name, label] of [["esi-edited", "edited by the model"], ["esi-Major", "Major"], ["esi-Minor", "Minor"]]) legend.append(put(el("span"), el("span", name, label)));
    put(legend, put(el("span"), el("span", "esi-gap", "\u2038"), " inserted by the model, counts no character"));
    put(box, legend);
  }
  if (overlap.rows.length) {
    const top = put(el("tr"), el("th", "", ""));
    for (const [label, hint] of [["precision", "share of the characters edited by the model that annotators marked"], ["recall", "share of the characters marked by annotators that the model edited"], ["F", "harmonic mean of the two"], ["edited and marked", "characters edited by the model and marked by annotators"], ["edited by the model", "characters edited by the model"], ["marked by annotators", "characters marked by annotators"]]) {
      const th = el("th", "", label);
      th.title = hint;
      top.append(th);
    }
    const body = el("tbody");
    for (const row of overlap.rows) {
      const th = el("th", "", row.label);
      th.scope = "row";
      const line = put(el("tr"), th);
      if (row.p === null) { const td = el("td", "none", `undefined: ${row.why}`); td.colSpan = 6; line.append(td); }
      else for (const x of [row.p, row.r, row.f]) line.append(el("td", "", x.toFixed(3)));
      if (row.p !== null) for (const x of row.counts) line.append(el("td", "", x.toLocaleString("en")));
      body.append(line);
    }
    const wrap = put(el("div", "esi-tablebox"), put(el("table"), put(el("thead"), top), body));
    put(box, wrap);
  }
  for (const line of overlap.lines) put(box, el("p", "esi-quiet", line));
}

// The whole

function kept(view, redraw) {
  const active = view.root.contains(document.activeElement) ? document.activeElement.dataset.focus : null;
  const caret = active === "typed" ? [document.activeElement.selectionStart, document.activeElement.selectionEnd] : null;
  const scrolls = [...view.root.querySelectorAll(".esi-tokens, .esi-tries ol")].map((n) => n.scrollTop);
  redraw();
  [...view.root.querySelectorAll(".esi-tokens, .esi-tries ol")].forEach((n, i) => { n.scrollTop = scrolls[i] ?? 0; });
  const again = active && view.root.querySelector(`[data-focus="${active}"]:not(:disabled)`);
  if (again && again !== document.activeElement) again.focus({ preventScroll: true });
  if (again && caret) again.setSelectionRange(...caret);
  if (active && !again) view.root.focus({ preventScroll: true });
}

function drawHead(view) {
  const { data } = view;
  const title = el("h3");
  put(title, "Inspecting ", put(el("bdi"), data.name));
  const close = button("close", () => view.send("close"), { focus: "close", title: "close the inspector (Esc)" });
  const given = put(el("p", "esi-quiet esi-given"), `scored against ${data.against}: `, el("bdi", "", data.condition));
  kept(view, () => view.head.replaceChildren(put(el("div", "esi-head"), title, close), given, ...data.notes.map((n) => el("p", "esi-note", n))));
  view.root.setAttribute("aria-label", `inspector of ${data.name}`);
}

function onKey(view, event) {
  if (event.altKey || event.ctrlKey || event.metaKey || event.isComposing) return;
  const typing = event.target instanceof HTMLInputElement;
  if (event.key === "Escape") {
    if (view.token !== null) { const i = view.token; choose(view, null); view.stage.querySelector(`[data-focus="tok${i}"]`)?.focus(); }
    else view.send("close");
  } else if (typing || event.shiftKey) return;
  else if (event.key === "ArrowLeft") step(view, -1);
  else if (event.key === "ArrowRight") step(view, 1);
  else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    const now = /^tok(\d+)$/.exec(event.target.dataset?.focus ?? "");
    if (!now) return;
    view.stage.querySelector(`[data-focus="tok${Number(now[1]) + (event.key === "ArrowDown" ? 1 : -1)}"]`)?.focus();
  } else return;
  event.preventDefault();
  event.stopPropagation();
}

function answered(view) {
  const { data } = view;
  const done = view.waiting.filter((w) => w.n <= data.answered && !data.refused[w.n]);
  view.waiting = view.waiting.filter((w) => w.n > data.answered || (data.refused[w.n] && w.n === data.answered));
  if (!done.length || !data.tries.length) return;
  const t = data.tries[0];
  view.aloud.textContent = `BARTScore ${signed(t.before)} to ${signed(t.after)}, ${change(t.after - t.before)}`;
}

function create(parentElement) {
  const root = el("section", "esi");
  root.tabIndex = -1;
  const view = { root, at: "r0", token: null, waiting: [], prints: {} };
  [view.head, view.stage, view.tries, view.overlap, view.aloud] = ["div", "div", "section", "section", "p"].map((t) => el(t));
  view.tries.className = "esi-tries";
  view.overlap.className = "esi-overlap";
  view.aloud.className = "esi-aloud";
  view.aloud.setAttribute("role", "status");
  put(root, view.head, put(el("div", "esi-desk"), view.stage, view.tries), view.overlap, view.aloud);
  root.addEventListener("keydown", (event) => onKey(view, event));
  parentElement.append(root);
  return view;
}

export default function (component) {
  const { data, parentElement } = component;
  const [view, release] = mounted(parentElement, () => create(parentElement), (v) => { v.stop(); v.root.remove(); });
  const [send, stop] = connected(component);
  view.stop = stop;
  view.send = (name, value) => send(name, { ...value, n: Date.now() });
  view.data = data;
  if (data.key !== view.key) Object.assign(view, { key: data.key, at: "r0", token: null, waiting: [], typed: "", asked: null, prints: {} });
  if (view.at[0] === "t" ? !data.tries.some((t) => `t${t.n}` === view.at) : Number(view.at.slice(1)) >= data.rounds.length) Object.assign(view, { at: "r0", token: null });
  answered(view);
  const draw = (name, what, act) => { const print = JSON.stringify(what); if (print !== view.prints[name]) { view.prints[name] = print; act(view); } };
  draw("head", [data.name, data.against, data.condition, data.notes], drawHead);
  draw("stage", [data.rounds, data.complete, view.at], drawStage);
  draw("tries", [data.tries.map((t) => t.n), data.refused, view.waiting, view.at], drawTries);
  draw("overlap", data.overlap, drawOverlap);
  if (data.opened !== view.opened) {
    view.opened = data.opened;
    requestAnimationFrame(() => { view.root.focus({ preventScroll: true }); view.root.scrollIntoView({ block: "start", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" }); });
  }
  return release;
}
