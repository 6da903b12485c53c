// Texts, their words and graphemes. Offsets here are UTF-16 units; `points` and `units` convert to and from Unicode code
// points, which the rest of Errorscope uses. Convert at the edge of the component only.

export const segmenter = (granularity) => (globalThis.Intl?.Segmenter ? new Intl.Segmenter(undefined, { granularity }) : null);
const WORDS = /[\p{L}\p{M}\p{N}]+|\s+|[^]/gu;
const BLANK = /^\s*$/u;

export function readText(raw) {
  const toPoint = new Uint32Array(raw.length + 1);
  const toUnit = [];
  let point = 0;
  for (let at = 0; at < raw.length; point += 1) {
    const width = raw.codePointAt(at) > 0xffff ? 2 : 1;
    toUnit.push(at);
    for (let k = 0; k < width; k += 1) toPoint[at + k] = point;
    at += width;
  }
  toPoint[raw.length] = point;
  toUnit.push(raw.length);

  const graphemes = segmenter("grapheme");
  const stops = graphemes ? [...graphemes.segment(raw)].map((g) => g.index) : toUnit.slice(0, -1);
  stops.push(raw.length);

  const words = segmenter("word");
  const pieces = words ? [...words.segment(raw)].map((w) => w.segment) : raw.match(WORDS) ?? [];
  const tokens = [];
  let from = 0;
  for (const piece of pieces) {
    if (!BLANK.test(piece)) tokens.push({ start: from, end: from + piece.length });
    from += piece.length;
  }
  return {
    raw,
    stops,
    tokens,
    points: (unit) => toPoint[unit],
    units: (pt) => toUnit[Math.max(0, Math.min(pt, toUnit.length - 1))],
    /** The nearest place at or before `unit` that splits neither a surrogate pair nor a grapheme. */
    floor: (unit) => stops.findLast((s) => s <= unit) ?? 0,
    next: (unit) => stops.find((s) => s > unit) ?? raw.length,
    previous: (unit) => stops.findLast((s) => s < unit) ?? 0,
    /** The word at `unit`, or the nearest one. */
    token(unit) {
      const distance = (t) => (unit < t.start ? t.start - unit : unit >= t.end ? unit - t.end + 1 : 0);
      return tokens.reduce((best, t) => (best && distance(best) <= distance(t) ? best : t), null);
    },
  };
}

// A selection has a `base` (a word, or a position when moving by character) and a moving `head`; it covers both.
export const startOf = (sel) => Math.min(sel.base.start, sel.head);
export const endOf = (sel) => Math.max(sel.base.end, sel.head);
export const isEmpty = (sel) => !sel || startOf(sel) === endOf(sel);
export const placed = (at) => ({ base: { start: at, end: at }, head: at });
export const onToken = (token) => ({ base: { start: token.start, end: token.end }, head: token.end });

/** The selection after one arrow key. `forward` follows the text, not the screen. */
export function moved(text, sel, { forward, extend, byCharacter }) {
  if (byCharacter && extend) {
    const anchor = sel.head >= sel.base.end ? sel.base.start : sel.base.end;
    return { base: { start: anchor, end: anchor }, head: forward ? text.next(sel.head) : text.previous(sel.head) };
  }
  if (byCharacter) {
    const at = isEmpty(sel) ? (forward ? text.next(sel.head) : text.previous(sel.head)) : forward ? endOf(sel) : startOf(sel);
    return placed(at);
  }
  if (!extend) {
    const token = forward
      ? text.tokens.find((t) => t.start >= endOf(sel)) ?? text.tokens.at(-1)
      : text.tokens.findLast((t) => t.end <= startOf(sel)) ?? text.tokens[0];
    return token ? onToken(token) : sel;
  }
  const { base, head } = sel;
  let to;
  if (forward && head < base.start) to = Math.min(text.tokens.find((t) => t.start > head)?.start ?? base.start, base.start);
  else if (forward) to = text.tokens.find((t) => t.end > Math.max(head, base.end))?.end ?? head;
  else if (head > base.end) to = Math.max(text.tokens.findLast((t) => t.end < head)?.end ?? base.end, base.end);
  else to = text.tokens.findLast((t) => t.start < Math.min(head, base.start))?.start ?? head;
  return { base, head: to };
}

/** The selection after the pointer went from its base to `place`: whole words, or graphemes when `byCharacter`. */
export function dragged(text, sel, place, byCharacter) {
  if (byCharacter) return { base: sel.base, head: text.floor(place) };
  if (place >= sel.base.end) return { base: sel.base, head: Math.max(text.tokens.findLast((t) => t.start < place)?.end ?? 0, sel.base.end) };
  if (place <= sel.base.start) return { base: sel.base, head: Math.min(text.tokens.find((t) => t.end > place)?.start ?? 0, sel.base.start) };
  return { base: sel.base, head: sel.base.end };
}
