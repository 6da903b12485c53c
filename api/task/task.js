// The annotator's page: what Streamlit does for the editor on the page Annotate, without Streamlit.

import { el } from "../../pages/_ui/components/shared/elements.js";
import { createEditor } from "../../pages/_ui/components/span_annotator/editor.js";
import { fold } from "../../pages/_ui/components/span_annotator/log.js";
import { ANSWER_MS, FIRST_RETRY } from "../../pages/_ui/components/span_annotator/outbox.js";

const part = (id) => document.getElementById(id);
let editor = null;
const { project, campaign: inCampaign, headers, texts = {} } = JSON.parse(part("start").textContent);
const server = { url: "../api/actions", headers };

/** The segment that the address of the page names. */
function addressed() {
  const place = new URLSearchParams(location.search);
  return { doc: place.get("doc"), segment: place.get("segment") };
}
let shown = addressed();
let started = false;

/** A text in the reader's language, with {names} replaced by values. */
const said = (text, values = {}) => (texts[text] ?? text).replace(/\{(\w+)\}/g, (_, name) => values[name]);

/** Show a segment. `from` is the one that was submitted just before: U takes that submission back while nothing is changed here. */
function show(unit, from = null) {
  visit(unit, from && { ...from, version: fold(unit.events).canUndo?.id ?? "" });
  const { campaign } = unit;
  const { done, left } = campaign ?? { done: unit.done, left: unit.total - unit.done };
  const more = campaign ? !campaign.finished : left > 0;
  part("place").textContent = campaign ? said("No. {at}", unit) : `${unit.at} / ${unit.total}`;
  part("rater").textContent = unit.rater;
  part("bar").value = done + left ? done / (done + left) : 0;
  part("progress").textContent = campaign ? progressOf(campaign) : said("{done} of {total} segments submitted", unit);
  if (!started || (unit.done && !part("instructions").dataset.folded)) part("instructions").open = !unit.done;
  if (unit.done) part("instructions").dataset.folded = "";
  part("done").hidden = more;
  started = true;
  for (const button of document.querySelectorAll("[data-step]")) {
    const { step: to } = button.dataset;
    button.disabled = to === "previous" ? unit.at === 1 : to === "next" ? unit.at === unit.total && (!campaign || unit.done < unit.total || !more) : !more;
  }
  if (campaign) showCampaign(unit);
  const goesOn = !campaign?.tutorial; // there, a submission is answered with what was expected
  editor ??= createEditor(part("editor"));
  editor.update({ ...inLanguage(unit), texts, server, submitted_before: history.state, goes_on: goesOn }, ({ to, submitted = false }) => step(to, submitted));
}

/**
 * Note in the history which segment is shown, so that Back leads to the one before. The state of an entry is the submission that led to it,
 * until the segment is left: so U can take it back after a reload too.
 */
function visit({ doc, segment }, after = null) {
  shown = { doc, segment };
  const place = new URLSearchParams(location.search);
  place.set("doc", doc);
  place.set("segment", segment);
  const address = `?${place}`;
  if (!started || address === location.search) return history.replaceState(history.state, "", address);
  history.replaceState(null, "");
  history.pushState(after, "", address);
}

/** How much this person has done. What is left is known for a list, and estimated where everybody gets the next segments in turn. */
function progressOf({ done, left, lease_minutes: dynamic, tutorial, finished, state }) {
  if (!left && done && !finished && state === "running") return said("{done} done, which is your share · more are open", { done });
  if (!left) return said("{done} done", { done });
  return said(dynamic || tutorial ? "{done} done · about {left} left for you" : "{done} done · {left} left for you", { done, left });
}

/** The unit with its definitions in the reader's language; those that a manager has written stay as they are. */
function inLanguage(unit) {
  const explained = (row) => ({ ...row, definition: said(row.definition), example: said(row.example) });
  const [severities, categories] = [unit.severities.map(explained), unit.categories.map(explained)];
  return { ...unit, severities, categories, whole: explained(unit.whole), anchors: unit.anchors.map((a) => ({ ...a, text: said(a.text) })) };
}

function showCampaign({ campaign }) {
  const minutes = Math.max(1, Math.round(campaign.seconds_left / 60));
  part("left").textContent = campaign.seconds_left ? said("about {minutes} min left", { minutes }) : "";
  const { tutorial } = campaign;
  tell("notice", campaign.state === "paused" ? [said("The evaluation is paused. You can finish what you have; there is nothing new at present.")]
    : tutorial ? [said("Introduction, {at} of {of}: you see what was expected after each submission.", tutorial)] : []);
  tell("feedback", campaign.feedback ? feedbackLines(campaign.feedback) : []);
  part("code").hidden = !campaign.code;
  part("code").querySelector("code").textContent = campaign.code ?? "";
  part("back").textContent = campaign.lease_minutes ? said("What you have not submitted may be given to somebody else after {minutes} minutes. What you have marked is kept.", { minutes: campaign.lease_minutes }) : "";
}

function feedbackLines({ right, remarks, explanation }) {
  return [el("strong", { text: said(right ? "Well done." : "Not quite.") }), ...remarks.map(remark), ...(explanation ? [explanation] : [])];
}

/** A remark: its text, and its values, each a text or [text, values] itself. Names of severities have translations. */
function remark([text, values]) {
  return said(text, Object.fromEntries(Object.entries(values).map(([name, value]) => [name, Array.isArray(value) ? remark(value) : name === "quote" ? value : said(String(value))])));
}

function tell(id, lines) {
  part(id).hidden = !lines.length;
  part(id).replaceChildren(...lines.map((line) => el("p", { dir: "auto" }, line)));
}

let latest = 0; // number of the request whose answer is shown
let leaving = false;

/**
 * Show another segment, or this one as the server has it now ("stay"), unless the annotator goes to another one meanwhile. `to` is a step
 * or {doc, segment, withdraw}: a segment, and whether to withdraw its submission. `submitted`: the one that is left was just submitted.
 */
async function step(to, submitted) {
  if (to === "stay" && leaving) return;
  const mine = (latest += 1);
  leaving = to !== "stay";
  try {
    const answer = await open(to);
    if (mine !== latest) return;
    say("");
    show(answer, submitted ? shown : null);
    if (to.withdraw) editor.withdraw();
    if (submitted && !part("done").hidden) part("done").scrollIntoView({ block: "center" });
  } catch (error) {
    const why = error.name === "Error" ? `: ${error.message}` : said(", because the server does not answer");
    if (to !== "stay" && mine === latest) say(`${said("This segment could not be opened")}${why}. ${said("Your labels are kept in this browser.")}${error.ended ? "" : ` ${said("Try again.")}`}`);
    if (to.doc && mine === latest) visit(shown);
  } finally {
    if (mine === latest) leaving = false;
  }
}

const open = (to) => {
  const { doc, segment } = to.doc ? to : shown;
  return post("../api/unit", { project, doc, segment, step: to.doc || to === "stay" ? "here" : to });
};

// Back and Forward of the browser. If that segment cannot be opened, the address is again that of the one on the screen.
addEventListener("popstate", () => {
  history.replaceState(null, "");
  editor?.travel(addressed());
});

/** Open the first segment. Until the server can be reached and used, it is asked again. */
async function start() {
  try {
    show(await open("here"));
    say("");
    editor.lookAgain();
  } catch (error) {
    const { later, message } = error.name === "Error" ? error : { later: true, message: said("The server does not answer. The page tries again in a few seconds.") };
    if (later) {
      say(message);
      setTimeout(start, FIRST_RETRY);
      return;
    }
    const refused = part("refused").content.cloneNode(true);
    refused.querySelector("p").textContent = `${message.charAt(0).toUpperCase()}${message.slice(1)}.`;
    document.body.replaceChildren(refused);
  }
}

/** The server's answer; throws an error with its sentence. `ended`: this person may not go on; `later`: the same may succeed later. */
async function post(url, body) {
  const response = await fetch(url, { method: "POST", signal: AbortSignal.timeout(ANSWER_MS), headers: { "Content-Type": "application/json", "Accept-Language": document.documentElement.lang, ...headers }, body: JSON.stringify(body) });
  const answer = await response.json();
  if (!response.ok) throw Object.assign(new Error(answer.error), { ended: response.status === 401, later: response.status >= 500 || response.status === 429 });
  return answer;
}

function say(text) {
  let box = part("trouble");
  if (!box) document.querySelector(".task-progress").after((box = el("p", { id: "trouble", role: "alert", class: "task-trouble" })));
  box.textContent = text;
  box.hidden = !text;
}

for (const button of document.querySelectorAll("[data-step]")) button.addEventListener("click", () => editor.travel(button.dataset.step));
for (const link of document.querySelectorAll("[data-language]")) {
  link.addEventListener("click", (e) => {
    e.preventDefault();
    const place = new URLSearchParams(location.search);
    place.set("lang", link.lang);
    location.search = place;
  });
}
if (inCampaign) {
  document.addEventListener("keydown", (e) => {
    if (e.key !== "h" || e.ctrlKey || e.metaKey || e.altKey || e.target.matches("input, textarea, select")) return;
    const instructions = part("instructions");
    instructions.open = !instructions.open;
    instructions.scrollIntoView({ block: "nearest" });
  });
  part("pause").addEventListener("click", () => part("break").showModal());
  part("resume").addEventListener("click", () => part("break").close());
  part("leave").addEventListener("click", async () => {
    try {
      await post("../api/leave", { project, left: true });
      part("break").close();
      step("stay");
    } catch (error) {
      part("back").textContent = error.name === "Error" ? error.message : said("The server does not answer. Try again.");
    }
  });
  part("copy").addEventListener("click", () => navigator.clipboard?.writeText(part("code").querySelector("code").textContent));
}
start();
