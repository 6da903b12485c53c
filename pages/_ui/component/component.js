// What all components share: how they are mounted, and how what they send arrives. It stands before the script of each.

const FIRST_REPEAT = 2000;
const LAST_REPEAT = 30000;
const mounts = new WeakMap(); // element of Streamlit -> {view, calls}
const queues = new Map(); // key of the component -> what the server has not acknowledged; outlives a remount

function messageId() {
  if (globalThis.crypto?.randomUUID) return crypto.randomUUID();
  return Array.from({ length: 4 }, () => Math.random().toString(36).slice(2)).join("");
}

/**
 * The view that stands in `parentElement`, made by `create` where there is none, and the clean-up to return to Streamlit.
 * Streamlit may clean up after an older call when a newer one has been made: only the newest may take the view away.
 */
function mounted(parentElement, create, destroy) {
  let held = mounts.get(parentElement);
  if (!held) mounts.set(parentElement, (held = { view: create(), calls: 0 }));
  held.calls += 1;
  const call = held.calls;
  const release = () => {
    if (held.calls !== call || mounts.get(parentElement) !== held) return;
    mounts.delete(parentElement);
    destroy(held.view);
  };
  return [held.view, release];
}

/**
 * Take what the server acknowledges in `data.messages`, and return send(name, value) and a function that stops the repeats.
 * A message that was sent for another `of` (another text, another project) is dropped: it is not meant for what is shown now.
 */
function connected({ data, setStateValue }) {
  const { key, of, acknowledged } = data.messages;
  let queue = queues.get(key);
  if (!queue) queues.set(key, (queue = { waiting: [], wait: FIRST_REPEAT, timer: 0, sent: 0 }));
  queue.deliver = () => {
    queue.sent = Date.now();
    setStateValue("messages", { at: queue.sent, list: queue.waiting });
  };
  queue.waiting = queue.waiting.filter((m) => m.of === of && !acknowledged.includes(m.id));
  if (queue.waiting.length) repeatLater(queue);
  else clearTimeout(queue.timer);
  const send = (name, value) => {
    queue.waiting = [...queue.waiting, { id: messageId(), of, name, value }];
    queue.wait = FIRST_REPEAT;
    queue.deliver();
    repeatLater(queue);
  };
  return [send, () => clearTimeout(queue.timer)];
}

function repeatLater(queue) {
  clearTimeout(queue.timer);
  queue.timer = setTimeout(() => {
    // A repeat would interrupt a run of the page that may hold the very answer, so it waits for the end of the run.
    const running = document.querySelector("[data-testid=stApp]")?.dataset.testScriptState === "running";
    if (!running || Date.now() - queue.sent > LAST_REPEAT) {
      queue.deliver();
      queue.wait = Math.min(queue.wait * 2, LAST_REPEAT);
    }
    repeatLater(queue);
  }, queue.wait);
}
