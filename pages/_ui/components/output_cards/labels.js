// The labels of one output: its text with the error spans of all annotators, and the errors as a list.

const counted = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;

function markedText(pieces) {
  const p = el("p", "esc-text esc-marked");
  p.dir = "auto";
  const last = new Map(); // each number stands once, where its span ends: other spans may cut it into pieces
  pieces.forEach(([, , marks], i) => marks.forEach((n) => last.set(n, i)));
  pieces.forEach(([words, severity, marks], i) => {
    if (!marks.length) { p.append(words); return; }
    const here = marks.filter((n) => last.get(n) === i);
    const mark = put(el("mark", severity.toLowerCase()), el("bdi", "", words || "\u2038"));
    put(p, put(mark, here.length ? el("sup", "", here.join(" ")) : null));
  });
  return p;
}

function severities(errors) {
  const found = ["Major", "Minor", "Neutral"].map((s) => [errors.filter((e) => e.severity === s).length, s]);
  return found.filter(([n]) => n).map(([n, s]) => `${n} ${s}`).join(", ") || "no error";
}

function labelList({ errors, raters }, mqm) {
  const line = `${mqm === null ? "" : `MQM ${mqm} \u00b7 `}${severities(errors)} \u00b7 ${counted(raters, "annotator")}`;
  if (!errors.length) return el("p", "esc-label", line);
  const list = el("ol");
  for (const e of errors) {
    put(list, put(el("li"), el("b", e.severity.toLowerCase(), e.severity), ` ${e.category} `,
      e.side === "source" ? "in the source " : null, e.quote ? el("bdi", "", `\u201c${e.quote}\u201d`) : null,
      raters > 1 ? el("bdi", "esc-rater", ` ${e.rater}`) : null, e.note ? el("bdi", "esc-note", e.note) : null));
  }
  return put(el("details", "esc-errors"), el("summary", "", line), list);
}
