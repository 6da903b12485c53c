"""What leaves the Evaluate page: every choice is stated, and text stays text."""

import csv
import io
import json
import re

from core.reports import score_tables
from core.reports.evaluation import as_csv, as_html, as_json, as_latex, cell, methods, sentence
from core.reports.latex import latex_of_shown, latex_text
from core.services.calibrate.calibration import HumanScores, from_score
from core.services.evaluate.evaluate import AgreementOptions, evaluate
from core.services.evaluate.evaluation_data import ScoredMetric, join
from core.services.evaluate.significance import HUMAN, compare_all_systems, compare_metrics
from tests.core.services.evaluate.test_evaluate import METRICS, PEOPLE, VALUES, joined

EVIL = '=1+1 <script>alert("x")</script> & 50% \\input{x}_#$'


def evil():
    metrics = [METRICS[0]._replace(label=EVIL), METRICS[1]]
    people = HumanScores(PEOPLE.signature, PEOPLE.scores, PEOPLE.raters)
    return evaluate(join(people, metrics, VALUES), AgreementOptions(draws=10))


def test_the_sentence_names_the_best_metric_and_baseline() -> None:
    found = evaluate(joined(), AgreementOptions(draws=50))
    best = found.of("good", "kendall")
    said = sentence(found, "kendall")
    assert said.startswith(f"Of 2 metrics, Good agrees best with 2 annotators on 12 outputs: τ-b {cell(best)}")
    assert "The best baseline, which does not measure quality" in said
    assert best.low is not None
    for low, high, value, remark in (
        (0.5, 0.9, 0.4, "reaches .400."),
        (0.5, 0.9, 0.5, "reaches .500, within its 95 % CI."),
        (0.5, 0.9, 0.85, "reaches .850, more than the best metric, but within its 95 % CI."),
        (0.5, 0.9, 0.91, "reaches .910: a higher value than that of every metric, above the 95 % CI of the best one."),
    ):
        changed = {"good": {"value": 0.8, "low": low, "high": high}, "sentinel": {"value": value}}
        rows = [r._replace(**changed.get(r.name, changed.get(r.kind, {}))) for r in found.rows]
        assert sentence(found._replace(rows=tuple(rows)), "kendall").endswith(remark)
    alone = join(PEOPLE, [ScoredMetric("flat", "Flat", "flat|v:1")], {"flat": dict.fromkeys(PEOPLE.scores, 1.0)})
    assert sentence(evaluate(alone, AgreementOptions()), "kendall") == (
        "Kendall τ-b is undefined for every metric: all metric scores are equal."
    )


def test_equal_metrics_are_named_together() -> None:
    twice = join(PEOPLE, [METRICS[0], ScoredMetric("again", "Again", "a|v:1")], {**VALUES, "again": VALUES["good"]})
    found = evaluate(twice, AgreementOptions(level="system", draws=5))
    assert sentence(found, "pairwise") == (
        "All 2 metrics (Good, Again) agree equally well with 2 annotators on the means of 3 systems over 4 segments: pairwise accuracy 1.000."
    )


def test_csv_is_safe_for_a_spreadsheet_and_keeps_every_digit() -> None:
    found = evil()
    rows = list(csv.DictReader(io.StringIO(as_csv(found))))
    assert rows[0]["metric"] == "'" + EVIL
    assert float(rows[0]["value"]) == found.rows[0].value
    assert len(rows) == 8


def test_latex_escapes_every_special_character() -> None:
    assert latex_text("a_b & 5% #1 $x$ {y} ~ ^ \\") == (
        r"a\_b \& 5\% \#1 \$x\$ \{y\} \textasciitilde{} \textasciicircum{} \textbackslash{}"
    )
    text = as_latex(evil(), "kendall")
    assert "\\input" not in text.replace("\\textbackslash{}input", "")
    body = text.split("\\midrule")[1].strip().split("\n")
    assert all(len(re.findall(r"(?<!\\)&", line)) == 4 for line in body if line.endswith(r"\\"))  # five columns
    assert text.count("\\begin{") == text.count("\\end{") == 2

    shown = [
        {"metric": "a_b", "empty": "", "τ": "−.1"},
        {"metric": "Baselines", "empty": "", "τ": ""},
        {"metric": "c", "empty": "", "τ": ".2"},
    ]
    lines = latex_of_shown(shown, "A & B").split("\n")
    assert lines[4:13] == [
        r"\begin{tabular}{lr}", r"\toprule", r"metric & $\tau$ \\", r"\midrule", r"a\_b & $-$.1 \\", r"\midrule", r"c & .2 \\",
        r"\bottomrule", r"\end{tabular}",
    ]  # fmt: skip


def test_latex_is_bold_only_for_tested_differences() -> None:
    found = evaluate(joined(), AgreementOptions(draws=10))
    assert "textbf" not in as_latex(found, "kendall")
    done = compare_metrics(found, "kendall")
    text = as_latex(found, "kendall", [done])
    assert text.count("\\textbf{") == len(done.tied)
    assert "PERM-BOTH" in text
    assert r"Kendall $\tau_b$ & $\mathrm{acc}_{\mathrm{eq}}$ & Spearman $\rho$ & Pearson $r$ \\" in text
    assert "\\caption{Agreement with 2 annotators on 12 outputs of 3 systems for 4 segments, with" in text
    named = as_latex(found, "kendall", [done], "Pilot_1 (é)")
    assert "\\caption{Pilot\\_1 (é): agreement with 2 annotators on 12 outputs" in named
    assert "\\label{tab:pilot-1-e-agreement}\n\\end{table}" in named


def test_tests_that_were_not_done_are_not_mentioned() -> None:
    found = evaluate(joined(), AgreementOptions(draws=10))
    done = compare_metrics(found, "kendall")
    few = evaluate(joined(), AgreementOptions(draws=10, group="segment"))  # four segments: no metric is ranked
    none = compare_metrics(few, "kendall")
    assert none.pairs == ()
    text, page = as_latex(few, "kendall", [none]), as_html(few, "kendall", [none])
    assert "Bold" not in text
    assert "PERM-BOTH" not in text
    assert "textbf" not in text
    assert "differences between metrics" not in page
    mixed = as_latex(found, "kendall", [done, done._replace(statistic="pearson", pairs=(), test="another test")])
    assert "PERM-BOTH" in mixed
    assert "another test" not in mixed
    assert mixed.count("\\textbf{") == len(done.tied)


def test_the_page_escapes_all_texts_and_loads_nothing() -> None:
    found = evil()
    page = as_html(
        found, "kendall", [compare_metrics(found, "kendall")], compare_all_systems(found.joined, HUMAN), EVIL
    )
    text = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert "http" not in text.replace("http-equiv", "")
    assert text.count("<table>") == text.count("</table>") == 3


def test_the_page_has_the_charts_of_its_numbers() -> None:
    found = evaluate(joined(), AgreementOptions(draws=10))
    page = as_html(found, "kendall", [compare_metrics(found, "kendall")], compare_all_systems(found.joined, HUMAN))
    charts = [json.loads(c) for c in re.findall(r'<script type="application/json">(.*?)</script>', page, re.DOTALL)]
    assert page.count("<figcaption>") == len(charts) == 3
    agreements, differences, systems = (next(iter(c["datasets"].values())) for c in charts)
    shown = [(r["metric"], r["value"]) for r in agreements]
    rows = [found.of(name, "kendall") for name in found.order("kendall")]
    assert shown == [(r.metric, r.value) for r in rows if r.value is not None]
    assert len(differences) == 3
    assert {r["system"] for r in systems} == {"A", "B", "C"}
    assert "vegaEmbed(chart" in page
    assert "τ-b" not in page.split("<script")[0]
    assert "Shortness: the shorter the output in characters, the better" in page
    assert re.search(r"Computed with Errorscope on \d+ \w+ \d{4}, \d\d:\d\d UTC", page)


def test_the_methods_state_every_choice() -> None:
    found = evaluate(joined(excluded=["C"]), AgreementOptions(unit="document", draws=17, seed=5))
    said = methods(found, [compare_metrics(found, "kendall")])
    for fact in (
        "2 annotators (signature mqm|scheme:google|v:1|raters:2)", "8 outputs of 2 systems for 4 segments", "Excluded systems: C.",
        "Negated, because lower is better: Poor", "over all outputs pooled", "ε: Good", "over documents, 17 draws, seed 5",
        "PERM-BOTH, 1,000 draws", "Holm’s correction over 3 pairs".replace("’", "'"), "Shortness",
    ):  # fmt: skip
        assert fact in said, fact
    one = methods(found, [compare_metrics(found, "kendall", all_pairs=False)])
    assert "2 pairs (the best metric, Good, against each other one and the best baseline)" in one
    system = methods(evaluate(joined(), AgreementOptions(level="system", draws=3)))
    assert "soft pairwise accuracy (Thompson et al. 2024; 1,000 permutations)" in system


def test_tests_that_end_early_are_stated_with_their_p() -> None:
    found = evaluate(joined(), AgreementOptions(draws=5))
    done = compare_metrics(found, "kendall")
    assert done.ended_early == ""
    pairs = (
        done.pairs[0]._replace(ended="reached", draws=1412),
        done.pairs[1]._replace(ended="clear"),
        done.pairs[2],
    )
    early = done._replace(pairs=pairs, test="PERM-BOTH, up to 9,999 draws", draws=9999)
    for said in (methods(found, [early]), as_html(found, "kendall", [early])):
        assert "Draws ended early in 2 of 3 tests: 1 when, after at least 1,000 draws, 100 had reached" in said
        assert "p = 100/draws" in said
        assert "1 because the difference exceeds 8 standard deviations of the first draws (p = 1/10,000" in said
    assert ">1,412 (ended early)<" in as_html(found, "kendall", [early])
    report = json.loads(as_json(found, [early]))
    assert [p["ended"] for p in report["tests"]["pairs"]] == ["reached", "clear", ""]
    assert report["tests"]["ended_early"] == early.ended_early


def test_tests_under_several_statistics_stand_in_every_report() -> None:
    found = evaluate(joined(), AgreementOptions(draws=5))
    tests = [compare_metrics(found, name) for name in ("kendall", "spearman", "pearson")]
    report = json.loads(as_json(found, tests))
    assert len(report["rows"]) == len(found.rows)
    assert "Good: good|v:1" in report["signatures"]
    assert len(report["tests"]["pairs"]) == 3
    assert "more_tests" not in json.loads(as_json(found, tests[:1]))
    assert [report["tests"]["statistic"], *(t["statistic"] for t in report["more_tests"])] == [
        "kendall",
        "spearman",
        "pearson",
    ]
    assert all(name in report["methods"] for name in ("in Kendall τ-b were", "in Spearman ρ were", "in Pearson r were"))
    page = as_html(found, "kendall", tests)
    assert all(f"{name}: differences between metrics" in page for name in ("Kendall τ‑b", "Spearman ρ", "Pearson r"))
    text = as_latex(found, "kendall", tests)
    assert text.count("\\textbf{") == sum(len(m.tied) for m in tests)
    assert "Williams" in text


def test_the_name_of_the_human_score_is_in_headline_and_caption() -> None:
    human = {key: value for key, (value, _) in PEOPLE.scores.items()}
    found = {
        name: evaluate(join(from_score(human, name, higher_is_better=True), METRICS, VALUES), AgreementOptions(draws=0))
        for name in ("adequacy", "fluency_1")
    }  # fmt: skip
    assert "agrees best with the human score “adequacy” on 12 outputs" in sentence(found["adequacy"], "kendall")
    assert "Agreement with the human score “adequacy”" in as_latex(found["adequacy"], "kendall")
    assert HumanScores("j", {}, ("x", "y"), name="DA").words == "2 annotators (“DA”)"
    text = score_tables.human_scores_latex(found, "kendall")
    lines = text.split("\n")
    assert lines[6] == r"Metric & adequacy & fluency\_1 \\"
    assert lines[8].startswith(r"Good & \textbf{")
    assert text.count("\\textbf{") == 2
    assert "Outputs compared: adequacy 12, fluency\\_1 12." in text
    rows = list(csv.DictReader(io.StringIO(score_tables.human_scores_csv(found))))
    assert {(r["human_score"], r["metric"]) for r in rows} >= {("adequacy", "Good"), ("fluency_1", "Poor")}
