"""The columns of tables as people have them: forms of public data sets and of home-made sheets, with made-up cells.

A column is written `name|content|role`. Contents that follow the segment: `source` (long), `short` (a sentence), `reference`, `ref2`,
`segment`, `document`, `title`, `code`, `mr`. Contents that follow the row: `output`, `row`, `rater`, `rating`, `float`, `da`. Others:
`system`, `constant`. The role "-" is not used.
"""

from __future__ import annotations

import csv
import io
import random

from core.formats.column_facts import score_of_system, scores_of_systems
from core.formats.columns import guessed
from core.formats.files import Upload
from core.formats.mapping import ColumnMapping
from core.formats.mapping_warnings import mapping_warnings
from core.formats.parsing.cells import FileTable
from core.formats.table import read_table

LONG = {
    "realsumm": "doc_id|code|document source|source|source gold_summary|reference|references system_name|system|system "
    "system_output|output|output litepyramid_recall|float|human_scores",
    "realsumm-terse": "id|segment|segment src_text|source|source ref_summ|reference|references sys|system|system sys_summ|output|output "
    "rouge_1_f_score|float|metrics litepyramid|float|human_scores",
    "newsroom": "ArticleID|segment|segment System|system|system ArticleText|source|source SystemSummary|output|output ArticleTitle|title|- "
    "CoherenceRating|rating|human_scores FluencyRating|rating|human_scores InformativenessRating|rating|human_scores",
    "newsroom-spaces": "Article ID|segment|segment System|system|system Article Text|source|source System Summary|output|output "
    "Article Title|title|- Relevance Rating|rating|human_scores",
    "sfhot": "mr|mr|source orig_ref|reference|references sys_ref|output|output system|system|system informativeness|rating|human_scores "
    "naturalness|rating|human_scores quality|rating|human_scores",
    "sfhot-judges": "dataset|constant|- system|system|system judge|rater|- mr|mr|source orig_ref|reference|references "
    "sys_ref|output|output naturalness|rating|human_scores",
    "webnlg": "submission_id|system|system sample_id|segment|segment mr|mr|source reference|reference|references "
    "generated_text|output|output semantics|float|human_scores grammar|float|human_scores",
    "e2e": "meaning_representation|mr|source human_reference|reference|references system_output|output|output model|system|system "
    "quality|da|human_scores",
    "da": "lp|constant|- src|short|source mt|output|output ref|reference|references system|system|system raw|da|human_scores "
    "annotators|rating|-",
    "mqm-scores": "lp|constant|- src|short|source mt|output|output ref|reference|references score|float|human_scores system|system|system "
    "annotators|rating|- domain|constant|- year|year|-",
    "mlqe": "index|segment|segment original|short|source translation|output|output mean|da|human_scores z_mean|float|human_scores",
    "qags": "article|source|source summary|output|output model_name|system|system consistent|float|human_scores",
    "frank": "hash|segment|segment model_name|system|system article|source|source summary|output|output reference|reference|references "
    "Factuality|float|human_scores",
    "rank19": "text|source|source summary|output|output system|system|system correct|rating|human_scores",
    "seahorse": "gem_id|segment|segment worker_lang|constant|- summary|output|output model|system|system question1|rating|human_scores "
    "question2|rating|human_scores",
    "usr": "context|source|source response|output|output model|system|system Understandable|rating|human_scores Overall|rating|human_scores",
    "dialsumm": "id|segment|segment dialogue|source|source summary|output|output topic|constant|-",
    "mturk": "HITId|code|segment WorkerId|rater|- Input.source|short|source Input.system|system|system Input.output|output|output "
    "Answer.score|rating|human_scores",
    "sheet": "No.|segment|segment Source text|short|source Human reference|reference|references MT engine|system|system "
    "MT output|output|output Adequacy (1-5)|rating|human_scores",
    "row-ids": "id|row|- source|short|source reference|reference|references system|system|system output|output|output DA|da|human_scores",
    "camel": "docId|document|document segmentId|segment|segment sourceText|short|source refText|reference|references "
    "systemName|system|system targetText|output|output",
    "metrics": "seg_id|segment|segment source|short|source reference|reference|references system|system|system hypothesis|output|output "
    "COMET|float|metrics BLEURT-20|float|metrics human|da|human_scores",
    "unnamed": "c1|segment|segment c2|system|system c3|source|source c4|reference|references c5|output|output c6|rating|human_scores",
    "german": "Nr|segment|segment Quelle|short|source Referenz|reference|references System|system|system Ausgabe|output|output",
    "cnndm": "article|source|source highlights|reference|references model|system|system generated_summary|output|output",
    "factcc": "id|segment|segment text|source|source claim|output|output label|constant|-",
    "target": "doc|document|document seg_id|segment|segment source|short|source target|output|output system|system|system",
    "two-refs": "segment|segment|segment src|short|source refA|reference|references refB|ref2|references sys|system|system hyp|output|output",
    "decoded": "article_id|segment|document document|source|source gold|reference|references model_id|system|system decoded|output|output",
    "prompted": "prompt|constant|- input_document|source|source model_name|system|system completion|output|output "
    "reference_summary|reference|references faithfulness_score|rating|human_scores",
    "hanna": "Story ID|segment|segment Prompt|short|source Human|reference|references Story|output|output Model|system|system Relevance|rating|human_scores Empathy|rating|human_scores",
    "aggrefact": "dataset|constant|- origin|constant|- id|segment|segment doc|source|source summary|output|output model_name|system|system label|rating|- cut|constant|-",
    "esa": "annotator|rater|- system|system|system document|document|document line|segment|segment source_segment|short|source target_segment|output|output score|da|human_scores",
    "openmeva": "storyline|short|source gold_story|reference|references gen_model|system|system generated_story|output|output avg_score|float|human_scores",
    "apes": "example_id|segment|segment question|short|source gold_answer|reference|references predicted_answer|output|output system_id|system|system f1|float|human_scores",
    "spanish": "ID de segmento|segment|segment Texto origen|short|source Traducción|output|output Sistema|system|system Puntuación|da|human_scores",
    "captions": "image_id|code|segment caption|output|output model|system|system reference_caption|reference|references CIDEr|float|human_scores",
    "tsv-sys": "system-name|system|system SEG|segment|segment SRC|short|source REF|reference|references HYP|output|output MetricX-23|float|metrics",
    "edits": "item|segment|segment source_sentence|short|source engine|system|system raw_mt|output|output post_edit|reference|references edit_time|da|human_scores",
    "simplify": "Original Sentence|short|source Simplified|output|output System Name|system|system Simplicity|rating|human_scores Meaning|rating|human_scores",
}  # fmt: skip
WIDE = {
    "realsumm-wide": "doc_id|segment|document gold_summary|reference|references bart_out|output|systems t5_out|output|systems "
    "pegasus_out|output|systems",
    "mateo": "source|short|source reference|reference|references Google|output|systems DeepL|output|systems",
    "letters": "src|short|source ref|reference|references A|output|systems B|output|systems C|output|systems",
    "mtme": "lp|constant|- domain|constant|- doc|document|document seg_id|segment|segment source|short|source refA|reference|references "
    "Online-A|output|systems GPT-4|output|systems",
    "wide-summaries": "article|source|source human_summary|reference|references lead3_summary|output|systems "
    "bart_summary|output|systems",
    "unnamed-source": "Story text for annotators|source|source Reference summary|reference|references BART|output|systems T5|output|systems",
    "codes": "key|code|segment Source segment|short|source Reference translation|reference|references NMT|output|systems LLM|output|systems",
    "gold-and-id": "ID|segment|segment Text|source|source Gold|reference|references System1|output|systems System2|output|systems",
    "english": "en|short|source de_ref|reference|references de_online_a|output|systems de_online_b|output|systems",
    "mr-wide": "mr|mr|source ref|reference|references sclstm_output|output|systems tgen_output|output|systems",
    "pe": "segment no|segment|segment EN source|short|source HT|reference|references MT1|output|systems MT2|output|systems",
    "rated-systems": "id|segment|segment source|short|source sys1|output|systems sys2|output|systems sys1_quality|da|human_scores "
    "sys2_quality|da|human_scores fluency (sys1)|rating|human_scores fluency (sys2)|rating|human_scores sys1_comet|float|metrics "
    "sys2_comet|float|metrics difficulty|float|-",
    "rated-outputs": "Input|short|source Output 1|output|systems Output 2|output|systems Rating 1|rating|human_scores "
    "Rating 2|rating|human_scores",
    "rated-suffix": "src|short|source bart_out|output|systems t5_out|output|systems bart_adequacy|rating|human_scores "
    "t5_adequacy|rating|human_scores bart_TER|float|metrics t5_TER|float|metrics",
    "dialog": "dialog_id|code|segment history|source|source gold response|reference|references GPT-4|output|systems Llama|output|systems",
}  # fmt: skip
WORDS = (
    "river school energy market city water train garden letter winter music doctor village season report price bridge story "
    "window morning"
).split()  # fmt: skip


def text(rng: random.Random, words: int) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(words)).capitalize() + "."


def table(name: str) -> tuple[FileTable, dict[str, str]]:
    """Return a made-up table of this form, and the role of each column."""
    form = (LONG | WIDE)[name]
    columns = [tuple(part.strip() for part in column.split("|")) for column in _columns(form)]
    rng = random.Random(name)
    rows = []
    for segment in range(12):
        shared = {
            "source": text(rng, 60), "short": text(rng, 12), "reference": text(rng, 11), "ref2": text(rng, 11),
            "segment": str(segment + 101), "document": f"news-{segment // 4}", "title": text(rng, 5), "code": f"a{segment:02}f{segment * 7}",
            "mr": f"inform(name='{text(rng, 2)}';area='{text(rng, 1)}')", "constant": "en-de", "year": "2022",
        }  # fmt: skip
        systems = ["base", "Online-A", "bart", "pegasus"] if name in LONG and "|system|" in form else [""]
        for system in systems:
            output = text(rng, 10)
            for rater in range(3 if name.startswith("newsroom") or "|rater|" in form else 1):
                cells = shared | {
                    "system": system, "row": str(len(rows)), "rater": f"w{rater}", "rating": str(rng.randint(1, 5)),
                    "float": f"{rng.random():.3f}", "da": str(rng.randint(0, 100)),
                }  # fmt: skip
                rows.append(
                    [output if c == "output" and name in LONG else cells.get(c) or text(rng, 10) for _, c, _ in columns]
                )
    file = io.StringIO()
    csv.writer(file).writerows([[c[0] for c in columns], *rows])
    return read_table(Upload(f"{name}.csv", file.getvalue().encode())), {c[0]: c[2] for c in columns}


def _columns(form: str) -> list[str]:
    """Return the columns of a form; names may have blanks, roles may not."""
    found, rest = [], form
    while rest:
        name, content, tail = rest.split("|", 2)
        role, _, rest = tail.partition(" ")
        found.append(f"{name}|{content}|{role}")
    return found


def roles(mapping: ColumnMapping, columns: tuple[str, ...]) -> dict[str, str]:
    """Return the role of each column, "-" if it is not used."""
    found = dict.fromkeys(columns, "-")
    for role in ("document", "segment", "source", "system", "output"):
        if column := getattr(mapping, role):
            found[column] = role
    for role in ("references", "systems", "human_scores"):
        found |= dict.fromkeys(getattr(mapping, role), role)
    found |= {s.column: "human_scores" if s.higher_is_better is None else "metrics" for s in mapping.system_scores}
    return found | {m.column: "metrics" for m in mapping.metrics}


def test_at_least_52_of_55_tables_are_right_and_none_is_wrong_without_a_warning() -> None:
    assert len(LONG) + len(WIDE) == 55
    wrong = {}
    for name in LONG | WIDE:
        read, expected = table(name)
        found = guessed(read).mapping
        if (got := roles(found, read.columns)) != expected:
            wrong[name] = {c: (expected[c], got[c]) for c in expected if got[c] != expected[c]}
            assert mapping_warnings(read, found), f"{name} is wrong and silent: {wrong[name]}"
    assert len(wrong) <= 3, wrong


def csv_table(text: str) -> FileTable:
    return read_table(Upload("a.csv", text.encode()))


def warned(text: str) -> str:
    read = csv_table(text)
    return " ".join(f"{d.column}: {d.got};" for d in mapping_warnings(read, guessed(read).mapping))


def test_what_is_odd_is_told() -> None:
    """As in MATEO's table of sentences, rows may stand for a segment and a metric: they repeat all texts."""
    of_metrics = [f"{m},s {i},r {i},x {i},.{i},y {i},.{i}" for m in ("comet", "bertscore") for i in range(4)]
    of_documents = [f"{s},d{i},text {i},out {i} {s},{n}" for s in "AB" for i in range(3) for n in (1, 5)]
    pages = "".join(f"{i},text {i},{s},o{i}{s},3,{i}\n" for i in range(12, 17) for s in "AB")
    unused = "a column named like a score that is not used"
    for text, odd in (
        ("source,ref1,ref2,A\na b,r one,r one,x y\nc d,r two,r two,y z\n", "ref2: the same texts as in ref1"),
        ("source,ref,A\na b,r one,x y\nc d,r one,y z\ne f,r one,z z\n", "ref: the same text in all rows: “r one”"),
        ("source,ref,A\na b,r one,r one\nc d,r two,r two\n", "A: the same texts as in ref"),
        ("source,fr,A,B\na b,r one,x y,u v\nc d,r two,y z,v w\n", "fr: a system of this name"),
        ("seg,system,output\n1,refA,x\n1,B,y\n", "system: the system “refA”, and no reference"),
        ("seg,system,output\n1,A,x\n2,B,y\n3,A,z\n", "seg: another segment ID in each row"),
        ("seg,source,system,output,score,page\n" + pages, "page: whole numbers that look like IDs"),
        ("seg,system,output,quality\n1,A,x,good\n1,B,y,bad\n2,A,z,bad\n", f"quality: {unused}"),
        ("seg,system,output,DA\n1,A,x,-\n1,B,y,-\n2,A,z,-\n", f"DA: {unused}"),
        (
            "source,ref,system,output,alternative\n" + "".join(f"text {i},r {i},A,o{i},{'long text ' * 9}{i}\n" for i in range(4)),
            "alternative: a column of texts (4 different texts) that is not used",
        ),
        ("system,doc,source,output,DA\n" + "\n".join(of_documents), "doc: the segment ID, judged by its cells"),
        ("ann,A,12,78.5,x y\nann,B,13,31.5,y z\nann,C,14,9,z z\n", "a number as the name of a column"),
        ("metric,src,ref,A,A_score,B,B_score\n" + "\n".join(of_metrics), "src: 4 rows with the texts of another row"),
    ):  # fmt: skip
        assert odd in warned(text)
    assert "another row" not in warned("src,ref,A,B\n" + "".join(f"s {i},r {i},x,y\n" for i in range(4)))
    plain = "doc,seg,source,reference,system,output,DA\nd,1,s t,r u,A,x y,3\nd,1,s t,r u,B,y z,4\nd,2,t s,u r,A,z x,2\n"
    assert warned(plain) == ""


def test_ids_of_rows_and_outputs_are_no_segments_unless_they_are_named_so() -> None:
    rows = [f"{s},n,{i + 5 * k},out {i} {s},{i}" for k, s in enumerate("AB") for i in range(5)]
    for name in ("segment", "seg_id", "sentence", "id", "index"):
        text = f"system,doc,{name},output,human\n" + "\n".join(rows)
        assert guessed(csv_table(text)).mapping.segment == name
        assert f"{name}: another segment ID in each row" in warned(text)
    assert (
        guessed(csv_table("system,segment,DA\nOnline A,1,3\nOnline B,1,4\nOnline C,1,5\n")).mapping.system == "system"
    )
    rows = [f"{s},text {i},{i + 5 * k},out {i} {s},{i}" for k, s in enumerate("AB") for i in range(5)]
    for name, used in (("segment_id", "segment_id"), ("id", None)):
        text = f"system,source,{name},output,human\n" + "\n".join(rows)
        assert guessed(csv_table(text)).mapping.segment == used
    assert "id: not used, judged by its cells: numbers the rows" in warned(text)
    rows = [
        f"j{j},{2 * i + k},{s},text {i},out {i} {s},{j}" for i in range(4) for k, s in enumerate("AB") for j in range(3)
    ]
    text = "judge,id,system,mr,output,quality\n" + "\n".join(rows)
    assert guessed(csv_table(text)).mapping.segment is None
    assert "segment_id: another segment ID in each output" in warned(text.replace("id,", "segment_id,", 1))


def test_a_role_word_in_the_name_of_a_system_is_no_role() -> None:
    rows = "".join(f"s {i},r {i},x {i},y {i},z {i}\n" for i in range(4))
    mapping = guessed(csv_table("source,ref,Reference-free MT,synthetic_ref,open-source-llm\n" + rows)).mapping
    assert mapping.references == ("ref",)
    assert mapping.systems == ("Reference-free MT", "synthetic_ref", "open-source-llm")


def test_an_index_is_no_human_score_and_has_the_ids_of_segments_if_it_repeats_for_each_system() -> None:
    order = [7, 2, 11, 0, 5, 9, 1, 4, 10, 3, 8, 6]
    for name in ("Unnamed: 0", "Unnamed: 0.1", "__index_level_0__", "level_0", "", "...1", "rownames", "n"):
        rows = [f"{k},{'AB'[i % 2]},{i // 2},text {i // 2},out {i},{i % 5}" for i, k in enumerate(order)]
        table = csv_table(f"{name},system,segment,source,output,DA\n{chr(10).join(rows)}\n")
        assert guessed(table).mapping.human_scores == ("DA",), name
        assert guessed(table).why(table.columns[0]) == "an index of the rows"
    ranks = [f"{'AB'[i % 2]},{i // 2},text {i // 2},out {i},{k}" for i, k in enumerate(order)]
    ranked = csv_table("system,segment,source,output,quality\n" + "\n".join(ranks))
    assert guessed(ranked).mapping.human_scores == ("quality",)
    for name in ("", "Unnamed: 0", "__index_level_0__", "level_1"):
        rows = [f"{i},{s},out {i} {s},{i % 5}" for s, ids in (("A", (0, 1, 2, 5)), ("B", (1, 2, 5, 7))) for i in ids]
        text = f"{name},system,output,DA\n" + "\n".join(rows)
        table = csv_table(text)
        assert guessed(table).mapping.segment == table.columns[0]
        assert f"{table.columns[0]}: the segment ID, judged by its cells" in warned(text)
        assert guessed(csv_table(text + "\n" + "\n".join(rows))).mapping.segment is None


def test_columns_of_numbers_with_other_cells_and_columns_of_raters_are_human_scores() -> None:
    for cell, name in (("#N/A", "c6"), ("4,5", "c6"), ("see notes", "c6"), ("good", "adequacy"), ("-", "human")):
        rows = [f'{"AB"[i % 2]},{i // 2},text {i // 2},out {i},"{cell if i == 7 else i % 3}"' for i in range(12)]
        table = csv_table(f"system,segment,source,output,{name}\n{chr(10).join(rows)}\n")
        assert guessed(table).mapping.human_scores == (name,), cell
    answers = "".join(f"What is {i} + 2?,{i + 2},{'no idea' if i == 7 else i + 3}\n" for i in range(12))
    assert "model_b" in guessed(csv_table("question,model_a,model_b\n" + answers)).mapping.systems
    for names in (("annotator_1", "annotator_2"), ("rater A", "rater B"), ("judge1", "judge2")):
        rows = [f"{'AB'[i % 2]},{i // 2},out {i},{i % 5},{i % 3},{i % 4}.5,{i % 3}" for i in range(12)]
        guess = guessed(csv_table(f"system,segment,output,{','.join(names)},mean,annotator_id\n" + "\n".join(rows)))
        assert guess.mapping.human_scores == (*names, "mean")
        assert "names the annotator" in guess.why("annotator_id")


def test_times_are_no_scores_and_two_systems_in_a_row_no_outputs() -> None:
    head = "systemID,username,email,segmentID,score,startTime,durationInSeconds,itemType\n"
    rows = "".join(f"{s},u{i},u{i}@x.org,{i},{i + 50},1537.{i},{i}.5,TGT\n" for i in range(4) for s in "AB")
    got = guessed(csv_table(head + rows))
    assert (got.mapping.layout, got.mapping.system, got.mapping.human_scores) == ("long", "systemID", ("score",))
    assert got.why("durationInSeconds") == "named like a fact about the row"
    head = "srclang,trglang,segmentId,judgeID,system1Id,system1rank,system2Id,system2rank\n"
    rows = "".join(f"cze,eng,{i},judge1,test.uedin-{i % 2}.cs-en,1,test.online-{i % 3}.cs-en,2\n" for i in range(6))
    got = guessed(csv_table(head + rows))
    assert (got.mapping.system, got.mapping.systems, got.mapping.human_scores) == (None, (), ())
    assert got.why("system2Id") == "one of several systems in each row: a table has one row per system"


def test_several_values_in_a_cell_are_no_role_if_a_text_may_have_it_and_are_said() -> None:
    line = '{"id": %d, "translation": {"de": "s %d", "en": "r %d"}, "prediction": "o %d", "expert_annotations": [{"coherence": 4}]}\n'
    table = read_table(Upload("a.jsonl", "".join(line % (i, i, i, i) for i in range(4)).encode()))
    mapping = guessed(table).mapping
    assert (mapping.output, mapping.source) == ("prediction", None)
    said = [doubt.column for doubt in mapping_warnings(table, mapping) if "several values in a cell" in doubt.got]
    assert said == ["translation", "expert_annotations"]
    for text, output in (  # a problem when they are read
        (b'{"source": "s", "predictions": ["x", "y"]}\n{"source": "t", "predictions": ["z"]}\n', "predictions"),
        (b'{"translation": {"de": "s"}}\n{"translation": {"de": "t"}}\n', "translation"),
    ):
        assert guessed(read_table(Upload("a.jsonl", text))).mapping.output == output


def test_scores_of_one_system_are_matched_by_whole_words() -> None:
    of = {
        ("GPT-4", "DeepL"): {"GPT-4 quality": ("GPT-4", "quality"), "GPT-4o quality": None, "deepl_DA": ("DeepL", "DA")},
        ("sys1", "sys1_large"): {"sys1_large_score": ("sys1_large", "score"), "score.sys1": ("sys1", "score"), "sys10_score": None},
        ("output_1", "output_2"): {"fluency 2 [1-5]": ("output_2", "fluency [1-5]"), "q1_1": None, "q2_1": None, "page": None},
        ("A_text", "B_text"): {"A": ("A_text", "score"), "QualityB": ("B_text", "Quality"), "A1": None},
        ("GPT-3", "GPT-4"): {"question_3": None, "question_4": None},
        ("bart_out", "t5_out"): {"BARTScore": None, "bart_score": ("bart_out", "score")},
        ("系统A", "系统B"): {"系统A 流畅度": ("系统A", "流畅度")},
    }  # fmt: skip
    for systems, expected in of.items():
        for column, named in expected.items():
            score = score_of_system(column, systems)
            assert (score and (score.system, score.name)) == named, (systems, column)
    raters = scores_of_systems(["A_rater", "B_rater", "A_rater1", "B_rater1", "A_pages", "A_fluency"], ["A", "B"])
    assert [score.column for score in raters] == ["A_rater1", "B_rater1", "A_fluency"]
