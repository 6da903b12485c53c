"""Public pages: the numbers of the reports, nothing that runs, no annotators, and no systems if blind."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from html.parser import HTMLParser

import pytest

from core.errors import UserError
from core.reports import campaign_results, evaluation, public_page
from core.reports.public_page import PublicPage
from core.services.campaigns.comparison import CampaignBasis, CampaignComparison, compare
from core.services.evaluate.evaluate import AgreementOptions, evaluate
from core.services.evaluate.significance import HUMAN, compare_all_systems, compare_metrics
from core.stats.bootstrap import Interval
from core.stats.campaign.preferences import PreferenceVote, preference_strengths
from tests.core.services.campaigns import filled
from tests.core.services.evaluate.test_evaluate import joined
from tests.stores import new_store

ATTACK = "<script>alert(1)</script><img src=http://example.invalid/x onerror=alert(1)>"
ARABIC = "نظام"
WHEN = datetime(2026, 5, 4, 7, 8, tzinfo=UTC)
TAGS = set(
    "html head meta title style body main h1 h2 p div figure figcaption svg g path line text rect table caption span thead tr th tbody td ul li".split()
)
ATTRIBUTES = re.compile(r"on\w+|src|href|xlink:href|action|srcset|data")


class Reader(HTMLParser):
    """The elements and texts of a page. Raises an error for everything that could run or be loaded."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.texts = list[str]()
        self.feed(page)
        self.said = " ".join(self.texts)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS, tag
        assert not [name for name, _ in attrs if ATTRIBUTES.fullmatch(name)]

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def preferences(systems: tuple[str, str, str], excluded: dict[str, str]) -> CampaignComparison:
    """Return a comparison in pairs: the last system by name wins."""
    first, second, third = systems
    votes = [
        PreferenceVote(*pair, winner, i, "Ana")
        for i in range(8)
        for pair, winner in (
            ((first, third), third),
            ((first, second), second if i else first),
            ((second, third), third if i else second),
        )
    ]
    basis = CampaignBasis(24, 8, 1, 2, 3, 0, 0, excluded, (1.0, 1.0), 0)
    found = preference_strengths(votes, seed=0, draws=50)
    return CampaignComparison(
        "Bradley–Terry strength ↑", "item", basis, (), (), (), None, found, Interval(0.5, 0.4, 0.6, 8)
    )


def test_a_campaign_has_the_numbers_of_its_screen_and_no_annotator() -> None:
    store = new_store()
    campaign = filled.started(store, dataset=filled.texts(2, 3), block_size=3)
    filled.work(store, campaign)
    first = store.campaigns.participants(campaign.id)[0]
    store.campaigns.change(first._replace(excluded="Ana was too fast"))
    found = compare(store, campaign)
    page = PublicPage("Pilot & more", made=WHEN)
    read = Reader(html := public_page.of_campaign(found, page, running=True))
    for said in (
        campaign_results.sentence(found),
        campaign_results.methods(found),
        campaign_results.agreement(found),
        found.signature,
        "still running",
    ):
        assert said in read.said, said
    for row in (*campaign_results.system_rows(found), *campaign_results.difference_rows(found)[0]):
        assert [text for text in row.values() if text and text not in read.texts] == [], row
    assert "excluded: 1 annotator" in read.said
    assert [name for name in filled.SEVERITY if name in html] == []
    assert "shared on 4 May 2026, 07:08 UTC. This page does not change." in read.said

    blind = PublicPage("Alderish", True, tuple(filled.QUALITY), WHEN)
    html = public_page.of_campaign(found, blind, running=True)
    assert [name for name in (*filled.QUALITY, *filled.SEVERITY) if name in html.replace("Alderish", "")] == []
    order = [m.system for m in found.means]
    assert (
        campaign_results.sentence(found)
        .replace(order[0], "System A")
        .replace(order[1], "System B")
        .replace(order[2], "System C")
        in html
    )
    assert re.findall(r"<td class=\"[^\"]*\">(System . − System .)</td>", html) == [
        "System A − System B", "System A − System C", "System B − System C",
    ]  # fmt: skip
    for title in (f"{order[1]} and others", f"Is it {order[0]}?"):
        with pytest.raises(UserError, match="would name a system"):
            public_page.of_campaign(found, blind._replace(title=title), running=True)


def test_names_are_texts_and_letters_tell_nothing_of_them() -> None:
    systems = (ATTACK, "Birch", ARABIC)
    found = preferences(systems, {ATTACK: ATTACK})
    read = Reader(public_page.of_campaign(found, PublicPage(ATTACK, made=WHEN), running=False))
    assert f"\u2068{ARABIC}\u2069 against {ATTACK}" in read.texts
    assert ATTACK in read.texts
    assert f"\u2068{ARABIC}\u2069 is preferred most" in read.said
    assert "running" not in read.said

    blind = [
        public_page.of_campaign(preferences(names, {}), PublicPage("Pilot", True, names, WHEN), running=False)
        for names in (systems, ("Zebra", "Yak", "Ant"))
    ]
    assert blind[0] == blind[1]
    assert [name for name in systems if name in blind[0]] == []
    cells = re.findall(r"<td class=\"[^\"]*\">([^<]*)</td>", blind[0])
    assert cells[cells.index("System A against System B") :][:4] == ["System A against System B", "7", "0", "1"]
    assert [public_page._letter(n) for n in (0, 25, 26, 51, 52, 702)] == ["A", "Z", "AA", "AZ", "BA", "AAA"]


def test_a_meta_evaluation_has_the_content_of_its_report() -> None:
    found = evaluate(joined(excluded=("B",)), AgreementOptions(draws=20))
    tests, systems = [compare_metrics(found, "kendall")], compare_all_systems(joined(), HUMAN)
    made = [(found, "kendall", tests, systems)]
    for blind in (False, True):
        page = PublicPage(ARABIC, blind, ("A", "B", "C"), WHEN)
        html = public_page.of_evaluation(*made[0], page)
        read = Reader(html)
        assert evaluation.sentence(found, "kendall").replace("τ-b", "τ\N{NON-BREAKING HYPHEN}b") in read.said
        for line in evaluation.signatures(found):
            assert line in read.texts
        cells = [
            text for table in evaluation.report_tables(*made[0])[:2] for row in table["rows"] for text in row["cells"]
        ]
        assert [text for text in cells if text not in read.texts] == []
        assert html.count("<svg") == 6
        assert ("Excluded systems: B" in html, "1 system was excluded" in html) == (not blind, blind)
        assert ("System A" in read.texts) == blind
    with pytest.raises(UserError, match="would name a system"):
        public_page.of_evaluation(*made[0], page._replace(title="A or B"))
