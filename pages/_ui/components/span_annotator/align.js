// Which sentence of the source belongs to a place in an output: by shared words, else by position. Rough, as a reading aid.

import { segmenter } from "./text.js";

const SHARED = 0.25; // of the weight of the sentence's words, so that a name alone does not decide

const SUMMARY = 4; // a source that is this much longer than the output

export function readSentences(raw) {
  const sentences = segmenter("sentence");
  const parts = sentences ? [...sentences.segment(raw)] : [{ index: 0, segment: raw }];
  const list = parts
    .map(({ index, segment }) => ({
      start: index,
      end: index + segment.trimEnd().length,
      words: new Set((segment.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? []).filter((w) => w.length > 3 || /\p{N}/u.test(w))),
    }))
    .filter((s) => s.end > s.start);
  const frequency = new Map();
  for (const { words } of list) for (const w of words) frequency.set(w, (frequency.get(w) ?? 0) + 1);
  const weight = (w) => Math.log(1 + list.length / (frequency.get(w) ?? 1));
  return { length: raw.length, list, weight };
}

/** The sentence of the source for the place `at` of an output, as {start, end, by}; null if there is nothing to choose. */
export function aligned(source, output, at) {
  const sentence = output.list.find((s) => at <= s.end) ?? output.list.at(-1);
  if (!sentence || source.list.length < 2) return null;
  // a single sentence beside a source of about its length belongs to all of it: a mark would hide what it omits
  if (output.list.length < 2 && source.length < SUMMARY * output.length) return null;
  const total = (words) => words.reduce((sum, w) => sum + source.weight(w), 0);
  const words = [...sentence.words];
  const shared = source.list.map((s) => total(words.filter((w) => s.words.has(w))));
  const most = Math.max(...shared);
  if (most > 0 && most >= SHARED * total(words)) return { ...source.list[shared.indexOf(most)], by: "words" };
  const place = (at / output.length) * source.length;
  return { ...(source.list.find((s) => place <= s.end) ?? source.list.at(-1)), by: "position" };
}
