const INF_AT = 106, TOP = 100, DEBOUNCE = 300;
const MQM = "labels:mqm"; // core.services.compare.labels.MQM

const signed = (x, digits) => {
  const size = Math.abs(x).toFixed(digits);
  return (x < 0 && Number(size) > 0 ? "\u2212" : "") + size;
};
const toLam = (text) => (text === "inf" ? Infinity : Number(text));
const fromLam = (lam) => (lam === Infinity ? "inf" : String(+lam.toFixed(6)));
const shownLam = (lam) => (lam === Infinity ? "\u221e" : lam.toFixed(2));
const toPosition = (lam) => (lam === Infinity ? INF_AT : lam > 5 ? TOP + 1 : Math.round(lam * 20));
const fromPosition = (at) => (at > TOP + 2 ? Infinity : Math.min(at, TOP) / 20);
const share = (lam) => (lam === Infinity ? 1 : lam / (1 + lam));
const weigh = (cell, lam) => -(share(lam) * cell.exp + (1 - share(lam)) * cell.imp);

function text(pieces, output) {
  const p = el("p", "esc-text");
  p.dir = "auto";
  for (const [kind, words] of pieces) {
    const core = words.trim();
    const at = core ? words.indexOf(core) : 0;
    if (kind === "same" || (kind === "insert" && !core)) p.append(words);
    else if (kind === "insert") p.append(words.slice(0, at), el("ins", "", core), words.slice(at + core.length));
    else if (core) {
      if (output) {
        const gap = el("span", "esc-gap", "\u2038");
        gap.title = "Only in the reference: " + core;
        p.append(gap);
      }
      p.append(el("del", "", core));
    }
  }
  return p;
}

function strip(card) {
  const box = el("div");
  put(box, el("div", "esc-label", "how unexpected each token (word part) is for the model, given the reference: higher bar = more unexpected (\u2212log p); bold: most unexpected; \u220e end of text"));
  const row = el("div", "esc-strip");
  row.dir = "auto";
  const worst = Math.min(...card.tokens.map((t) => t[1]));
  for (const [word, logp] of card.tokens) {
    const level = Math.min(1, -logp / 8);
    const tok = el("div", "esc-tok" + (logp === worst && logp < -1 ? " worst" : ""));
    const bar = el("i");
    bar.style.height = `${Math.round(2 + 26 * level)}px`;
    bar.style.opacity = String(0.35 + 0.65 * level);
    const end = word === "" || word === "</s>";
    tok.title = `${end ? "end of the text" : "\u201c" + word + "\u201d"}: log p ${signed(logp, 2)}, p ${Number((100 * Math.exp(logp)).toPrecision(2))} %`;
    row.append(put(tok, bar, el("span", "", end ? "\u220e" : word.replace(/\n/g, "\u23ce"))));
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

function drawCard(card, data, memory, scale) {
  const box = el("article", "esc-card");
  const head = el("header", "esc-head");
  const parts = { box, card, rank: el("span", "esc-rank"), score: el("span", "esc-score") };
  const name = el("span", "esc-name", card.name);
  name.dir = "auto";
  put(head, parts.rank, name, parts.score);
  const output = el("div", "esc-output");
  put(output, card.text === "" ? el("p", "esc-status", "the output is empty") : text(card.diff, true));
  if (card.labels) {
    const [mqm, column] = [card.scores[MQM]?.v ?? null, data.metrics.find((m) => m.name === MQM)];
    if (card.text !== "") output.append(markedText(card.labels.pieces));
    output.append(labelList(card.labels, mqm === null ? null : signed(mqm, column.digits)));
  }
  put(box, head, output);
  const refined = el("div", "esc-refined");
  if (card.status === "refined") {
    const used = data.references.length > 1 && card.condition >= 0 ? ` toward reference ${card.condition + 1}` : "";
    put(refined, el("div", "esc-label", `refined by the model${used} (struck through: removed, underlined: added)`), text(card.refined, false));
  } else {
    const [title, fallback] = STATUS[card.status];
    const line = el("p", "esc-status" + (card.status === "non_translation" ? " alert" : ""));
    put(refined, put(line, put(el("span"), el("b", "", title), card.why || fallback ? ": " + (card.why || fallback) : "")));
  }
  if (card.truncated) put(refined, el("div", "esc-label", "longer than the model reads: only its beginning was scored"));
  put(box, refined);
  const full = card.tokens !== undefined;
  put(box, full ? strip(card) : el("div"), full ? bars(card, scale) : el("div"), full ? foot(card, memory, parts) : el("div"));
  return parts;
}

function ranked(view) {
  const main = view.data.metrics.find((m) => m.main);
  const value = (card) => {
    const cell = main && card.scores[main.name];
    return cell && cell.exp !== undefined && cell.v !== null ? weigh(cell, view.lam) : null;
  };
  const rows = view.parts.map((part) => ({ part, value: value(part.card) }));
  rows.sort((a, b) => (a.value === null) - (b.value === null) || b.value - a.value || (a.part.card.name < b.part.card.name ? -1 : 1));
  return rows;
}

function table(view, rows) {
  const { data, lam } = view;
  const grid = el("table");
  const top = put(el("tr"), el("th", "", ""));
  const values = new Map();
  for (const metric of data.metrics) {
    const arrow = metric.higher === null ? "" : metric.higher ? " \u2191" : " \u2193";
    const th = put(el("th", "", metric.origin ? metric.label.replace(` (${metric.origin})`, "") + arrow : metric.label + arrow), metric.origin ? el("span", "esc-origin", metric.origin) : null);
    th.title = metric.hint.replace(/\|lambda:[^|]*/, metric.refinement ? `|lambda:${fromLam(lam)}` : "$&");
    top.append(th);
    const column = rows.map(({ part }) => {
      const cell = part.card.scores[metric.name];
      return cell.v === null ? null : metric.refinement && cell.exp !== undefined ? weigh(cell, lam) : cell.v;
    });
    const there = column.filter((v) => v !== null);
    const best = metric.higher ? Math.max(...there) : Math.min(...there);
    values.set(metric.name, { column, best: metric.higher !== null && there.length > 1 && there.some((v) => v !== best) ? best : null });
  }
  const body = el("tbody");
  rows.forEach(({ part }, i) => {
    const name = el("th", "", part.card.name);
    name.dir = "auto";
    const row = put(el("tr"), name);
    for (const metric of data.metrics) {
      const { column, best } = values.get(metric.name);
      const td = el("td", "", column[i] === null ? "\u2013" : signed(column[i], metric.digits));
      if (column[i] === null) { td.className = "none"; td.title = part.card.scores[metric.name].why || "no value"; }
      else if (column[i] === best) { td.className = "best"; td.setAttribute("aria-label", `${td.textContent}, best`); }
      row.append(td);
    }
    body.append(row);
  });
  return put(grid, put(el("thead"), top), body);
}

function rank(view, animate) {
  const rows = ranked(view);
  const order = rows.map((r) => r.part);
  const moved = order.some((part, i) => view.cards.children[i] !== part.box);
  if (moved) {
    const still = !animate || matchMedia("(prefers-reduced-motion: reduce)").matches;
    const from = still ? null : order.map((part) => part.box.getBoundingClientRect());
    for (const part of order) view.cards.append(part.box);
    if (from) order.forEach((part, i) => {
      const to = part.box.getBoundingClientRect();
      const [dx, dy] = [from[i].left - to.left, from[i].top - to.top];
      if (dx || dy) part.box.animate([{ transform: `translate(${dx}px, ${dy}px)` }, { transform: "none" }], { duration: 220, easing: "ease-out" });
    });
  }
  const omega = share(view.lam);
  rows.forEach(({ part, value }, i) => {
    part.rank.textContent = value === null ? "" : String(i + 1);
    part.score.replaceChildren();
    if (value === null) return;
    const main = view.data.metrics.find((m) => m.main);
    const cell = part.card.scores[main.name];
    put(part.score, el("small", "", main.label), signed(value, 3));
    part.score.title = `\u2212(${omega.toFixed(2)} \u00d7 explicit ${signed(cell.exp, 3)} + ${(1 - omega).toFixed(2)} \u00d7 implicit ${signed(cell.imp, 3)}), \u03bb = ${shownLam(view.lam)}; higher (nearer 0) is better`;
  });
  view.tablebox.replaceChildren(table(view, rows));
}

function setLam(view, lam, report) {
  view.lam = lam;
  view.slider.value = String(toPosition(lam));
  view.slider.setAttribute("aria-valuetext", shownLam(lam));
  view.out.textContent = shownLam(lam);
  const options = [...view.preset.options].filter((o) => o.value !== "" && toLam(o.value) === lam);
  const same = options.find((o) => o === view.preset.selectedOptions[0]) ?? options.find((o) => o.dataset.kind === "saved");
  view.preset.selectedIndex = same ? same.index : 0;
  if (view.parts) rank(view, report);
  if (!report) return;
  clearTimeout(view.timer);
  view.timer = setTimeout(() => {
    view.sent = fromLam(view.lam);
    view.send("lam", { value: view.sent });
  }, DEBOUNCE);
}

function lambdaBox(view) {
  const { data } = view;
  const box = el("div", "esc-lambda");
  const label = el("label", "", "\u03bb: weight of explicit errors (?)");
  label.title = "Weight of explicit errors (which the model could correct) relative to implicit ones in BARTScore++: at 0 only implicit errors count, at 1 both count equally, at \u221e only explicit errors. The scores change at once; the model is not run again.";
  view.slider = el("input");
  Object.assign(view.slider, { type: "range", min: "0", max: String(INF_AT), step: "1", id: "esc-lambda" });
  view.slider.setAttribute("aria-label", "lambda, 0 to 5, then infinity");
  label.htmlFor = "esc-lambda";
  view.out = el("output");
  view.preset = el("select");
  view.preset.setAttribute("aria-label", "lambda presets");
  const first = el("option", "", "choose \u03bb: 1 if unsure");
  first.value = "";
  view.preset.append(first);
  const ticks = el("div", "esc-ticks");
  const at = (lam) => `${(toPosition(lam) / INF_AT) * 100}%`;
  for (const [title, kind] of [["saved in this project", "saved"], ["best \u03bb for other data: Lu et al. (2023), Table 7", "paper"]]) {
    const group = el("optgroup");
    group.label = title;
    for (const p of data.presets.filter((p) => p.kind === kind)) {
      const option = el("option", "", `${shownLam(toLam(p.value))} \u00b7 ${p.label}`);
      option.value = p.value;
      option.dataset.kind = kind;
      group.append(option);
      const tick = el("i", kind);
      tick.style.left = at(toLam(p.value));
      tick.title = option.title = p.hint ? `${option.textContent}; chosen for: ${p.hint}` : option.textContent;
      ticks.append(tick);
    }
    if (group.children.length) view.preset.append(group);
  }
  for (const lam of [0, 1, 2, 3, 4, 5, Infinity]) {
    const mark = el("span", "", lam === Infinity ? "\u221e" : lam);
    mark.style.left = at(lam);
    ticks.append(mark);
  }
  view.slider.addEventListener("input", () => setLam(view, fromPosition(Number(view.slider.value)), true));
  view.preset.addEventListener("change", () => view.preset.value !== "" && setLam(view, toLam(view.preset.value), true));
  return put(box, label, put(el("div", "esc-range"), view.slider, ticks), view.out, view.preset);
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
  const place = el("span", "esc-place", `${data.doc ? `document ${data.doc}, ` : ""}segment ${data.segment}`);
  place.dir = "auto";
  return put(el("div", "esc-nav"), back, view.count, next, place);
}

function context(view) {
  const { data } = view;
  const box = el("div", "esc-context");
  const line = (key, words) => {
    const p = el("p", "esc-text", words);
    p.dir = "auto";
    put(box, put(el("div", "esc-key"), key), p);
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

function textTools(view) {
  const labelled = view.data.cards.some((c) => c.labels);
  const modes = [["off", "plain"], ["errors", "error spans"], ["marks", "differences"], ["all", "differences in full"]];
  const hints = { marks: "Underlined: not in the reference. \u2038: words of the reference are missing here", all: "Underlined: not in the reference. Struck through: only in the reference", errors: "The errors that annotators marked: Major underlined, Minor dotted, Neutral thin" };
  const seg = el("span", "esc-seg");
  const buttons = modes.filter(([mode]) => labelled || mode !== "errors").map(([mode, label]) => {
    const b = el("button", "", label);
    b.title = hints[mode] ?? "";
    b.addEventListener("click", () => { view.memory.shown = mode; apply(); });
    return put(seg, b) && [mode, b];
  });
  const apply = () => {
    const wanted = view.memory.shown ?? "errors";
    const mode = wanted === "errors" && !labelled ? "marks" : wanted;
    view.cards.dataset.shown = mode;
    for (const [name, b] of buttons) b.setAttribute("aria-pressed", String(name === mode));
    for (const gap of view.cards.querySelectorAll(".esc-output .esc-gap")) gap.hidden = mode !== "marks";
    for (const del of view.cards.querySelectorAll(".esc-output del")) del.hidden = mode !== "all";
  };
  const keys = put(el("span", "esc-keys"), el("kbd", "", "\u2190"), " ", el("kbd", "", "\u2192"), " segments, ", el("kbd", "", "/"), " search");
  const hidden = view.data.hidden ? el("span", "", "Labels of this segment are hidden until you have submitted it.") : null;
  apply();
  return put(el("div", "esc-tools"), put(el("span"), "show in the outputs", seg), hidden, keys);
}

function draw(view) {
  const { data, root } = view;
  const place = JSON.stringify([data.doc, data.segment]);
  const elsewhere = view.place !== undefined && view.place !== place && !view.target;
  view.place = place;
  view.target = null;
  root.removeAttribute("aria-busy");
  const refined = data.cards.filter((c) => c.exp !== undefined);
  const ends = refined.flatMap((c) => [c.exp, c.imp]);
  const scale = { low: Math.min(0, ...ends), high: Math.max(0.001, ...ends) };
  view.cards = el("div", "esc-cards");
  view.tablebox = el("div", "esc-tablebox");
  view.tablebox.tabIndex = 0;
  view.tablebox.setAttribute("aria-label", "scores of this segment");
  view.parts = data.cards.map((card) => drawCard(card, data, view.memory, scale));
  for (const part of view.parts) view.cards.append(part.box);
  const bar = put(el("div", "esc-bar"), navBox(view), data.metrics.some((m) => m.main) ? lambdaBox(view) : null);
  root.replaceChildren(bar, context(view), textTools(view), view.cards, view.tablebox);
  if (view.slider?.isConnected) setLam(view, view.lam, false);
  else rank(view, false);
  if (elsewhere && root.getBoundingClientRect().top < 0) root.scrollIntoView({ block: "start" });
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
  const view = { root, memory: { open: new Set() }, lam: toLam(data.lam), server: data.lam };
  view.listener = (event) => onKey(view, event);
  document.addEventListener("keydown", view.listener);
  return view;
}

function destroy(view) {
  clearTimeout(view.timer);
  view.stop();
  document.removeEventListener("keydown", view.listener);
  view.root.remove();
}

export default function (component) {
  const { data, parentElement } = component;
  const [view, release] = mounted(parentElement, () => create(parentElement, data), destroy);
  [view.send, view.stop] = connected(component);
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
