// Places of a text on the screen. A drawn text is {id, raw, …} of `readText` with its element `el` and `nodes`, the pieces of it
// that are drawn: [{from, to, node}].

function nodeAt(text, at) {
  const piece = text.nodes.find((p) => at >= p.from && at < p.to) ?? text.nodes.at(-1);
  return piece ? [piece.node, Math.min(at, piece.to) - piece.from] : [text.el, 0];
}

function rangeOf(text, from, to) {
  const range = document.createRange();
  range.setStart(...nodeAt(text, from));
  range.setEnd(...nodeAt(text, to));
  return range;
}

/** The rectangle of a stretch of a text, of its first line. */
export function rectOf(text, from, to) {
  const rects = text.nodes.length ? rangeOf(text, from, to).getClientRects() : [];
  return rects[0] ?? text.el.getBoundingClientRect();
}

export const isRightToLeft = (text) => getComputedStyle(text.el).direction === "rtl";

/** The place in the text for a position in its element. Positions on what is drawn between the pieces, such as the cursor, are those of the next piece. */
function placeOf(text, node, offset) {
  const piece = text.nodes.find((p) => p.node === node);
  if (piece) return piece.from + offset;
  const range = document.createRange();
  range.setStart(node, offset);
  return text.nodes.find((p) => range.comparePoint(p.node, 0) >= 0)?.from ?? text.raw.length;
}

/** The place and the character under a point of the screen, null if the point is in no text. */
export function hit(text, x, y) {
  const caret = document.caretPositionFromPoint?.(x, y);
  const range = caret ? null : document.caretRangeFromPoint?.(x, y);
  const [node, offset] = caret ? [caret.offsetNode, caret.offset] : range ? [range.startContainer, range.startOffset] : [null, 0];
  if (!text.el.contains(node)) {
    const box = text.el.getBoundingClientRect();
    if (y < box.top) return { at: 0, character: 0 };
    if (y > box.bottom) return { at: text.raw.length, character: Math.max(0, text.raw.length - 1) };
    const beside = Math.max(box.left + 1, Math.min(x, box.right - 1));
    return beside === x ? null : hit(text, beside, y);
  }
  const at = text.floor(placeOf(text, node, offset));
  const before = text.previous(at);
  const inside = [...rangeOf(text, before, at).getClientRects()].some((r) => x >= r.left && x <= r.right && y >= r.top - 2 && y <= r.bottom + 2);
  return { at, character: at > 0 && inside ? before : at };
}

/** The place a line above (`way` −1) or below (1) another one, null if there is none. */
export function lineFrom(text, at, way) {
  const rect = rectOf(text, text.previous(at), at);
  const rtl = isRightToLeft(text);
  return hit(text, (rtl ? rect.left : rect.right) - (rtl ? -1 : 1), rect.top + rect.height / 2 + way * parseFloat(getComputedStyle(text.el).lineHeight));
}
