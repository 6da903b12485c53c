// Shared by all components: mounting, and reliable messages to the server.

import { freshId } from "./elements.js";

const FIRST_REPEAT = 2000;
const LAST_REPEAT = 30000;
const mounts = new WeakMap(); // element of Streamlit -> {view, calls}
const queues = new Map(); // key of the component -> what the server has not acknowledged; outlives a remount

/**
 * Return the view in `parentElement`, made by `create` if there is none, and the clean-up function for Streamlit.
 * Streamlit may clean up an older call after a newer one: only the newest call may remove the view.
 */
export function mounted(parentElement, create, destroy) {
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
 * Process the acknowledgements in `data.messages`; return send(name, value) and a function that stops the repeats.
 * Messages sent for another `of` (another text, another project) are dropped.
 */
export function connected({ data, setStateValue }) {
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
    queue.waiting = [...queue.waiting, { id: freshId(), of, name, value }];
    queue.wait = FIRST_REPEAT;
    queue.deliver();
    repeatLater(queue);
  };
  return [send, () => clearTimeout(queue.timer)];
}

function repeatLater(queue) {
  clearTimeout(queue.timer);
  queue.timer = setTimeout(() => {
    // A repeat would interrupt a running page that may already answer it, so wait until the run ends.
    const running = document.querySelector("[data-testid=stApp]")?.dataset.testScriptState === "running";
    if (!running || Date.now() - queue.sent > LAST_REPEAT) {
      queue.deliver();
      queue.wait = Math.min(queue.wait * 2, LAST_REPEAT);
    }
    repeatLater(queue);
  }, queue.wait);
}
