// Actions that the server has not acknowledged yet, in memory and in localStorage, one entry each (so that two tabs never
// overwrite each other), until the server has answered. Each entry belongs to an outbox: that of an account, of the links of one
// annotator to the same outputs, or of a server without accounts (`outbox_name` in core/services/people/sessions.py), and in it to an
// annotator. A page sends only its own entries: others stay until a page of their own is open.

const STORED = "errorscope.outbox/";
const held = new Map(); // id -> entry; outlives a remount of the component
let counter = 0;

function storage() {
  try {
    localStorage.setItem(`${STORED}probe`, "1");
    localStorage.removeItem(`${STORED}probe`);
    return localStorage;
  } catch {
    return null; // private window, or full: memory only, and the page warns before it is closed
  }
}

/** Undo and redo after a refused action of the same segment: they referred to it, and would undo an older action. */
export function strays(entries, refused) {
  const broken = new Set();
  return entries.filter((e) => {
    const segment = JSON.stringify([e.project, e.doc, e.segment]);
    if (refused[e.action.id]) broken.add(segment);
    return broken.has(segment) && (e.action.kind === "undo" || e.action.kind === "redo");
  });
}

export const AT_ONCE = 50; // actions in one request
export const ANSWER_MS = 30000;
export const FIRST_RETRY = 4000;
const LAST_RETRY = 30000;
const JUST_NOW = 1500; // after an answer, the log is not asked for again

/** The actions as the server receives them: one batch for each run of actions on the same segment, at most AT_ONCE actions. */
export function batched(entries) {
  const batches = [];
  for (const { project, doc, segment, action } of entries.slice(0, AT_ONCE)) {
    const last = batches.at(-1);
    if (last && last.project === project && last.doc === doc && last.segment === segment) last.actions.push(action);
    else batches.push({ project, doc, segment, actions: [action] });
  }
  return batches;
}

/**
 * Post to the server and return its answer {acknowledged, refused, stale, segments, why}, with `reached`. If nothing was saved,
 * `reached` is false and `why` says why, unless the server did not answer. `denied`: this person may not save any more.
 * Without a server (a preview), everything is acknowledged and nothing is saved.
 */
async function deliver(server, body) {
  if (!server) {
    const ids = body.batches.flatMap(({ actions }) => actions.map((action) => action.id));
    return { reached: true, acknowledged: ids, refused: {}, stale: [], segments: [] };
  }
  try {
    const { url, headers } = server;
    const text = JSON.stringify(body);
    const response = await fetch(url, {
      method: "POST", headers: { "Content-Type": "application/json", "Accept-Language": document.documentElement.lang || "en", ...headers }, body: text, credentials: "same-origin",
      keepalive: text.length < 60000, signal: AbortSignal.timeout(ANSWER_MS),
    });
    const answer = await response.json();
    return response.ok ? { reached: true, ...answer } : { reached: false, why: answer.error ?? "", denied: response.status === 401 };
  } catch {
    return { reached: false, why: "" };
  }
}

const inSegment = (entry, { project, doc, segment }) => entry.project === project && entry.doc === doc && entry.segment === segment;

/** Whether an entry is one of this annotator in this outbox. */
const belongs = (entry, { outbox: name, rater }) => entry.outbox === name && entry.rater === rater;

function keep(entry) {
  held.set(entry.action.id, entry);
  if (entry.outbox === undefined) return; // a preview, which saves nothing
  try {
    localStorage.setItem(STORED + entry.action.id, JSON.stringify(entry));
  } catch {
    // memory still holds it
  }
}

export const outbox = {
  /** How many changes of an annotator with this name wait for another page, such as that of another link. */
  onOtherPages: 0,
  durable: () => storage() !== null,
  /** Read what this annotator's pages in this browser have not saved. */
  recall(place) {
    const store = storage();
    if (!store) return;
    outbox.onOtherPages = 0;
    for (let i = 0; i < store.length; i += 1) {
      const key = store.key(i);
      if (!key?.startsWith(STORED)) continue;
      try {
        const entry = JSON.parse(store.getItem(key));
        if (!entry?.action?.id || entry.rater !== place.rater) continue;
        if (entry.outbox === undefined && inSegment(entry, place)) entry.outbox = place.outbox; // an earlier version named none
        if (!belongs(entry, place)) outbox.onOtherPages += 1;
        else if (!held.has(entry.action.id)) held.set(entry.action.id, entry);
      } catch {
        // written by something else, or damaged: ignore it
      }
    }
  },
  put(place, action) {
    counter += 1;
    keep({ ...place, at: Date.now(), n: counter, action });
  },
  /** Actions made on a refused one count as made on what was there before it. */
  rebase(refused) {
    const before = new Map(refused.map((e) => [e.action.id, e.action.payload.seen]));
    for (const entry of held.values()) {
      let { seen } = entry.action.payload;
      if (!before.has(seen)) continue;
      while (before.has(seen)) seen = before.get(seen);
      keep({ ...entry, action: { ...entry.action, payload: { ...entry.action.payload, seen } } }); // a reload must not find the version that was refused
    }
  },
  drop(ids) {
    for (const id of ids) {
      held.delete(id);
      try {
        localStorage.removeItem(STORED + id);
      } catch {
        // it was not stored
      }
    }
  },
  /** Entries of the annotator of a place, oldest first. */
  ofRater: (place) => [...held.values()].filter((e) => belongs(e, place)).sort((a, b) => a.at - b.at || a.n - b.n),
  /** Those of its segment only. */
  ofSegment: (place) => outbox.ofRater(place).filter((e) => inSegment(e, place)),
};

/** Take over an answer to `entries`, which were sent from a place: return those that are saved, refused, and refused as stale. */
export function settle(answer, entries, place) {
  const saved = entries.filter((e) => answer.acknowledged.includes(e.action.id));
  const refused = entries.filter((e) => answer.refused[e.action.id]);
  const stale = refused.filter((e) => answer.stale.includes(e.action.id));
  outbox.drop(answer.acknowledged);
  outbox.rebase(refused.filter((e) => !stale.includes(e)));
  outbox.drop([...refused, ...strays(outbox.ofRater(place), answer.refused)].map((e) => e.action.id));
  return { saved, refused, stale };
}

/**
 * Send what waits, in batches, until nothing is left or the server does not take it; then again, at growing intervals.
 * `source()` is {place, server} of the page; `changed()` is called when the state of sending changes, `heard(answer, entries, place)`
 * with each answer, and `ended()` when a sending has ended; answers count only while `active()`.
 */
export function createSender({ source, active, changed, heard, ended }) {
  const status = { why: null, denied: false, savedAt: null };
  let running = null;
  let asking = false;
  let wait = FIRST_RETRY;
  let timer = 0;
  let heardAt = 0;

  function retryLater({ why = "", denied = false }) {
    Object.assign(status, { why, denied });
    timer = setTimeout(flush, wait);
    wait = Math.min(wait * 2, LAST_RETRY);
    changed();
  }

  async function sendAll() {
    clearTimeout(timer);
    for (;;) {
      const { place, server } = source();
      const entries = outbox.ofRater(place).slice(0, AT_ONCE);
      if (!entries.length && !asking) return changed();
      asking = false;
      changed();
      const { rater, project, doc, segment } = place;
      const answer = await deliver(server, { rater, batches: entries.length ? batched(entries) : [{ project, doc, segment, actions: [] }] });
      if (!active()) return;
      if (!answer.reached) return retryLater(answer);
      Object.assign(status, { why: null, denied: false });
      [wait, heardAt] = [FIRST_RETRY, Date.now()];
      if (answer.acknowledged.length) status.savedAt = new Date();
      heard(answer, entries, place);
      const taken = new Set([...answer.acknowledged, ...Object.keys(answer.refused)]);
      if (entries.some((e) => !taken.has(e.action.id)) && outbox.ofRater(place).length) return retryLater(answer);
    }
  }

  /** Resolves when nothing is left, or the server did not take it. */
  function flush() {
    running ??= sendAll().finally(() => { running = null; ended(); });
    return running;
  }

  return {
    /** `why` the server does not take changes ("" if it does not answer, null if it takes them), whether this person is `denied` to save any more, and when something was saved last. */
    status,
    flush,
    heardJustNow: () => Date.now() - heardAt < JUST_NOW,
    /** Send, and ask for the log of the open segment. */
    ask() {
      asking = true;
      flush();
    },
    retryNow() {
      wait = FIRST_RETRY;
      flush();
    },
    stop: () => clearTimeout(timer),
  };
}
