// What opens above the editor: the list of categories, the definitions and keys, two versions of the labels, and the reasons for declining.

import { el } from "../shared/elements.js";
import { NO_LABELS, worded } from "./log.js";
import { applies, asks, categoriesOf, DECLINE_REASONS, hasCategories, hasVerdicts, labelsOn, levelsOf, mergeable, outputOf, wordedWhole } from "./state.js";
import { EDITOR_TEXTS, KEYS, named, phrase, severityName } from "./texts.js";

const LONGEST_REASON = 500;
export const BY_FINGER = matchMedia("(pointer: coarse)"); // no keyboard, and no dragging: a finger that moves scrolls the page

/** The dialogs. `close()` is called when the reasons are closed. */
export function createDialogs({ run, close }) {
  const picker = el("div", { class: "esa-picker", role: "dialog", hidden: true });
  const help = el("dialog", { class: "esa-help" });
  const clash = el("dialog", { class: "esa-help" });
  const refusal = el("dialog", { class: "esa-help esa-refusal" });
  clash.addEventListener("close", () => run({ do: "merge" })); // closed by Escape: the saved version stays
  refusal.addEventListener("close", close);

  function label() {
    for (const [part, key] of [[picker, "category"], [help, "help"], [clash, "clash"], [refusal, "decline"]]) part.setAttribute("aria-label", phrase(`aria.${key}`));
  }

  /** Open the list of categories that the state describes; `place(picker)` puts it somewhere. */
  function choose(state, place) {
    const choices = categoriesOf(state, state.picker.side);
    let shown = choices;
    let at = Math.max(0, choices.findIndex((c) => c.path === state.picker.path));
    const input = el("input", { type: "text", class: "esa-filter", placeholder: phrase("category.filter"), role: "combobox", "aria-expanded": "true", "aria-autocomplete": "list", "aria-controls": "esa-categories", "aria-label": phrase("aria.filter"), autocomplete: "off", spellcheck: "false" });
    const list = el("div", { class: "esa-options", role: "listbox", id: "esa-categories", "aria-label": phrase("aria.categories") });
    const about = el("p", { class: "esa-quiet esa-about", dir: "auto", "aria-live": "polite" });
    const explain = (c) => { about.textContent = c ? `${c.definition} ${c.example}` : ""; };
    const take = (category) => run({ do: "categorise", picker: state.picker, path: category.path });
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
      else if (e.key === "Escape" || e.key === "Tab") run({ do: "closePicker" });
      else return;
      e.preventDefault();
      e.stopPropagation();
      if (by) fill();
    });
    picker.replaceChildren(
      el("div", { class: "esa-head" }, el("p", { class: "esa-quiet esa-title", dir: "auto", text: state.picker.title }), el("button", { type: "button", class: "esa-cancel", text: phrase("cancel"), onclick: () => run({ do: "closePicker" }) })),
      el("p", { class: "esa-quiet esa-keyboard", text: `${state.picker.path ? "" : phrase("category.intro")}${phrase("category.keys")}` }),
      input, list, about);
    picker.hidden = false;
    fill();
    place(picker);
    if (!BY_FINGER.matches) input.focus({ preventScroll: true }); // it would open the keyboard of the screen
    picker.scrollIntoView({ block: "nearest" });
  }

  function toggleHelp(state) {
    if (help.open) return help.close();
    const { data } = state;
    const explained = (rows) => el("dl", { class: "esa-explained" }, ...rows.flatMap((r) => [el("dt", { dir: "auto", text: named(r.path ?? r.name).replace("/", " › ") }), el("dd", { dir: "auto" }, r.definition, r.example ? el("span", { class: "esa-quiet", text: ` ${r.example}` }) : null)]));
    const severities = levelsOf(state).map(severityName).join(" · ");
    const digits = levelsOf(state).map((_, i) => i + 1).join(" · ");
    const keys = KEYS.filter(([, , when]) => !when || applies(state, when));
    help.replaceChildren(el("button", { type: "button", class: "esa-close", text: phrase("close"), onclick: () => help.close() }), ...[
      asks(state, "spans") && [phrase("help.severities"), explained(data.severities.map((s) => ({ ...s, name: severityName(s.name) })))],
      asks(state, "spans") && hasCategories(state) && [phrase("help.categories", { typology: named(data.typology) }), explained([...data.categories, ...(hasVerdicts(state) ? [data.whole] : [])])],
      asks(state, "score") && data.anchors.length && [phrase("help.score"), explained(data.anchors.map(({ value, text }) => ({ name: String(value), definition: text })))],
      [phrase("help.keys"), el("dl", {}, ...keys.flatMap(([key, what]) => [el("dt", {}, el("kbd", { text: what === "key.severity" ? digits : named(key) })), el("dd", { text: phrase(what, { severities }) })]))],
    ].filter(Boolean).flatMap(([title, part]) => [el("h4", { text: title }), part]));
    help.showModal();
    help.scrollTop = 0;
  }

  /** Show both versions of the labels, or close them if the state has none. */
  function compare(state) {
    if (!state.clash) return clash.close();
    const { mine, outputs, whole } = state.clash;
    const version = (title, lines) => el("section", {}, el("h4", { text: title }), ...lines.map((text) => el("p", { dir: "auto", text })));
    const versions = (title, id, saved, own) => el("div", { class: "esa-versions", "data-output": id }, el("h4", { text: title }), version(phrase("clash.saved"), saved), version(phrase("clash.yours"), own));
    const ofOutput = (id) => versions(outputOf(state, id).label, id, worded(labelsOn(state, id), state.data), worded(mine.outputs.get(id) ?? NO_LABELS, state.data));
    const merge = (how) => el("button", { type: "button", text: phrase(`clash.${how}`), onclick: () => run({ do: "merge", how }) });
    clash.replaceChildren(
      el("h4", { text: phrase("clash.title") }),
      el("p", { text: phrase("clash.intro") }),
      ...outputs.map(ofOutput),
      ...(whole ? [versions(phrase("clash.segment"), "", wordedWhole(state, state.labels), wordedWhole(state, mine))] : []),
      el("div", { class: "esa-choices" }, merge("keep"), merge("mine"), mergeable(state) ? merge("both") : null));
    if (!clash.open) clash.showModal();
  }

  function askReason({ data }) {
    if (!data.declines || refusal.open) return;
    const text = el("textarea", { class: "esa-note", name: "text", rows: "2", maxlength: String(LONGEST_REASON), dir: "auto", "aria-label": phrase("decline.text"), placeholder: phrase("decline.text") });
    const option = (value) => el("label", {}, el("input", { type: "radio", name: "reason", value, required: true }), ` ${phrase(`decline.${value}`)}`);
    const form = el("form", { method: "dialog", onsubmit: (e) => {
      e.preventDefault();
      const { value } = form.elements.reason;
      refusal.close();
      run({ do: "decline", reason: value === "other" ? text.value.trim() : EDITOR_TEXTS[`decline.${value}`] });
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

  return {
    picker, help, clash, refusal, label, choose, toggleHelp, compare, askReason,
    /** Whether a dialog is open that takes all keys. */
    takesKeys: () => help.open || clash.open || refusal.open,
  };
}
