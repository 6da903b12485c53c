"""Colours as CSS writes them, and their contrast by WCAG 2.2."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")


class Rgba(NamedTuple):
    r: float
    g: float
    b: float
    a: float = 1.0

    def over(self, ground: Rgba) -> Rgba:
        """Return this colour composited on an opaque one."""
        return Rgba(*(x * self.a + y * (1 - self.a) for x, y in zip(self[:3], ground[:3], strict=True)))

    @property
    def luminance(self) -> float:
        r, g, b = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in (x / 255 for x in self[:3]))
        return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(one: Rgba, other: Rgba) -> float:
    """Return the contrast ratio of two opaque colours, 1 to 21."""
    low, high = sorted((one.luminance, other.luminance))
    return (high + 0.05) / (low + 0.05)


def rules(css: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Return every rule with its declarations, those inside @media and @container included."""
    for selector, body in RULE.findall(re.sub(r"/\*.*?\*/", "", css, flags=re.DOTALL)):
        declared = (part.partition(":")[::2] for part in re.split(r";(?![^(]*\))", body))
        yield (
            selector.strip(),
            {name.strip(): value.removesuffix("!important").strip() for name, value in declared if value},
        )


def colour(text: str, variables: Mapping[str, str], dark: bool) -> Rgba | None:
    """Return the colour of a CSS value; None if it is no colour, or one that the text alone does not say (inherit, calc, …)."""
    name, _, inner = text.partition("(")
    parts = _arguments(inner.removesuffix(")"))
    if name == "var":
        value = variables.get(parts[0], parts[1] if len(parts) > 1 else None)
        assert value is not None, f"{parts[0]} is not defined"
        return colour(value, variables, dark)
    if name == "light-dark":
        return colour(parts[dark], variables, dark)
    if name == "color-mix" and (share := re.fullmatch(r"(\S+) ([\d.]+)%", parts[1])):
        return _mixed(colour(share[1], variables, dark), float(share[2]) / 100, colour(parts[2], variables, dark))
    if name in ("rgb", "rgba"):
        return Rgba(*(float(n) for n in re.findall(r"[\d.]+", inner)))
    if re.fullmatch(r"#[0-9a-fA-F]{6}", text):
        return Rgba(*(int(text[i : i + 2], 16) for i in (1, 3, 5)))
    return {"transparent": Rgba(0, 0, 0, 0), "white": Rgba(255, 255, 255), "black": Rgba(0, 0, 0)}.get(text)


def _arguments(inner: str) -> list[str]:
    """Return the arguments of a CSS function, split at commas outside parentheses."""
    parts, depth = [""], 0
    for sign in inner:
        depth += (sign == "(") - (sign == ")")
        parts = [*parts, ""] if sign == "," and not depth else [*parts[:-1], parts[-1] + sign]
    return [part.strip() for part in parts]


def _mixed(one: Rgba | None, share: float, other: Rgba | None) -> Rgba:
    """Return color-mix(in srgb, …), which weighs each colour by its alpha."""
    assert one is not None
    assert other is not None
    alpha = one.a * share + other.a * (1 - share)
    parts = ((x * one.a * share + y * other.a * (1 - share)) / alpha for x, y in zip(one[:3], other[:3], strict=True))
    return Rgba(*parts, alpha)
