"""Points of abbreviations, initials and ordinals end no sentence, in several languages."""

import pytest

from core.text.sentences import sentences, split_at_punctuation, split_with_abbreviations

WHOLE = [
    "Dr. Smith and Mrs. Jones met Gen. Lee at St. Paul.",
    "The U.S. economy grew.",
    "J. K. Rowling wrote it with George R. R. Martin.",
    "1. First item",
    "IV. Methods of the study",
    "a) See Fig. 3 and pp. 5 of Vol. 2.",
    "It happened on Jan. 5 at 3 p.m. in the U.S. Army base.",
    "Apple Inc. said so, e.g. in a memo by Jobs et al. about it.",
    "Smith vs. Jones, No. 5 on the list.",
    "the u.s. economy and mr. smith",
    "Am 3. Oktober traf Prof. Dr. Müller z. B. Frau Dr. Weiß.",
    "Im 19. Jahrhundert lebte hier J. W. von Goethe.",
    "M. Dupont et Mme. Curie, p. ex. en 1903.",
    "El Sr. García y la Sra. López viven en la Avda. Diagonal.",
    "De heer dhr. Jansen en prof. Bakker.",
    "Il dott. Rossi e il sig. Bianchi.",
    "В 1990 г. проф. Иванов и А. С. Пушкин, т. е. они.",
    "यह डॉ. सिंह का घर है।",
    "وصل د. أحمد إلى القاهرة.",
    "Praha 5. října byla krásná, napsal J. Novák.",
    "Den 5. oktober kom H. C. Andersen.",
    "Det. Smith met Sen. Warren and Gen. Lee.",
    "Er wohnt, u. a. wegen z. B. Frau Weiß, ca. 30 m und ca. ein Jahr weiter.",
    "В 1941 г. Германия напала (см. рис. 5).",
    "La dra. Gómez vino con Smith et al. Ayer.",
    "mr. smith and st. paul",
    "It is 8 ft. long.",
    "वह पं. नेहरू थे।",
]
TWO = [
    ("He works for the U.S. The economy grew.", 2),
    ("They left at 5 p.m. She stayed.", 2),
    ("We sell tea, coffee, etc. The shop is old.", 2),
    ("He turned 13. Then he left.", 2),
    ("It was in 1990. Nobody knew.", 2),
    ("She ate figs. He sat. They talked on and on. We left.", 4),
    ("It was I. Nobody else.", 2),
    ("He said no. I agreed.", 2),
    ("He moved to San Jose, CA. Later he left.", 2),
    ("Dr. Smith? Dr. No! Mr. Yes.", 3),
    ("The first is Mr.\nThe second is Ms.", 2),
    ("1. First. 2. Second.", 3),
    ("1. First\n2. Second", 2),
    ("他说Dr. Smith来了。她走了。", 2),
    ("a draw . it 's mr . smith .", 3),
    ("Das war 1990. Er kam. Wir gingen usw. Die Zeit verging.", 4),
    ("네. 감사합니다.", 2),
    ("네. 네. 감사합니다.", 3),
    ("정부는 대책을 마련할 것. 시민들은 기다린다.", 2),
    ("Vâng ạ. Cảm ơn bạn.", 2),
    ("Это я. Мама пришла.", 2),
    ("Jag vet det. Han kom hem.", 2),
    ("Han satte sig. Kvinnan gick.", 2),
    ("Det var hon. Sedan kom barnen.", 2),
    ("Vi ses sen. Hej då.", 2),
    ("Stäng av. Gå hem.", 2),
    ("Det var i maj. Anna kom.", 2),
    ("Vi måste dra. Anna väntar.", 2),
    ("En rev. Anna så den.", 2),
    ("Я сказал им. Они ушли.", 2),
    ("Рост 180 см. Анна высокая.", 2),
    ("Kako ste. Marko je tu.", 2),
    ("Cijena je sto. Marko plaća.", 2),
    ("Hi ha molta gent. Aquest és un lloc.", 2),
    ("Er kam aus Gent. Peter blieb.", 2),
    ("Das ist ein Gen. Es ist klein.", 2),
    ("Weil ich keine hab. Peter kommt.", 2),
    ("Perdió el hilo en el col. Marta no.", 2),
    ("Il a perdu le fil. Marie rit.", 2),
    ("Elle est à l'est. Marie rit.", 2),
    ("Quiero ir. Marta no.", 2),
    ("Dat weet ik al. Jan komt.", 2),
    ("Han gik ud. Peter kom.", 2),
    ("Wiesz co. Nie wiem.", 2),
    ("It took 20 ms. Mary left.", 2),
]


@pytest.mark.parametrize("text", WHOLE)
def test_these_points_end_no_sentence(text: str) -> None:
    assert sentences(text, split_with_abbreviations) == [text]


@pytest.mark.parametrize(("text", "n"), TWO)
def test_these_points_end_one(text: str, n: int) -> None:
    assert len(sentences(text, split_with_abbreviations)) == n


def test_without_points_it_is_the_rule() -> None:
    for text in (
        "What?! No... Yes… Well",
        "他走了。“我来了！”她说。",
        "كيف حالك؟ أنا بخير. شكرا",
        "یہ گھر ہے۔ وہ باغ ہے۔",
        "",
    ):
        assert split_with_abbreviations(text) == split_at_punctuation(text)


def test_many_abbreviations_are_read_in_linear_time() -> None:
    text = "Dr. " * 20_000 + "1. " * 20_000
    assert sentences(text, split_with_abbreviations)[0].startswith("Dr. Dr.")
