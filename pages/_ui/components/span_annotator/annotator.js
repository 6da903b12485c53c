// The span editor on a page of Streamlit.

import { connected, mounted } from "../shared/component.js";
import { createEditor } from "./editor.js";

/** Called at every change of `data`. */
export default function drawEditor(component) {
  const { data, parentElement } = component;
  const create = () => ({ editor: createEditor(parentElement), stop: () => {} });
  const [view, release] = mounted(parentElement, create, ({ editor, stop }) => { editor.destroy(); stop(); });
  if (!data) return release;
  const [send, stop] = connected(component);
  view.stop = stop;
  view.editor.update(data, (where) => send("go", where));
  return release;
}
