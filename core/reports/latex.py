"""Tables for LaTeX, with the rules of booktabs."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence

_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "λ": r"$\lambda$", "τ": r"$\tau$", "ρ": r"$\rho$",
    "ε": r"$\varepsilon$", "α": r"$\alpha$", "∞": r"$\infty$", "−": r"$-$", "–": "--", "≤": r"$\leq$", "↑": r"$\uparrow$", "↓": r"$\downarrow$",
    "†": r"\dag{}",
}  # fmt: skip


def latex_text(text: str) -> str:
    """Return `text` escaped for LaTeX; control characters become spaces."""
    return "".join(" " if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp") else _LATEX.get(c, c) for c in text)


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


def latex_table(columns: Sequence[str], groups: Sequence[Sequence[Sequence[str]]], caption: str) -> str:
    """Return a table with a rule between groups of rows, without empty groups. The cells are LaTeX; columns and caption are escaped."""
    lines = [
        "% needs \\usepackage{booktabs}", "\\begin{table}", "\\centering", "\\small",
        f"\\begin{{tabular}}{{l{'r' * (len(columns) - 1)}}}", "\\toprule", " & ".join(map(latex_text, columns)) + r" \\",
    ]  # fmt: skip
    for rows in filter(None, groups):
        lines += ["\\midrule", *(" & ".join(cells) + r" \\" for cells in rows)]
    lines += ["\\bottomrule", "\\end{tabular}", f"\\caption{{{latex_text(caption)}}}", "\\end{table}"]
    return "\n".join(lines) + "\n"
