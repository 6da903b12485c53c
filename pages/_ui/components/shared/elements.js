// Make elements, and names that no other has.

/**
 * Return a new element. `props` is its class, or attributes: `text`, listeners ("onclick"), true for an attribute without a value.
 * Attributes that are false, null or undefined are left out, and children as by `put`.
 */
export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  const attributes = typeof props === "string" ? { class: props || null } : props;
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "text") node.textContent = value;
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  return put(node, ...children);
}

/** Append children; those that are missing or empty are left out. */
export function put(parent, ...children) {
  parent.append(...children.filter((c) => c || c === 0));
  return parent;
}

/** A random UUID, also on a page without a secure context. */
export function freshId() {
  if (globalThis.crypto?.randomUUID) return crypto.randomUUID();
  const bytes = globalThis.crypto?.getRandomValues ? crypto.getRandomValues(new Uint8Array(16)) : Array.from({ length: 16 }, () => Math.random() * 256);
  const hex = [...bytes].map((b, i) => (i === 6 ? (b & 15) | 64 : i === 8 ? (b & 63) | 128 : b & 255).toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** A number with a minus sign, which a value that is rounded to zero does not get. */
export function signed(x, digits = 3) {
  const size = Math.abs(x).toFixed(digits);
  return (x < 0 && Number(size) > 0 ? "\u2212" : "") + size;
}
