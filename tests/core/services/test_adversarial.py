"""The adversarial test: which texts are compared, what counts as right, and the published suite."""

from pathlib import Path

import pytest

from core.data import Item, Value
from core.errors import ImportProblems, UserError
from core.formats.adversarial import TYPES, Case, read_cases
from core.formats.files import Upload
from core.metrics import registry
from core.services.adversarial import Answered, Row, accuracy, answer, failures, table
from core.services.adversarial_report import as_html, grid, published, text
from core.stats.proportion import wilson

SUITE = Path(__file__).parents[3] / ".." / "shared" / "data" / "menli_wmt20_de_adversarial.csv.gz"
CSV = (
    "error,id,source,ref,r,hyp_para,hyp_adv_based,hyp_adv_free,hyp_adv_based_fixed,hyp_para_fixed\n"
    "num,1,Es kostet 5 Euro.,It costs 5 euros.,It is 5 euros.,It costs five euros.,It costs 9 euros.,It is 7 euros.,"
    "It costs 8 euros.,It costs FIVE euros.\n"
    "typo,1,Es kostet 5 Euro.,It costs 5 euros.,It is 5 euros.,It costs five euros.,It costs 5 euros.,It si 5 euros.,"
    "It cots 5 euros.,It costs FIVE euros.\n"
)


def upload(content: str = CSV) -> Upload:
    return Upload("menli.csv", content.encode())


def answered(margins: list[float | None], higher: bool = True) -> Answered:
    sign = 1 if higher else -1
    good = tuple(Value(None, "undefined", "no words") if m is None else Value(sign * m) for m in margins)
    return Answered(registry.load("chrf" if higher else "ter").spec, "sig|v:1", good, (Value(0.0),) * len(margins))


def cases(kinds: list[str], ids: list[str] | None = None) -> list[Case]:
    item = Item(None, "x", ("y",))
    return [Case(k, (ids or [str(i) for i in range(len(kinds))])[i], item, item) for i, k in enumerate(kinds)]


def test_each_setting_compares_the_texts_of_equation_1() -> None:
    based, free = read_cases([upload()]).cases[0], read_cases([upload()], reference_free=True).cases[0]
    assert based.phenomenon == "number error"
    assert (based.good, based.bad) == (
        Item("Es kostet 5 Euro.", "It costs five euros.", ("It costs 5 euros.",)),
        Item("Es kostet 5 Euro.", "It costs 9 euros.", ("It costs 5 euros.",)),
    )
    assert (free.good, free.bad) == (
        Item("Es kostet 5 Euro.", "It costs 5 euros.", ()),
        Item("Es kostet 5 Euro.", "It is 7 euros.", ()),
    )
    fixed = read_cases([upload()], fixed=True).cases[0]
    assert (fixed.good.hypothesis, fixed.bad.hypothesis) == ("It costs FIVE euros.", "It costs 8 euros.")


def test_errors_that_were_lost_on_the_way_are_told() -> None:
    notes = read_cases([upload()]).notes
    assert len(notes) == 1
    assert "1 case whose adversarial text is the reference itself (spelling error 1)" in notes[0]


def test_files_that_are_not_menlis_are_read_as_pairs_or_refused() -> None:
    pairs = Upload("p.csv", b"type,reference,good,perturbed\nswap,The cat sat.,A cat sat.,The sat cat.\n")
    assert read_cases([pairs]).cases[0] == Case(
        "swap", "", Item(None, "A cat sat.", ("The cat sat.",)), Item(None, "The sat cat.", ("The cat sat.",))
    )
    with pytest.raises(UserError, match="hyp_adv_free"):
        read_cases([pairs], reference_free=True)
    with pytest.raises(ImportProblems, match="line 2"):
        read_cases([upload(CSV.replace("It costs 9 euros.", ""))])
    with pytest.raises(ImportProblems, match="hypadvbasedfixed"):
        read_cases([upload(CSV.replace("hyp_adv_based_fixed", "other"))], fixed=True)


def test_right_is_strictly_better_and_a_tie_or_a_missing_score_is_counted() -> None:
    rows = table(cases(["addition"] * 5), [answered([0.5, 0.0, -1.0, None, 2.0])])
    row = rows[0]
    assert (row.cases, row.compared, row.right, row.tied, row.undefined) == (5, 4, 2, 1, 1)
    assert row.accuracy == 0.5
    assert row.reason == "1 × no words"


def test_where_lower_is_better_lower_is_right() -> None:
    rows = table(cases(["addition"] * 2), [answered([1.0, 1.0], higher=False)])
    assert rows[0].accuracy == 1.0


def test_averages_give_every_phenomenon_the_same_weight() -> None:
    """Addition 1 of 1, omission 1 of 3, spelling 0 of 1: adequacy (1 + 1/3)/2, fluency 0, all (1 + 1/3 + 0)/3."""
    kinds = ["addition", "omission", "omission", "omission", "spelling error"]
    rows = table(cases(kinds, ["a", "a", "b", "c", "d"]), [answered([1, 1, -1, -1, -1])])
    found = {r.phenomenon: r.accuracy for r in rows}
    assert found["adequacy"] == pytest.approx(2 / 3)
    assert found["fluency"] == 0
    assert found["all"] == pytest.approx(4 / 9)
    assert accuracy(answered([1, 1, -1, -1, -1]).margins(), kinds) == pytest.approx(4 / 9)


def test_an_unknown_phenomenon_counts_among_all_only() -> None:
    rows = table(cases(["addition", "spelling error", "swap"]), [answered([1, -1, -1])])
    assert {r.phenomenon: r.averaged for r in rows if r.averaged > 1 or r.phenomenon in ("adequacy", "fluency")} == {
        "all": 3, "adequacy": 1, "fluency": 1,
    }  # fmt: skip


def test_wilsons_interval_is_the_published_one() -> None:
    """Newcombe (1998), table I, method 3: 81 of 263 is .2553 to .3662; 0 of 20 is 0 to .1611."""
    low, high = wilson(81, 263)[1:3]
    assert (round(low or 0, 4), round(high or 0, 4)) == (0.2553, 0.3662)
    none = wilson(0, 20)
    assert none.low == pytest.approx(0, abs=1e-12)
    assert round(none.high or 0, 4) == 0.1611
    assert wilson(0, 0).value is None


def test_the_interval_of_an_average_resamples_sources_with_all_their_cases() -> None:
    """Each source has both phenomena, both right or both wrong: resampled together the mean varies as one phenomenon does."""
    ids = [str(i // 2) for i in range(80)]
    together = [1.0 if i // 2 % 2 else -1.0 for i in range(80)]
    kinds = ["addition", "omission"] * 40
    dependent = {r.phenomenon: r for r in table(cases(kinds, ids), [answered(together)], draws=2000)}["all"]
    alone = {r.phenomenon: r for r in table(cases(kinds), [answered(together)], draws=2000)}["all"]
    width = [(r.high or 0) - (r.low or 0) for r in (dependent, alone)]
    assert width[0] / width[1] == pytest.approx(2**0.5, rel=0.12)


def test_failures_name_texts_and_all_scores_and_can_be_held_against_one_metric() -> None:
    given = read_cases([upload()]).cases
    found = answer(given, [registry.load("chrf"), registry.load("bleu")])
    failed = failures(given, found, each=1)
    assert {(f.metric, f.phenomenon) for f in failed} == {
        (m, p) for m in ("chrf", "bleu") for p in ("number error", "spelling error")
    }
    assert failed[0].anchor == "It costs 5 euros."
    good, bad = failed[0].scores["bleu"]
    assert good is not None
    assert bad is not None
    assert good <= bad
    assert failures(given, found, solved_by="bleu") == []


def test_a_metric_that_needs_a_text_the_setting_does_not_give_is_said_to() -> None:
    given = read_cases([upload()], reference_free=True).cases
    rows = table(given, answer(given, [registry.load("chrf")]))
    assert rows[0].accuracy is None
    assert "needs a reference" in rows[0].reason


def test_table_and_page_show_what_was_counted() -> None:
    given = cases(["<b>", "addition", "<b>", "addition"])
    rows = table(given, [answered([1, -1, 1, 0])])
    assert grid(rows) == [["", "chrf"], ["addition", "0.0"], ["<b>", "100.0"], ["all", "50.0"], ["adequacy", "0.0"]]
    assert text(rows).splitlines()[1].split() == ["addition", "0.0"]
    page = as_html(rows, failures(given, [answered([1, -1, 1, 0])]), ["a note"])
    assert "<b>" not in page
    assert "<script" not in page
    assert "2 cases compared, 1 tied, 0 without a score" in page


def test_the_papers_figures_stand_beside_ours_where_all_its_phenomena_are() -> None:
    rows = table(cases(list(TYPES.values())), [answered([1.0] * 12)])
    assert published(rows) == ""
    ours = [row._replace(metric="bleu") for row in rows]
    assert "sentBLEU 32.9 (27.2)." in published(ours)
    assert published([row for row in ours if row.phenomenon != "negation"]) == ""


@pytest.mark.skipif(not SUITE.exists(), reason="MENLI's suite is not in the data folder")
def test_the_published_suite_gives_the_authors_own_scores() -> None:
    """Oracle: the scores the authors released (cyr19/MENLI 773266d, wmt20_google-de_sentBLEU_default.csv, rows “add”): these
    three cases, and 39 of 200 in which the paraphrase is ahead. BLEU fails every number error."""
    read = read_cases([Upload(SUITE.name, SUITE.read_bytes())])
    assert len(read.cases) == 2400
    some = [c for c in read.cases if c.phenomenon in ("addition", "number error")]
    (found,) = answer(some, [registry.load("bleu")])
    known = {"2": (35.693754559323295, 83.18180062062373), "11": (63.43383601484682, 48.679550186613355),
             "14": (84.82198619370465, 58.34041060170845)}  # fmt: skip
    for case, good, bad in zip(some, found.good, found.bad, strict=True):
        if case.phenomenon == "addition" and case.id in known:
            assert (good.value, bad.value) == pytest.approx(known[case.id], abs=1e-6)
    rows: dict[str, Row] = {r.phenomenon: r for r in table(some, [found])}
    assert (rows["addition"].cases, rows["addition"].right) == (200, 39)
    assert (rows["number error"].cases, rows["number error"].right) == (200, 0)
