"""Scores under the name of the metric that computed them.

Metrics whose values depend on the other outputs (idf weights) lost their options in the name: `moverscore|pool:mean` was
stored as `moverscore`, `bertscore|idf:yes` as `bertscore`. The signature still has the options, and the jobs have the
expressions that were asked for. A row of which neither tells the name for certain is removed: the scores are computed again
when they are asked for. Signatures of options that are given although they may be the default get their mark, so that they
belong to one metric only.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
import zlib
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import unquote

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

log = logging.getLogger("db.migrations")

MOVERSCORE = {"idf": "own", "pool": "pmeans", "distance": "squared"}
LAYER = re.compile(r"(bertscore([|/])v:1\2measure:\w\2layer:\d+)(?=\2)")


def upgrade() -> None:
    connection = op.get_bind()
    asked = _asked(connection)
    found = connection.execute(sa.text("SELECT id, metric, signature FROM signatures")).all()
    for number, metric, signature in found:
        name = _name(metric, signature, asked)
        if name is None:
            _remove(connection, number, metric, signature)
        elif (name, _signed(name, signature)) != (metric, signature):
            _store(connection, number, name, _signed(name, signature))
    _reports(connection, asked)


def _asked(connection: sa.Connection) -> list[str]:
    """The metric expressions of all jobs, each once."""
    rows = connection.execute(sa.text("SELECT metrics FROM jobs")).scalars()
    return sorted({name for metrics in rows for name in json.loads(metrics)})


def _fields(signature: str) -> dict[str, str]:
    """The fields of a signature, or of one that stands in a field of another; the first of equal names counts."""
    separator = "|" if "|" in signature else "/"
    out: dict[str, str] = {}
    for part in signature.split(separator)[1:]:
        key, colon, value = part.partition(":")
        if colon:
            out.setdefault(key, value)
    return out


def _options(expression: str) -> dict[str, str]:
    return {key: value for key, _, value in (part.partition(":") for part in expression.split("|")[1:])}


def _name(metric: str, signature: str, asked: Iterable[str]) -> str | None:
    """The right name of a signature's metric, None where it cannot be told."""
    fields = _fields(signature)
    if metric.startswith("bartscore++-faithfulness|"):
        return "|".join(part for part in metric.split("|") if part != "nt:probability")
    if metric == "moverscore":
        return _moverscore(fields)
    bound = metric == "bertscore" and fields.get("idf", "").startswith("refs")
    if bound or (metric == "menli" and _depends(fields.get("m", ""))):
        fits = _is_bertscore if bound else _is_menli
        names = [name for name in asked if name.split("|")[0] == metric and fits(_options(name), fields)]
        return names[0] if len(names) == 1 else None
    return metric


def _moverscore(fields: Mapping[str, str]) -> str:
    values = {key: fields.get(key, "").partition("-")[0] for key in MOVERSCORE}
    changed = (f"{key}:{value}" for key, value in values.items() if value not in ("", MOVERSCORE[key]))
    return "|".join(["moverscore", *changed])


def _is_moverscore(options: Mapping[str, str], fields: Mapping[str, str]) -> bool:
    return all(fields.get(k, "").partition("-")[0] == options.get(k, default) for k, default in MOVERSCORE.items())


def _is_bertscore(options: Mapping[str, str], fields: Mapping[str, str]) -> bool:
    return (
        fields.get("measure") == options.get("measure", "f")
        and options.get("layer") in (None, fields.get("layer"))
        and fields.get("idf", "").startswith("refs") == (options.get("idf") == "yes")
        and (fields.get("baseline") != "no") == (options.get("rescale") == "yes")
    )


def _is_menli(options: Mapping[str, str], fields: Mapping[str, str]) -> bool:
    other, nli = unquote(options.get("with", "bertscore")), unquote(options.get("nli", "nli"))
    n, m = fields.get("n", ""), fields.get("m", "")
    same = (other.split("|")[0], nli.split("|")[0], options.get("w", "0.2"))
    if same != (m.split("/")[0], n.split("/")[0], fields.get("w")):
        return False
    given, origin = unquote(options.get("range", "fitted")), fields.get("range_m", "")
    if given not in ("fitted", "declared") and origin != f"{given} (given)":
        return False
    if (given == "declared" and "(declared)" not in origin) or (given == "fitted" and "(given)" in origin):
        return False
    nested = _fields(n)
    if any(key in nested and nested[key] != value for key, value in _options(nli).items()):
        return False
    return (_is_moverscore if other.startswith("moverscore") else _is_bertscore)(_options(other), _fields(m))


def _depends(other: str) -> bool:
    idf = _fields(other).get("idf", "")
    return (other.startswith("moverscore/") and idf != "no") or (
        other.startswith("bertscore/") and idf.startswith("refs")
    )


def _signed(name: str, signature: str) -> str:
    """The signature with the marks of what the name gives: a layer of BERTScore, the declared range of MENLI."""
    if "layer:" in (plain := unquote(name)):
        signature = LAYER.sub(r"\1 (given)", signature)
    if name.startswith("menli|") and "range:declared" in plain.split("|"):
        signature = re.sub(r"(\|range_m:[^|]*\(declared\))(?=\|)", r"\1 (given)", signature)
    return signature


def _store(connection: sa.Connection, number: int, name: str, signature: str) -> None:
    connection.execute(
        sa.text("UPDATE signatures SET metric = :metric, signature = :signature, digest = :digest WHERE id = :id"),
        {
            "metric": name,
            "signature": signature,
            "digest": hashlib.sha256(signature.encode("utf-8")).hexdigest(),
            "id": number,
        },
    )


def _remove(connection: sa.Connection, number: int, metric: str, signature: str) -> None:
    log.warning(
        "scores stored as %r are removed: their signature does not tell with which options they were asked for, and no job "
        "does. Score again to compute them. Signature: %s",
        metric, signature,
    )  # fmt: skip
    for table, column in (("scores", "signature"), ("runs", "signature"), ("signatures", "id")):
        connection.execute(sa.text(f"DELETE FROM {table} WHERE {column} = :id"), {"id": number})


def _reports(connection: sa.Connection, asked: Iterable[str]) -> None:
    """Name the metrics of stress tests; where no job tells BERTScore's name, the layer that was read stands in it."""
    rows = connection.execute(sa.text("SELECT id, settings, report FROM stress_runs")).all()
    for number, settings, packed in rows:
        try:
            whole = json.loads(zlib.decompress(packed).decode("utf-8", "surrogatepass"))
            report = whole["report"]
            before = [(m["name"], m["signature"]) for m in report["metrics"]]
        except (zlib.error, ValueError, KeyError, TypeError):  # opening it reports the fault
            continue
        names = [_reported(name, signature, asked) for name, signature in before]
        if names == [name for name, _ in before] or len(set(names)) < len(names):
            continue
        for metric, name in zip(report["metrics"], names, strict=True):
            if name != metric["name"]:
                metric |= {"name": name, "label": f"{metric['label']} ({', '.join(name.split('|')[1:])})"}
        for at, cell in enumerate(report["cells"]):
            cell["metric"] = names[at % len(names)]  # every test has one cell per metric, in their order
        told: dict[str, Any] = json.loads(settings) | {"metrics": names}
        text = json.dumps(whole, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
        connection.execute(
            sa.text("UPDATE stress_runs SET settings = :settings, report = :report WHERE id = :id"),
            {
                "settings": json.dumps(told, separators=(",", ":")),
                "report": zlib.compress(text.encode("utf-8", "surrogatepass")),
                "id": number,
            },
        )


def _reported(metric: str, signature: str, asked: Iterable[str]) -> str:
    name = _name(metric, signature, asked)
    if name is not None:
        return name
    if metric != "bertscore":
        return metric
    fields = _fields(signature)
    given = {"measure": fields.get("measure", "f"), "layer": fields.get("layer", ""), "idf": "yes"}
    if fields.get("baseline") != "no":
        given["rescale"] = "yes"
    return "|".join(["bertscore", *(f"{k}:{v}" for k, v in given.items() if (k, v) != ("measure", "f"))])
