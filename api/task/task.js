// The annotator's page: what Streamlit does for the editor on the page Annotate, without Streamlit.

let editor = null;
const part = (id) => document.getElementById(id);
const { project, campaign: inCampaign, headers, texts = {} } = JSON.parse(part("start").textContent);
const server = { url: "../api/actions", headers };
const opened = new URLSearchParams(location.search);
let shown = { project, doc: opened.get("doc"), segment: opened.get("segment") };

/** A text in the reader's language, with {names} replaced by values. */
const said = (text, values = {}) => (texts[text] ?? text).replace(/\{(\w+)\}/g, (_, name) => values[name]);

function mounted(parent, create) {
  editor ??= create();
  return [editor, () => {}];
}

function connected() {
  return [(name, { to }) => step(to), () => {}];
}

function show(unit) {
  shown = unit;
  const place = new URLSearchParams(location.search);
  place.set("doc", unit.doc);
  place.set("segment", unit.segment);
  history.replaceState(null, "", `?${place}`);
  part("place").textContent = `${unit.at} / ${unit.total}`;
  part("rater").textContent = unit.rater;
  part("bar").value = unit.total ? unit.done / unit.total : 0;
  const { campaign } = unit;
  const more = campaign ? !campaign.finished : unit.done < unit.total;
  part("progress").textContent = said(campaign ? "{done} of {total} submitted" : "{done} of {total} segments submitted", unit);
  part("done").hidden = more;
  for (const button of document.querySelectorAll("[data-step]")) {
    const { step: to } = button.dataset;
    button.disabled = to === "previous" ? unit.at === 1 : to === "next" ? unit.at === unit.total && (!campaign || unit.done < unit.total || !more) : !more;
  }
  if (campaign) showCampaign(unit);
  drawEditor({ parentElement: part("editor"), data: { ...inLanguage(unit), texts, server } });
}

/** The unit with its definitions in the reader's language; those that a manager has written stay as they are. */
function inLanguage(unit) {
  const explained = (row) => ({ ...row, definition: said(row.definition), example: said(row.example) });
  const [severities, categories] = [unit.severities.map(explained), unit.categories.map(explained)];
  return { ...unit, severities, categories, whole: explained(unit.whole), anchors: unit.anchors.map((a) => ({ ...a, text: said(a.text) })) };
}

function showCampaign({ campaign, done, total }) {
  const minutes = Math.max(1, Math.round(campaign.seconds_left / 60));
  part("left").textContent = done === total ? ""
    : said(campaign.lease_minutes ? "about {minutes} min for these; then more may follow" : "about {minutes} min left", { minutes });
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

/** Show another segment, or this one as the server has it now ("stay"), unless the annotator goes to another one meanwhile. */
async function step(to) {
  if (to === "stay" && leaving) return;
  const mine = (latest += 1);
  leaving = to !== "stay";
  try {
    const answer = await open(to === "stay" ? "here" : to);
    if (mine !== latest) return;
    say("");
    show(answer);
  } catch (error) {
    const why = error.name === "Error" ? `: ${error.message}` : said(", because the server does not answer");
    if (to !== "stay" && mine === latest) say(`${said("This segment could not be opened")}${why}. ${said("Your labels are kept in this browser.")}${error.ended ? "" : ` ${said("Try again.")}`}`);
  } finally {
    if (mine === latest) leaving = false;
  }
}

const open = (to) => {
  const { project: of, doc, segment } = shown;
  return post("../api/unit", { project: of, doc, segment, step: to });
};

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

const instructions = part("instructions");
const READ = `errorscope.instructions${inCampaign ? `/${project}` : ""}`;
try {
  instructions.open = !localStorage.getItem(READ);
  localStorage.setItem(READ, "1");
} catch {
  instructions.open = true; // a private window
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
