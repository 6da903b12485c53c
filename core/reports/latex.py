"""Tables for LaTeX, with the rules of booktabs."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence

_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "λ": r"$\lambda$", "τ": r"$\tau$", "ρ": r"$\rho$",
    "ε": r"$\varepsilon$", "α": r"$\alpha$", "∞": r"$\infty$", "−": r"$-$", "–": "--", "≤": r"$\leq$", "↑": r"$\uparrow$", "↓": r"$\downarrow$",
    "†": r"\dag{}",
}  # fmt: skip


_FORMULAS = (
    (re.compile(r"\$\\tau\$-b\b"), r"$\\tau_b$"),
    (re.compile(r"(?<![\w\\])acc\\_eq(?![\w\\])"), r"$\\mathrm{acc}_{\\mathrm{eq}}$"),
    (re.compile(r"\bPearson r\b"), r"Pearson $r$"),
)
"""Names of statistics in escaped text, and how they are set."""


def latex_text(text: str) -> str:
    """Return `text` escaped for LaTeX, with the names of statistics as formulas; control characters become spaces."""
    escaped = "".join(" " if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp") else _LATEX.get(c, c) for c in text)
    for words, formula in _FORMULAS:
        escaped = words.sub(formula, escaped)
    return escaped


def bold(cell: str) -> str:
    return f"\\textbf{{{cell}}}"


def latex_of_shown(rows: Sequence[Mapping[str, str]], caption: str) -> str:
    """Return a table of the cells that a page shows; a rule replaces each row that has only its first cell, a heading."""
    names = [name for name in rows[0] if any(row[name] for row in rows)] if rows else []
    groups: list[list[list[str]]] = [[]]
    for row in rows:
        if any(row[name] for name in names[1:]):
            groups[-1].append([latex_text(row[name]) for name in names])
        else:
            groups.append([])
    return latex_table(names, groups, caption)


def latex_table(
    columns: Sequence[str], groups: Sequence[Sequence[Sequence[str]]], caption: str, label: str = ""
) -> str:
    """Return a table with a rule between groups of rows, without empty groups. The cells are LaTeX; columns and caption are escaped.

    `label` is any text, by default the caption; its ASCII letters and digits follow "tab:".
    """
    plain = unicodedata.normalize("NFKD", label or caption).encode("ascii", "ignore").decode().lower()
    key = re.sub(r"[^a-z0-9]+", "-", plain)[:40].strip("-")
    lines = [
        "% needs \\usepackage{booktabs}", "\\begin{table}", "\\centering", "\\small",
        f"\\begin{{tabular}}{{l{'r' * (len(columns) - 1)}}}", "\\toprule", " & ".join(map(latex_text, columns)) + r" \\",
    ]  # fmt: skip
    for rows in filter(None, groups):
        lines += ["\\midrule", *(" & ".join(cells) + r" \\" for cells in rows)]
    lines += [
        "\\bottomrule",
        "\\end{tabular}",
        f"\\caption{{{latex_text(caption)}}}",
        f"\\label{{tab:{key}}}",
        "\\end{table}",
    ]
    return "\n".join(lines) + "\n"
