import { connected, mounted } from "../shared/component.js";
import { el, put, signed } from "../shared/elements.js";
import { lambdaBox, setLam, toLam } from "./lambda.js";
import { confidenceSlider, laneRows, opener } from "../shared/lanes.js";
import { diffText, FOLD, foldable, isLabelled, outputTexts, ROW } from "./outputs.js";
import { listsScores, orderBox, rank, remember, remembered } from "./ranking.js";
import { bestOf, markBest, score } from "./table.js";

const BESIDE = 500; // a longer source with its references stands beside the outputs in wide windows, above the table

function strip(card) {
  const box = el("div");
  put(box, el("div", "esc-label", "how unexpected each token (word part) is for the model, given the reference: higher bar = more unexpected (\u2212log p); bold: most unexpected; \u220e end of text"));
  const row = el("div", "esc-strip");
  row.dir = "auto";
  const worst = Math.min(...card.tokens.map((t) => t[1]));
  for (const [word, logp, label] of card.tokens) {
    const level = Math.min(1, -logp / 8);
    const tok = el("div", "esc-tok" + (logp === worst && logp < -1 ? " worst" : ""));
    const bar = el("i");
    bar.style.height = `${Math.round(2 + 26 * level)}px`;
    bar.style.opacity = String(0.35 + 0.65 * level);
    const end = word === "" || word === "</s>";
    tok.title = `${end ? "end of the text" : "\u201c" + word + "\u201d"}: log p ${signed(logp, 2)}, p ${Number((100 * Math.exp(logp)).toPrecision(2))} %`;
    row.append(put(tok, bar, el("span", "", end ? "\u220e" : label.replace(/\n/g, "\u23ce"))));
  }
  return put(box, row);
}

function bars(card, scale) {
  const box = el("div", "esc-bars");
  const key = el("div", "esc-label", "explicit: differences that its edits removed \u00b7 implicit: score difference that remains \u00b7 lower is better");
  const width = scale.high - scale.low || 1;
  const zero = (-scale.low / width) * 100;
  for (const [label, value, kind, hint] of [
    ["explicit \u2193", card.exp, "exp", "cost of explicit errors, which editing can correct: BARTScore(refined) \u2212 BARTScore(output)"],
    ["implicit \u2193", card.imp, "imp", "cost of implicit errors, which remain in the refined text: BARTScore(reference) \u2212 BARTScore(refined)"],
  ]) {
    const name = el("span", "", label);
    const track = el("div", "esc-track " + kind);
    const fill = el("i");
    name.title = track.title = hint;
    fill.style.left = `${value < 0 ? zero - (-value / width) * 100 : zero}%`;
    fill.style.width = `${(Math.abs(value) / width) * 100}%`;
    put(track, fill);
    if (scale.low < 0) {
      const mark = el("u");
      mark.style.left = `${zero}%`;
      put(track, mark);
    }
    put(box, name, track, el("b", "", signed(value, 3)));
  }
  return put(el("div"), key, box);
}

const quoted = (word) => put(el("bdi"), "\u201c" + (word.trim() || word) + "\u201d");

function trace(card, memory) {
  const box = el("details", "esc-trace");
  box.open = memory.open.has(card.id);
  box.addEventListener("toggle", () => memory.open[box.open ? "add" : "delete"](card.id));
  const n = card.steps.length;
  const nothing = card.status === "non_translation" ? "not refined" : "no edit";
  put(box, el("summary", "", n ? `${n} edit${n > 1 ? "s" : ""}, step by step` : nothing));
  const list = el("ol");
  card.steps.forEach(([edit, old, fresh, before, after, near], i) => {
    const what = el("span");
    if (edit === "substitute") put(what, put(el("del"), quoted(old)), "\u2192 ", put(el("ins"), quoted(fresh)));
    else if (edit === "delete") put(what, "deleted ", put(el("del"), quoted(old)));
    else put(what, "inserted ", put(el("ins"), quoted(fresh)), old ? " before " : " at the end", old ? quoted(old) : null);
    const row = put(el("li"), el("span", "num", i + 1), what, el("span", "num", `${signed(before, 3)} \u2192 ${signed(after, 3)}`));
    if (near.length) row.append(el("small", "", "most probable tokens here, given the reference: " + near.map(([w, p]) => `\u201c${w.trim() || w}\u201d ${(100 * p).toFixed(0)} %`).join(", ")));
    list.append(row);
  });
  const last = el("div", "esc-label", `BARTScore of the output ${signed(card.hyp, 3)}, of the reference itself ${signed(card.ref, 3)}`);
  return put(box, n ? list : null, last);
}

function foot(card, memory, parts) {
  parts.inspect = el("button", "esc-inspect", "Inspect");
  parts.inspect.title = "Opens below the cards: step through the edits, see likely alternatives, and try your own edits";
  parts.inspect.setAttribute("aria-label", `inspect ${card.name} word by word (below)`);
  parts.inspect.addEventListener("click", () => memory.inspect(card.id));
  return put(el("div", "esc-foot"), trace(card, memory), parts.inspect);
}

function markInspected(view) {
  for (const { card, box, inspect } of view.parts ?? []) {
    box.classList.toggle("esc-inspected", card.id === view.data.inspected);
    inspect?.setAttribute("aria-pressed", String(card.id === view.data.inspected));
  }
  const { inspected } = view.data;
  if (inspected && inspected !== view.inspected) view.root.scrollIntoView({ block: "end", behavior: "instant" });
  if (!inspected && view.inspected && view.inspectedAt === view.place) view.parts.find((p) => p.card.id === view.inspected)?.inspect?.focus();
  [view.inspected, view.inspectedAt] = [inspected, view.place];
}

const STATUS = {
  no_edit: ["the model found nothing to correct", ""],
  non_translation: ["non-translation", ""],
  missing: ["no refinement", ""],
};

/** Draw the scores of an output, on cards without refinement. */
function values(view, card) {
  const { cards, metrics } = view.data;
  const list = el("dl", "esc-values");
  for (const metric of metrics) {
    const { v, why } = card.scores[metric.name];
    const number = put(el("dd"), score(view, card, metric, v));
    number.title = why || metric.hint;
    if (v !== null && v === bestOf(metric, cards.map((c) => c.scores[metric.name].v))) markBest(number);
    put(list, el("dt", "", metric.label), number);
  }
  return list;
}

/** Return the parts of a name with places for line breaks after punctuation, which are used if words do not fit. */
function breakable(name) {
  return name.split(/(?<=[_\-\u2013./:,;@|+])(?=.)/su).flatMap((part, i) => (i ? [el("wbr"), part] : [part]));
}

/** Draw the output of a card with its lanes; again when the confidence from which spans are shown has changed. */
function drawOutput(view, { card, whole }) {
  const host = el("div", "esl-host");
  const open = opener(host, view.data.layers);
  const output = put(el("div", "esc-output"), ...outputTexts(view, card, open));
  const rows = view.data.layers.length ? laneRows(view.data.layers, card.layers, view.memory.least, open) : null;
  host.prepend(...[foldable(view, card.id, output, card.text, FOLD, `output of ${card.name}`), rows].filter(Boolean));
  whole.replaceChildren(host);
}

/** Draw all outputs again from this confidence on, which this browser remembers. */
function showFrom(view, least) {
  remember(view, { least });
  view.parts.forEach((parts) => { drawOutput(view, parts); delete parts.cell; });
  rank(view, false);
}

function drawCard(view, card, scale) {
  const { data, memory } = view;
  const box = el("article", "esc-card");
  const head = el("header", "esc-head");
  const parts = { box, card, rank: el("span", "esc-rank"), score: el("span", "esc-score"), pin: el("span") };
  const name = put(el("span", "esc-name"), ...breakable(card.name));
  name.dir = "auto";
  put(head, parts.rank, name, parts.pin, parts.score);
  parts.whole = el("div");
  drawOutput(view, parts);
  put(box, head, parts.whole);
  const refined = el("div", "esc-refined");
  if (card.status === "refined") {
    const used = data.references.length > 1 && card.condition >= 0 ? ` toward reference ${card.condition + 1}` : "";
    put(refined, el("div", "esc-label", `refined by the model${used} (struck through: removed, underlined: added)`), foldable(view, `refined ${card.id}`, diffText(card.refined, false), card.text, FOLD, `refined output of ${card.name}`));
  } else if (listsScores(data)) {
    put(refined, values(view, card));
  } else {
    const [title, fallback] = STATUS[card.status];
    const line = el("p", "esc-status" + (card.status === "non_translation" ? " alert" : ""));
    put(refined, put(line, put(el("span"), el("b", "", title), card.why || fallback ? ": " + (card.why || fallback) : "")));
  }
  if (card.truncated) put(refined, el("div", "esc-label", "longer than the model reads: only its beginning was scored"));
  if (card.retokenized) put(refined, el("div", "esc-label", "the edited tokens were scored; read as a text, it has other tokens and another BARTScore"));
  put(box, refined);
  const full = card.tokens !== undefined;
  put(box, full ? strip(card) : el("div"), full ? bars(card, scale) : el("div"), full ? foot(card, memory, parts) : el("div"));
  return parts;
}

function go(view, step) {
  const to = (view.target ?? view.data.position) + step;
  if (to < 1 || to > view.data.total) return;
  view.target = to;
  view.count.textContent = `${to} / ${view.data.total}`;
  view.root.setAttribute("aria-busy", "true");
  view.send("go", { to });
}

function navBox(view) {
  const { data } = view;
  const [back, next] = [el("button", "", "\u2190"), el("button", "", "\u2192")];
  back.title = "previous segment (\u2190 or j)";
  next.title = "next segment (\u2192 or k)";
  back.setAttribute("aria-label", "previous segment");
  next.setAttribute("aria-label", "next segment");
  back.disabled = data.position <= 1;
  next.disabled = data.position >= data.total;
  back.addEventListener("click", () => go(view, -1));
  next.addEventListener("click", () => go(view, 1));
  view.count = el("b", "", `${data.position} / ${data.total}`);
  const place = el("span", "esc-place");
  if (data.doc) put(place, "document ", el("bdi", "", data.doc), ", ");
  put(place, "segment ", el("bdi", "", data.segment));
  return put(el("div", "esc-nav"), back, view.count, next, place);
}

function context(view) {
  const { data } = view;
  const box = el("div", "esc-context");
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", "source and references");
  box.tabIndex = 0; // it scrolls by itself beside long outputs
  const line = (key, words) => {
    const p = el("p", "esc-text", words);
    p.dir = "auto";
    put(box, put(el("div", "esc-key"), key), foldable(view, key, p, words, view.memory.view === "table" ? ROW : FOLD, key));
  };
  if (data.source !== null) line("source", data.source);
  if (!data.references.length) put(box, el("div", "esc-key", "reference"), el("p", "esc-status", "this segment has no reference"));
  else if (data.references.length === 1) line("reference", data.references[0]);
  else {
    const pick = el("select");
    pick.setAttribute("aria-label", "reference to compare the outputs with");
    pick.title = "With \u201cthe better\u201d or \u201cthe best\u201d, each output is compared with the reference that its refinement used, or else with reference 1. Scores do not change.";
    const auto = el("option", "", data.references.length === 2 ? "the closer reference" : `the closest of ${data.references.length} references`);
    auto.value = "-1";
    pick.append(auto);
    data.references.forEach((_, i) => { const o = el("option", "", `reference ${i + 1}`); o.value = String(i); pick.append(o); });
    pick.value = String(data.reference);
    pick.addEventListener("change", () => view.send("reference", { value: Number(pick.value), doc: view.data.doc, segment: view.data.segment }));
    put(box, el("div", "esc-key", "compare with"), put(el("div", "esc-key"), pick));
    const shown = data.reference >= 0 ? [data.reference] : [...data.references.keys()].slice(0, 4);
    for (const i of shown) line(`reference ${i + 1}`, data.references[i]);
  }
  return box;
}

/** Return a group of buttons of which one is pressed. `choices` are [value, label, hint]. */
function segments(choices, now, choose) {
  const seg = el("span", "esc-seg");
  const buttons = choices.map(([value, label, hint]) => {
    const b = el("button", "", label);
    b.title = hint ?? "";
    b.addEventListener("click", () => { choose(value); press(value); });
    seg.append(b);
    return [value, b];
  });
  const press = (value) => buttons.forEach(([own, b]) => b.setAttribute("aria-pressed", String(own === value)));
  press(now);
  return seg;
}

/** Explain the marks in the outputs, in their own style. */
function legend(shown) {
  const box = el("span", "esc-legend");
  const marked = (name, words) => put(el("mark", name), words);
  if (shown === "errors") put(box, marked("major", "Major"), " ", marked("minor", "Minor"), " ", marked("neutral", "Neutral"));
  if (shown === "marks" || shown === "all") put(box, el("ins", "", "underlined"), ": not in the reference \u00b7 ");
  if (shown === "marks") put(box, el("span", "esc-gap", "\u2038"), " words of the reference are missing here");
  if (shown === "all") put(box, el("del", "", "struck through"), ": only in the reference");
  box.hidden = shown === "off";
  return box;
}

function tools(view) {
  const { data, memory, root } = view;
  const labelled = data.cards.some(isLabelled);
  const shown = memory.shown === "errors" && !labelled ? "marks" : memory.shown;
  const modes = [
    ["off", "plain"],
    ["errors", "error spans", "The errors that the shown layers marked, one line per layer under the text: Major solid, Minor dotted, Neutral thin"],
    ["marks", "differences", "Underlined: not in the reference. \u2038: words of the reference are missing here"],
    ["all", "differences in full", "Underlined: not in the reference. Struck through: only in the reference"],
  ].filter(([mode]) => labelled || mode !== "errors");
  root.dataset.shown = shown;
  root.dataset.view = memory.view;
  const layouts = [["cards", "cards"], ["texts", "texts only", "Cards without refinement and probabilities"], ["table", "table"]];
  const views = segments(layouts, memory.view, (now) => { remember(view, { view: now }); root.dataset.view = now; rank(view, false); view.context.replaceWith((view.context = context(view))); });
  let key = legend(shown);
  const texts = segments(modes, shown, (mode) => { remember(view, { shown: mode }); root.dataset.shown = mode; key.replaceWith((key = legend(mode))); });
  const keys = put(el("span", "esc-keys"), el("kbd", "", "\u2190"), " ", el("kbd", "", "\u2192"), " segments, ", el("kbd", "", "/"), " search");
  const hidden = data.hidden ? el("span", "", "Labels of this segment are hidden until you have submitted it.") : null;
  return put(el("div", "esc-tools"), put(el("span"), "view", views), put(el("span"), "show in the outputs", texts, " ", key), orderBox(view), confidenceSlider(data.cards.flatMap((c) => c.layers), memory.least, (least) => showFrom(view, least)), hidden, keys);
}

function draw(view) {
  const { data, root } = view;
  const place = JSON.stringify([data.doc, data.segment]);
  const moved = view.place !== undefined && view.place !== place && !view.target;
  if (view.place !== place) view.memory.unfolded.clear();
  view.place = place;
  view.target = null;
  root.removeAttribute("aria-busy");
  const refined = data.cards.filter((c) => c.exp !== undefined);
  const ends = refined.flatMap((c) => [c.exp, c.imp]);
  const scale = { low: Math.min(0, ...ends), high: Math.max(0.001, ...ends) };
  view.cards = el("div", "esc-cards");
  view.tablebox = el("div", "esc-tablebox");
  view.tablebox.tabIndex = 0;
  view.tablebox.setAttribute("role", "group");
  view.tablebox.setAttribute("aria-label", "scores of this segment");
  view.parts = data.cards.map((card) => drawCard(view, card, scale));
  for (const part of view.parts) view.cards.append(part.box);
  const bar = put(el("div", "esc-bar"), navBox(view), data.metrics.some((m) => m.main) ? lambdaBox(view) : null);
  const given = [data.source ?? "", ...data.references].join("").length;
  root.classList.toggle("esc-panes", given > BESIDE);
  const outputs = put(el("div", "esc-outputs"), tools(view), view.cards, view.tablebox);
  view.context = context(view);
  root.replaceChildren(bar, put(el("div", "esc-body"), view.context, outputs));
  view.sizes?.disconnect();
  view.sizes = new ResizeObserver(() => root.style.setProperty("--bar", `${bar.offsetHeight}px`));
  view.sizes.observe(bar);
  if (view.slider?.isConnected) setLam(view, view.lam, false);
  else rank(view, false);
  const spot = view.parts.find((p) => p.card.name === data.spot)?.box;
  spot?.classList.add("esc-spot");
  if (spot && view.spot !== place + data.spot) (spot.checkVisibility() ? spot : view.tablebox).scrollIntoView({ block: "center" });
  else if (moved && root.getBoundingClientRect().top < 0) root.scrollIntoView({ block: "start" });
  view.spot = data.spot ? place + data.spot : "";
}

function onKey(view, event) {
  if (event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || !view.root.isConnected) return;
  const busy = "input, textarea, select, canvas, [contenteditable=true], [role=slider], [role=tab], [role=radio], [role=listbox], [role=combobox], [role=dialog], [role=grid]";
  if (event.target instanceof Element && event.target.closest(busy)) return;
  if (event.key === "ArrowLeft" || event.key === "j") go(view, -1);
  else if (event.key === "ArrowRight" || event.key === "k") go(view, 1);
  else if (event.key === "/") document.querySelector(`input[aria-label="${view.data.search}"]`)?.focus();
  else return;
  event.preventDefault();
}

function create(parentElement, data) {
  const root = el("section", "esc");
  parentElement.append(root);
  const view = { root, memory: { open: new Set(), unfolded: new Set() }, lam: toLam(data.lam), server: data.lam };
  view.listener = (event) => onKey(view, event);
  document.addEventListener("keydown", view.listener);
  return view;
}

function destroy(view) {
  clearTimeout(view.timer);
  view.sizes?.disconnect();
  view.stop();
  document.removeEventListener("keydown", view.listener);
  view.root.remove();
}

export default function (component) {
  const { data, parentElement } = component;
  const [view, release] = mounted(parentElement, () => create(parentElement, data), destroy);
  [view.send, view.stop] = connected(component);
  if (view.of !== data.messages.of) {
    view.of = data.messages.of;
    Object.assign(view.memory, remembered(view.of));
  }
  view.memory.reply = (id, metric) => view.send("reply", { id, metric, doc: view.data.doc, segment: view.data.segment, n: Date.now() });
  view.memory.inspect = (id) => view.send("inspect", { id, doc: view.data.doc, segment: view.data.segment, n: Date.now() });
  if (data.lam !== view.server && data.lam !== view.sent) { view.lam = toLam(data.lam); clearTimeout(view.timer); }
  view.server = data.lam;
  const { lam, inspected, messages, ...rest } = data;
  const print = JSON.stringify(rest);
  view.data = data;
  if (print !== view.print) { view.print = print; draw(view); }
  else if (view.slider?.isConnected) setLam(view, view.lam, false);
  markInspected(view);
  view.root.removeAttribute("aria-busy");
  return release;
}
