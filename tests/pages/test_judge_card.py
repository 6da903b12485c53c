"""Judge card on Meta-evaluation: how to get a judge, the verdict in a sentence, and its files."""

import json
from functools import partial

from core.reports.judge_card import card_html, card_json
from tests import judges
from tests.core.services.judges.test_judge_card import OPTIONS, answers, card_of
from tests.pages import opened_page
from tests.pages.said import words
from tests.stores import put_scores

opened = partial(opened_page.opened, "meta_evaluation", tab="Judge card")


def test_the_card_leads_from_no_judge_to_a_verdict(store) -> None:
    data, of = judges.texts(), judges.severities()
    project = store.projects.create("p")
    store.projects.add(project.id, data, judgements=judges.judgements(data, of))
    values = {
        o.key: judges.answer(int(w), o.text, 95.0 - 30 * w) for o, w in zip(data.outputs, of["judge"], strict=True)
    }
    put_scores(store, project.id, "chrf", values, "chrf|v:1")
    at = opened(project.id)
    assert "No judge has scored this project yet." in words(at)
    assert {"Set up a judge on Models", "Compute scores on Compare"} <= {
        link.proto.label for link in at.get("page_link")
    }
    at.toggle(key=f"judge-any-{project.id}").set_value(True).run()
    assert "chrF: not tested for scores." in words(at)

    values[data.outputs[0].key] = judges.no_answer("refused")
    put_scores(store, project.id, "judge-esa", values, "judge-esa|model:tiny|v:1")
    at = opened(project.id)
    said = words(at)
    assert "Judge ESA: may replace an annotator for errors (yes or no) and scores." in said
    assert "120 outputs of 30 documents, judged and labelled by 3 annotators" in said
    assert [t.value for t in at.subheader][:2] == ["Verdict", "Agreement"]
    shown = "\n".join(t.value.to_string() for t in at.table)
    assert "refused" in shown
    assert "tokens read" in shown
    at.number_input(key=f"judge-human-below-{project.id}").set_value(5.0).run()
    assert "too few labels to say" in words(at) or "not for errors (yes or no)" in words(at)
    assert not at.exception


def test_files_of_a_card_have_every_result() -> None:
    of = judges.severities()
    card = card_of(answers(of["judge"]), of, options=OPTIONS._replace(own=("A",), by_system=True))
    html = card_html(card, "Judge <b>card</b>")
    assert "Judge &lt;b&gt;card&lt;/b&gt;" in html
    for text in (
        card.sentence,
        "Human ceiling",
        "Largest disagreements",
        "Test by annotator",
        "Preference for own outputs",
        "Rules of the verdict",
    ):
        assert text in html
    data = json.loads(card_json(card))
    assert data["sentence"] == card.sentence
    assert [q["verdict"]["kind"] for q in data["questions"]] == [q.verdict.kind for q in card.questions]
    assert len(data["questions"][0]["test"]["rows"]) == 6  # three annotators, two systems
