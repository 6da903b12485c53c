"""The parts of `tests.bench.digests`: what is computed, on which data. Each kind of part yields names and results."""

from __future__ import annotations

import csv
import gzip
import json
import shlex
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from tests.bench import digest_values as values
from tests.bench import product
from tests.mtme import files as mtme_files
from tests.mtme import write as write_files
from tests.paths import needed_data

ROUGE = ("chrf", "bleu", "rouge1", "rouge2", "rougeL")
STRINGS = ("chrf", "bleu", "rouge1", "rouge2", "rougeL", "smart1", "smart2", "smartL", "smartX")
WITH_OPTIONS = (
    "chrf|word_order:2", "chrf|beta:3", "bleu|tokenize:char", "rougeL|stem:yes", "rouge2|measure:r", "rouge1|tokenize:unicode",
    "bartscore|prompt:in other words", "bartscore-p|prompt:in other words|side:decoder", "bartscore++|k:3|rounds:2",
    "bartscore++-p|edits:delete", "bartscore++-r|nt:off|rounds:1", "smart1|matcher:rougeL", "smart2|against:minimum",
    "smartL|measure:p|sentences:rule", "bertscore|measure:r|idf:yes", "bertscore|layer:2", "moverscore|idf:no|pool:mean",
    "moverscore|idf:references|distance:euclidean", "sms|units:both", "embedding|against:both", "entailment|direction:both",
    "nli|formula:e-c|direction:reference-output", "nli|long:sentences", "nli-src|formula:e", "menli|w:0.5|with:chrf",
    "menli|range:declared|with:chrf",
)  # fmt: skip
NO_ANALYSIS = "truncation,token-drop,repeated-token,noised-punctuation,sentence-switching,diverge,copy-source"
"""Stress tests whose texts need no analysis of English: their results are compared."""
OF_THE_CLOCK = ("evidence", "pay", "progress", "files.appraise", "files.pearmut")
"""Results of a simulated campaign that depend on the seconds at which its labels are saved: counted only."""


class Part(NamedTuple):
    """A part's name, its result, and words in the paths of columns that are counted only; "" stands for all."""

    name: str
    result: object
    counted: Sequence[str] = ()


class Data:
    """The three projects in one database, and files that the commands read."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.database = folder / "projects.db"
        self.store = product.store_at(self.database)
        self.sample = product.sample_project(self.store)
        self.summeval = self._imported(self.database, self.store)
        self.ted = self._ted(self.store)
        self.outputs = self.path("outputs.jsonl")
        self.export(self.sample.id, "outputs-jsonl", self.outputs)
        self.few = self.first("few.jsonl", 48)
        self.labels = self.path("labels.tsv")
        self.export(self.sample.id, "google", self.labels)
        self.cases = self._cases(6)

    def path(self, name: str) -> Path:
        return self.folder / name

    def first(self, name: str, count: int, start: int = 0) -> Path:
        """Write a file with so many outputs of the sample."""
        lines = self.outputs.read_text(encoding="utf-8").splitlines(keepends=True)
        self.path(name).write_text("".join(lines[start : start + count]), encoding="utf-8")
        return self.path(name)

    def export(self, project: int, kind: str, file: Path) -> dict[str, Any]:
        file.unlink(missing_ok=True)
        return self.run(f"projects --database {product.url(self.database)} export {project} {kind} {file}")

    def run(self, line: str) -> dict[str, Any]:
        """Run a command; return its exit status and what it printed."""
        done = product.command(*shlex.split(line))
        printed = {name: values.printed(done[name]) for name in ("stdout", "stderr")}
        return {"status": done["status"], **printed}

    def written(self, name: str, line: str) -> dict[str, Any]:
        """Run a command that writes a file; return what it printed and the file."""
        file = self.path(name)
        file.unlink(missing_ok=True)
        return self.run(f"{line} --out {file}") | {"file": self.read(file)}

    def read(self, file: Path) -> Any:
        return values.document(file.name, file.read_bytes()) if file.exists() else None

    @cached_property
    def scored(self) -> tuple[Any, ...]:
        """The projects: the sample with its recorded scores, the others with those of quick metrics."""
        product.score(self.store, self.summeval, ROUGE, 20)
        product.score(self.store, self.ted, ROUGE)
        return self.sample, self.summeval, self.ted

    def without_scores(self) -> tuple[Any, tuple[Any, ...]]:
        """Return a store with the same projects and no scores."""
        database = self.path("unscored.db")
        store = product.store_at(database)
        sample = product.sample_project(store, recorded=False)
        return store, (sample, self._imported(database, store), self._ted(store))

    def _imported(self, database: Path, store: Any) -> Any:
        file = self._summeval()
        self.run(f"projects --database {product.url(database)} import {file} --name SummEval")
        return product.project_named(store, "SummEval")

    def _ted(self, store: Any) -> Any:
        return product.imported_labels(store, needed_data("mqm_ted_zhen.tsv.gz"), "TED zh-en", "refB")

    def _summeval(self) -> Path:
        rows = [json.loads(line) for line in gzip.open(needed_data("summeval.jsonl.gz"), "rt", encoding="utf-8")]
        file = self.path("summeval.jsonl")
        with file.open("w", encoding="utf-8") as lines:
            for k, row in enumerate(rows):
                for system, of in row["outputs"].items():
                    one = {
                        "system": system,
                        "doc_id": row["doc_id"],
                        "segment_id": str(k),
                        "source": row["source"],
                        "references": row["references"],
                    }
                    print(json.dumps(one | {"output": of["text"]} | of["human"]), file=lines)
        return file

    def _cases(self, each: int) -> Path:
        """Some adversarial cases of each phenomenon, drawn with a fixed seed."""
        with gzip.open(needed_data("menli_wmt20_de_adversarial.csv.gz"), "rt", encoding="utf-8", newline="") as lines:
            rows = list(csv.DictReader(lines))
        kinds = dict.fromkeys(row["error"] for row in rows)
        drawn = [row for kind in kinds for row in Random(1).sample([r for r in rows if r["error"] == kind], each)]
        file = self.path("cases.csv")
        with file.open("w", encoding="utf-8", newline="") as lines:
            writer = csv.DictWriter(lines, list(rows[0]))
            writer.writeheader()
            writer.writerows(drawn)
        return file


def scores(data: Data) -> Iterator[Part]:
    """Every metric that runs with the bundled weights: all of the sample and few segments of the others, string metrics on more."""
    ready = product.ready_metrics()
    yield Part("metrics", {"ready": ready})
    models = [name for name in ready if name not in (*STRINGS, "ter", *product.REFINEMENTS)]
    f, p, r, source = product.REFINEMENTS
    store, (sample, summeval, ted) = data.without_scores()
    plan: tuple[tuple[str, Any, dict[int | None, Sequence[str]]], ...] = (
        ("sample", sample, {None: (*STRINGS, "ter", *models), 6: (p, source), 3: (f, r), 2: WITH_OPTIONS}),
        ("SummEval", summeval, {20: ROUGE, 3: (*STRINGS, *models), 1: ("ter", source)}),
        ("TED", ted, {40: ROUGE, 6: (*STRINGS, "ter", *models), 3: (p, source)}),
    )
    for name, project, wanted in plan:
        for segments, metrics in wanted.items():
            product.score(store, project, metrics, segments)
        for metric, rows in product.scores(store, project):
            yield Part(f"scores/{name}/{metric}", rows)


def _name(data: Data, project: Any) -> str:
    return {data.sample.id: "sample", data.summeval.id: "SummEval", data.ted.id: "TED"}[project.id]


def statistics(data: Data) -> Iterator[Part]:
    """Agreement tables with intervals, tests, systems and ranges of ranks, subsets, bias and lengths, raters."""
    for project in data.scored:
        name, of = _name(data, project), product.Statistics(data.store, project)
        if project is data.summeval:
            humans = {score: of.from_score(score) for score in project.human_scores}
            metrics: tuple[str, ...] = ROUGE
        else:
            humans = {scheme: of.from_labels(scheme) for scheme in ("google", "marot", "flat")}
            metrics = ("chrf", "bleu", "rouge1", "rougeL")
            metrics += ("ter", "bartscore++") if project is data.sample else ()
        joined = {score: of.joined(human, metrics, 1.5) for score, human in humans.items()}
        yield Part(f"statistics/{name}/human scores", {k: of.human_scores(h) for k, h in humans.items()})
        for level, group, unit in (
            ("segment", "pooled", "segment"),
            ("segment", "segment", "document"),
            ("system", "pooled", "segment"),
        ):
            if project is data.ted and group == "pooled" and level == "segment":
                continue  # 8,000 outputs pooled take minutes
            first = next(iter(joined.values()))
            yield Part(f"statistics/{name}/{level} {group} {unit}", of.agreement_table(first, level, group, unit))
        first = next(iter(joined.values()))
        yield Part(f"statistics/{name}/systems", of.systems(first, ("chrf",)))
        yield Part(f"statistics/{name}/disagreements", of.disagreements(first))
        if project is not data.ted:
            yield Part(f"statistics/{name}/subsets", of.subsets(first))
            yield Part(f"statistics/{name}/bias and lengths", of.bias_and_lengths(joined))
        if project is not data.summeval:
            yield Part(f"statistics/{name}/raters", of.rater_agreement())


def calibrations(data: Data) -> Iterator[Part]:
    """λ by every measure and grouping, by annotator, weight scheme, labels and best systems; the weight of an NLI metric."""
    product.score(data.store, data.sample, ("bertscore", "nli"))
    of = product.Statistics(data.store, data.sample)
    human = of.from_labels()
    yield Part("calibrations/sample/bartscore++", of.calibrations("bartscore++", human))
    yield Part(
        "calibrations/sample/labels", of.lambda_by_labels("bartscore++", human, ("chrf", "bertscore", "bartscore++"))
    )
    yield Part("calibrations/sample/raters", of.lambda_by_raters("bartscore++"))
    yield Part("calibrations/sample/nli", product.combined(of, human, data.cases))
    product.score(data.store, data.ted, ("bartscore++-p", "bartscore++-faithfulness"), 4)
    of = product.Statistics(data.store, data.ted)
    for metric in ("bartscore++-p", "bartscore++-faithfulness"):
        yield Part(f"calibrations/TED/{metric}", of.calibrations(metric, of.from_labels(), draws=50))


def exports(data: Data) -> Iterator[Part]:
    """Every file that a project can be exported as."""
    endings = {
        "scores-mtme": "zip",
        "label-studio": "json",
        "marot": "tsv",
        "google": "tsv",
        "mtme": "txt",
        "mtme-score": "score",
        "esa": "jsonl",
    }
    for project in data.scored:
        for kind in product.FORMATS:
            ending = endings.get(kind, kind.rpartition("-")[2])
            file = data.path(f"export.{ending}")
            done = data.export(project.id, kind, file)
            read = file.read_bytes() if file.exists() else b""
            if read.startswith(b"PK"):
                ending = "zip"
            yield Part(
                f"exports/{_name(data, project)}/{kind}", done | {"file": values.document(f"export.{ending}", read)}
            )


def refinements(data: Data) -> Iterator[Part]:
    """What `refine` writes in each direction and with each option."""
    file = data.first("to-refine.jsonl", 8, 8)
    for variant in ("f", "precision", "recall", "faithfulness"):
        yield Part(f"refinements/{variant}", data.written("refined.jsonl", f"refine {file} --variant {variant}"))
    options = {
        "k": "--k 3 --rounds 2",
        "edits": "--edits delete+substitute",
        "off": "--non-translation off --rounds 1",
        "prompts": "--prompt 'in other words' --prompt 'that is' --rounds 2",
        "decoder": "--prompt 'such as' --side decoder --rounds 2",
    }
    for name, given in options.items():
        made = data.written("refined.jsonl", f"refine {file} --variant precision {given}")
        yield Part(f"refinements/{name}", made)


def campaigns(data: Data) -> Iterator[Part]:
    """Results of simulated campaigns under each protocol, and of real ones of other tools."""
    for protocol in ("da", "esa", "mqm", "pairwise", "cesa"):
        yield Part(f"campaigns/{protocol}", product.campaign(data.folder, protocol), OF_THE_CLOCK)
    texts = needed_data("esa/appraise_batches_wmt23_ende.json.gz")
    for kind in ("esa", "mqm", "esaai"):
        file = needed_data(f"esa/appraise_{kind}_wmt23_ende.csv.gz")
        yield Part(f"campaigns/appraise {kind}", product.campaign_of_others(file, texts, "appraise"))
        analysed = data.run(f"campaign analyse {file} --format appraise --texts {texts}")
        yield Part(f"commands/campaign analyse {kind}", analysed)


def perturbations(data: Data) -> Iterator[Part]:
    """Perturbed texts, which are counted only, and tests and attacks on metrics."""
    rows = map(json.loads, data.outputs.read_text(encoding="utf-8").splitlines())
    references = list(dict.fromkeys(row["references"][0] for row in rows))
    yield Part("perturbations/texts", product.perturbed(references), ("",))
    options = "--metrics chrf,rouge1 --seeds 2 --draws 100 --limit 8"
    for name, tests, counted in (("without analysis", NO_ANALYSIS, ()), ("all", "all", ("",))):
        report = data.path(f"stress {name}.json".replace(" ", "-"))
        ran = data.run(f"stress {data.few} --tests {tests} {options} --json {report}")
        yield Part(f"commands/stress {name}", ran | {"file": data.read(report)}, counted)
    attack = f"attack {data.few} --metric bertscore --others chrf,bleu --limit 2 --bound 0.1"
    yield Part("commands/attack", data.written("attacked.csv", attack), ("",))


def commands(data: Data) -> Iterator[Part]:
    """The output of every command on small inputs."""
    yield from _of_scores(data)
    yield from _of_labels(data)
    yield from _of_databases(data)


def _of_scores(data: Data) -> Iterator[Part]:
    few, tiny, folder = data.few, data.first("tiny.jsonl", 4), write_files(data.path("set"), mtme_files())
    small, lines = data.path("few-summeval.jsonl.gz"), gzip.decompress(needed_data("summeval.jsonl.gz").read_bytes())
    small.write_bytes(gzip.compress(b"".join(lines.splitlines(keepends=True)[:6]), mtime=0))
    yield Part("commands/metrics", data.run("metrics"))
    yield Part("commands/models", data.run("models lm no-such-folder"))
    for name, file, given in (
        ("score csv", "scores.csv", f"score {few} --metrics chrf,bleu,ter,bertscore,bartscore"),
        ("score jsonl", "scores.jsonl", f"score {tiny} --metrics rouge1,nli,bartscore++|rounds:2"),
        ("score set", "set.csv", f"score {data.outputs} --set mauve"),
        ("refine csv", "refined.csv", f"refine {tiny} --rounds 2"),
        ("refine jsonl", "refined.jsonl", f"refine {few} --variant precision --rounds 3"),
        ("ranges", "ranges.json", f"ranges {data.path('scores.csv')}"),
        ("sensitivity", "sensitivity.csv", f"sensitivity {data.cases} --metrics chrf,ter,bertscore"),
        ("adversarial csv", "answered.csv", f"adversarial {data.cases} --metrics chrf,bleu,rouge1,nli"),
        ("adversarial json", "answered.json", f"adversarial {data.cases} --metrics chrf,nli --fixed --failures 5"),
        ("adversarial html", "answered.html", f"adversarial {data.cases} --metrics nli-src --reference-free"),
    ):
        yield Part(f"commands/{name}", data.written(file, given))
    for measure in ("kendall", "spearman", "pearson", "acc_eq"):
        for group in ("pooled", "segment", "system"):
            given = f"calibrate {data.path('refined.jsonl')} --human {data.labels} --measure {measure} --group {group}"
            yield Part(f"commands/calibrate {measure} {group}", data.written("calibrated.json", given))
    for level, group in (("segment", "pooled"), ("segment", "segment"), ("system", "pooled")):
        for ending in ("csv", "json", "tex", "html"):
            given = f"evaluate {data.path('scores.csv')} --human {data.labels} --outputs {few} --tests"
            made = data.written(f"evaluated.{ending}", f"{given} --level {level} --group {group}")
            yield Part(f"commands/evaluate {level} {group} {ending}", made)
    for level in ("segment", "system"):
        given = f"evaluate --mtme {folder} --pair en-de --level {level} --tests --lower TER-refA"
        yield Part(f"commands/evaluate mtme {level}", data.written("mtme.json", given))
    for wanted in ("summeval", "smart-table1"):
        yield Part(f"commands/reproduce {wanted}", data.run(f"reproduce {wanted} --data {small}"))


def _of_labels(data: Data) -> Iterator[Part]:
    for scheme in ("google", "marot", "flat"):
        for by in ("segment", "system"):
            given = f"mqm {data.labels} --scheme {scheme} --by {by}"
            yield Part(f"commands/mqm {scheme} {by}", data.written("mqm.csv", given))
    endings = {
        "google": "tsv", "marot": "tsv", "mtme": "seg.rating", "mtme-jsonl": "jsonl", "esa": "jsonl", "label-studio": "json",
        "mtme-score": "seg.score",
    }  # fmt: skip
    for to, ending in endings.items():
        file = f"{to}.{ending}"
        yield Part(f"commands/convert to {to}", data.written(file, f"convert {data.labels} --to {to}"))
        made = "mtme.1.seg.rating" if to == "mtme" else file  # one file for each rater of an output
        back = f"convert {data.path(made)} --from {to} --to google --texts {data.outputs}"
        yield Part(f"commands/convert from {to}", data.written("back.tsv", back))


def _of_databases(data: Data) -> Iterator[Part]:
    database, backup = product.url(data.path("commands.db")), data.path("backup.db")
    restored, copied = (product.url(data.path(name)) for name in ("restored.db", "copied.db"))
    for name, given in (
        ("projects import", f"projects --database {database} import {data.few} --name small"),
        ("projects export", f"projects --database {database} export small"),
        ("campaign plan", f"campaign --database {database} plan small --protocol esa --pay 12"),
        ("campaign create", f"campaign --database {database} create small pilot --protocol da --start"),
        ("campaign status", f"campaign --database {database} status small pilot"),
        ("jobs", f"jobs --database {product.url(data.database)} list"),
        ("users", f"users --database {database} list"),
        ("db backup", f"db backup {backup} --database {database}"),
        ("db restore", f"db restore {backup} --to {restored}"),
        ("db copy", f"db copy {database} {copied}"),
        ("workers", f"workers --database {database} --once"),
    ):
        yield Part(f"commands/{name}", data.run(given), ("numbers",) if name == "db backup" else ())
    pay = f"campaign --database {database} export small pilot --format pay"
    yield Part("commands/campaign export", data.written("pay.csv", pay))


PARTS: tuple[Callable[[Data], Iterator[Part]], ...] = (
    scores, statistics, exports, calibrations, refinements, campaigns, perturbations, commands,
)  # fmt: skip
