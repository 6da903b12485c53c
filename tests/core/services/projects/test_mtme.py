"""Folders in mt-metrics-eval's layout as imports."""

from __future__ import annotations

from core.data import Dataset, OutputKey
from core.formats.files import Upload
from core.formats.mtme_folder import files_of, is_layout, pairs_of
from core.services.projects import label_import
from core.services.projects.importing import preview, read_files
from tests.mtme import DOCS, files
from tests.views import view_of

GIVEN = files()
FLAT = {name.rpartition("/")[2]: text for name, text in GIVEN.items() if "zh-en" not in name and "README" not in name}


def uploads(given: dict[str, str], root: str = "") -> list[Upload]:
    return [Upload(root + name, text.encode()) for name, text in given.items()]


def test_a_folder_and_its_files_alone_hold_the_same() -> None:
    found = []
    for given in (uploads(GIVEN), uploads(GIVEN, "data/wmt77/"), uploads(GIVEN, "wmt77/"), uploads(FLAT)):
        read_as = read_files(given)
        planned = read_as.plan
        assert (planned.kind, planned.pairs, planned.problems) == ("mtme", ("en-de",), ())
        assert planned.mtme is not None
        assert planned.mtme.reference_systems == ("refB",)
        assert preview(read_as).problems == ()
        found.append(label_import.read_mtme(given, planned.mtme))
    for read in found:
        assert read.problems == ()
        assert (read.dataset, read.rated) == (found[0].dataset, found[0].rated)
        assert {m.name: (m.higher_is_better, dict(m.values)) for m in read.external} == {
            m.name: (m.higher_is_better, dict(m.values)) for m in found[0].external
        }
    read = found[0]
    assert [s.doc_id for s in read.dataset.segments] == list(DOCS)
    assert read.dataset.segments[0].references == ("eins", "refB 0 says it")
    assert {m.name: m.higher_is_better for m in read.external} == {
        "COMET-refA": True, "COMET-refB": True, "QE.v2-src": True, "TER-refA": False,
    }  # fmt: skip
    assert (len(read.rated), {h.name for h in read.dataset.human_scores}) == (10, {"mqm"})
    assert {h.value for h in read.dataset.human_scores if h.system == "B.1"} == {0, -2, -6, -1}


def test_what_a_folder_is_called_when_it_is_imported() -> None:
    for root, title in (("", "en-de"), ("wmt77/", "wmt77 en-de"), ("x/wmt23.sent/", "wmt23.sent en-de")):
        assert files_of([root + name for name in GIVEN], "en-de").title == title
    assert files_of(list(FLAT), "en-de").title == "en-de"


def test_missing_translations_have_no_output_and_no_scores() -> None:
    given = GIVEN | {
        "system-outputs/en-de/A.txt": "[No translation supplied]\n" + "x\n" * 4,
        "references/en-de.refA.txt": "eins\nzwei\n[No translation supplied]\nvier\nfünf\n",
    }
    read = label_import.read_mtme(uploads(given), files_of(list(given), "en-de"))
    lost = OutputKey("A", "n1", "1")
    assert lost not in {o.key for o in read.dataset.outputs}
    assert lost not in {OutputKey(*h[:3]) for h in read.dataset.human_scores} | {r.key for r in read.rated}
    assert not any(lost in m.values for m in read.external)
    assert read.dataset.segments[2].references == ("refB 2 says it",)
    assert any("1 output left out, with their scores" in w.got for w in read.warnings)


def test_systems_whose_outputs_are_references_are_known_by_their_texts() -> None:
    given = {
        name.replace("refB", "synthetic_ref"): text.replace("refB", "synthetic_ref") for name, text in GIVEN.items()
    }
    data = label_import.read_mtme(uploads(given), files_of(list(given), "en-de")).dataset
    assert view_of(data, (), {}, {}).reference_systems == ("synthetic_ref",)
    four = Dataset(data.segments[:4], tuple(o for o in data.outputs if o.key.segment != data.segments[4].key))
    assert view_of(four, (), {}, {}).reference_systems == ()


def test_only_files_of_the_layout_make_a_folder() -> None:
    for names, pairs in (
        (["A.txt", "B.txt", "src.txt"], None),
        (["COMET-refA.seg.score", "en-de.mqm.seg.score"], None),
        (["a.csv", "en-de.mqm.seg.score"], None),
        (["A.txt", "prism-src.v2-refA.seg.score", "en-de.docs"], ("en-de",)),
        (["A.txt", "B.txt", "en-zh_TW.txt", "COMET-src.seg.score.gz"], ("en-zh_TW",)),
        (["w/system-outputs/en-de/A.txt", "w/system-outputs/zh-en/A.txt"], ("en-de", "zh-en")),
    ):
        assert (pairs_of(names) if is_layout(names) else None) == pairs, names


def test_files_of_the_same_thing_and_wrong_lines_are_problems() -> None:
    twice = GIVEN | {"wmt78/sources/en-de.txt": "a\n", "metric-scores/en-de/COMET-refA.seg.score.gz": "x"}
    found = read_files(uploads(twice)).plan.problems
    assert {p.file for p in found} == {
        "sources/en-de.txt, wmt78/sources/en-de.txt",
        "metric-scores/en-de/COMET-refA.seg.score, metric-scores/en-de/COMET-refA.seg.score.gz",
    }
    for name, text, expected in (
        ("documents/en-de.docs", "news n1\n", "5, as references/en-de.refA.txt has"),
        ("human-scores/en-de.mqm.seg.score", "A 1\n", "5 segments"),
        ("metric-scores/en-de/QE.v2-src.seg.score", "Z 1\n" * 5, "“A”, “B.1”, “C”, “refB”"),
    ):
        given = GIVEN | {name: text}
        [problem] = label_import.read_mtme(uploads(given), files_of(list(given), "en-de")).problems
        assert (problem.file, problem.expected) == (name, expected)
