"""The fluency noises of Table 16, on its own example and on sentences with a known noised form."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.perturbations import registry
from core.perturbations.noise.base import noise_ratio
from core.perturbations.noise.sentences import whole_words
from core.text.edits import Change, Refused

GOLD = "She went to the office."  # 6 tokens: She went to the office .
FLUENCY = registry.NOISE_TYPES[:10]
ANY_SCRIPT = ("truncation", "token-drop", "repeated-token", "local-swap", "middle-swap", "noised-punctuation")
ENGLISH = tuple(name for name in FLUENCY if name not in ANY_SCRIPT)
GERMAN = "Der Stadtrat von Ahrfelden hat am Dienstagabend beschlossen, das alte Hallenbad nicht zu schließen."
CHINESE = "市议会周二晚上决定，不关闭旧的室内游泳池。"
ARABIC = "قرر المجلس، بعد نقاش طويل، عدم إغلاق المسبح القديم. هل كان ذلك صحيحا؟"


def noised(name: str, text: str, strength: float = 1.0, seed: int = 0) -> str:
    made = registry.noise(name).noised(text, strength, seed)
    assert isinstance(made, Change), made
    return made.text


def any_seed(name: str, text: str, strength: float) -> set[str]:
    return {noised(name, text, strength, seed) for seed in range(200)}


def reason(name: str, text: str, strength: float = 1.0) -> str:
    made = registry.noise(name).noised(text, strength)
    assert isinstance(made, Refused), made
    return made.reason


@pytest.mark.parametrize(
    ("name", "strength", "example", "distance"),
    [
        ("truncation", 0.4, "She went to.", 2),  # 2 of 5 tokens before the final sign: the, office
        ("article-removal", 1.0, "She went to office.", 1),
        ("preposition-removal", 1.0, "She went the office.", 1),
        ("stopword-removal", 1.0, "went office.", 3),  # She, to, the
        ("stopword-removal", 0.5, "She went office.", 2),  # round(0.5 · 3) = 2 of them
        ("verb-lemmatization", 1.0, "She go to the office.", 1),
        ("token-drop", 0.2, "She to the office.", 1),
        ("repeated-token", 0.2, "She went to to the office.", 1),
        ("noised-punctuation", 1.0, "She went to the office,", 1),
    ],
)
def test_the_papers_example_and_its_noise_ratio(name: str, strength: float, example: str, distance: int) -> None:
    assert example in any_seed(name, GOLD, strength)
    assert noise_ratio(GOLD, example, switching=registry.noise(name).switching) == distance / 6


def test_swaps_of_the_papers_example_count_half() -> None:
    # two tokens stand wrong: 2 substitutions of 6 tokens, halved
    assert "She to went the office." in any_seed("local-swap", GOLD, 0.5)
    assert noise_ratio(GOLD, "She to went the office.", switching=True) == 2 / 6 / 2
    # She→To, went→the, to→office, the→she, office→went: 5 of 6, halved
    assert any_seed("middle-swap", GOLD, 1.0) == {"To the office she went."}
    assert noise_ratio(GOLD, "To the office she went.", switching=True) == 5 / 6 / 2
    assert noise_ratio(GOLD, "To the office she went.") == 5 / 6


@pytest.mark.parametrize(
    ("strength", "cut"),
    [
        (0.1, "He said, “The old bridge of iron is.”"),  # 11 tokens before .”: round(1.1) = 1
        (0.3, "He said, “The old bridge of.”"),  # round(3.3) = 3
        (0.7, "He said.”"),  # round(7.7) = 8; the comma and the quote would stand before the full stop
        (1.0, "He.”"),
    ],
)
def test_truncation_leaves_the_signs_at_the_end(strength: float, cut: str) -> None:
    assert noised("truncation", "He said, “The old bridge of iron is safe.”", strength) == cut


def test_truncation_of_a_tokenised_text_keeps_its_spacing() -> None:
    assert noised("truncation", "She went to the office .", 0.4) == "She went to ."
    assert noised("truncation", "She went, then left", 0.5) == "She went"
    assert (
        noised("truncation", CHINESE, 0.5) == "市议会周二晚上决定。"
    )  # 19 characters and a comma: round(9.5)=10 of them go


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("The cat and a dog saw an owl.", "cat and dog saw owl."),
        ("Vitamin A is in the peel.", "Vitamin A is in peel."),
        ("“The end,” said the man (a baker).", "“end,” said man (baker)."),
        ("the office\nthe house of the mayor", "office\nhouse of mayor"),
        (
            "Now A & e and the man in Serie A on Saturday, or serie a on a bus.",
            "Now A & e and man in Serie A on Saturday, or serie a on bus.",
        ),
        ("The bar, Whisky a Go Go, is the best.", "bar, Whisky a Go Go, is best."),
        ("A film called The Office was the best at 3 a.m. in town.", "film called Office was best at 3 a.m. in town."),
    ],
)
def test_articles_go(text: str, bare: str) -> None:
    assert noised("article-removal", text) == bare


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("She wants to go to the house in the forest.", "She wants to go the house the forest."),
        ("In the house of the man he slept for years.", "the house the man he slept years."),
        (
            "He left before the match because she sang before he slept.",
            "He left the match because she sang before he slept.",
        ),
        ("The rain (5.9 in) fell in the town.", "The rain (5.9 in) fell the town."),
        (
            "It is as broadly known as the old man was known in the town.",
            "It is as broadly known as the old man was known the town.",
        ),
        (
            "The food made the animals put on weight in the winter.",
            "The food made the animals put on weight the winter.",
        ),
        ("It cost about 30 pounds in the shop.", "It cost about 30 pounds the shop."),
        ("He played for the under 21s on Monday.", "He played the under 21s Monday."),
    ],
)
def test_prepositions_go_and_infinitives_and_clauses_keep_theirs(text: str, bare: str) -> None:
    assert noised("preposition-removal", text) == bare


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("I don't think it's John's house, but he cannot sell it.", "think John's house, sell."),
        ("The US will visit us in May, and we’ll go.", "US visit May, go."),
        ("Will Smith was not there.", "Will Smith."),
        ("THE MAN WAS IN THE HOUSE.", "MAN HOUSE."),
        ("He had lunch after a while and did the work.", "lunch while work."),
        ("They sit still at number one in the town.", "sit still number one town."),
        ("We ca n't go , she 's late , the man 's dog is n't .", "go , late , man 's dog ."),
        ("The Us were beaten and he scored the only goal.", "Us beaten scored only goal."),
        ("The rain (5.9 in) of Episode I was bad , no one left .", "rain (5.9 in) Episode I bad , left ."),
    ],
)
def test_stop_words_go_with_their_contractions_and_names_stay(text: str, bare: str) -> None:
    assert noised("stopword-removal", text) == bare


@pytest.mark.parametrize(
    ("text", "lemmas"),
    [
        ("They were going home and had seen the boats.", "They be go home and have see the boats."),
        ("She doesn't know what he found.", "She don't know what he find."),
        ("It wasn't said.", "It wasn't say."),  # "ben't" is no word
        ("HE WENT TO THE OFFICE.", "HE GO TO THE OFFICE."),
        ("Is she in the house that he sold?", "Be she in the house that he sell?"),
    ],
)
def test_verbs_become_their_lemmas(text: str, lemmas: str) -> None:
    assert noised("verb-lemmatization", text) == lemmas


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("truncation", "Hello.", "only one word"),
        ("truncation", "...", "no word"),
        ("article-removal", "She went to Boston.", "no article"),
        ("preposition-removal", "She went home.", "no preposition"),
        ("stopword-removal", "Cats chase mice.", "no stop word"),
        ("verb-lemmatization", "You can see the house.", "no inflected verb"),
        ("token-drop", "Hello.", "only one word"),
        ("token-drop", "?!", "no word"),
        ("repeated-token", "?!", "no word"),
        ("local-swap", "ho ho ho, Hello", "no two different neighbouring words"),
        ("middle-swap", "Hello. No no.", "no sentence"),
        ("noised-punctuation", "She went at 12:30 with 3.5 km left...", "no , . ? !"),
    ],
)
def test_texts_with_nothing_to_change_are_refused(name: str, text: str, why: str) -> None:
    assert why in reason(name, text)


def test_fluency_noises_have_five_levels_and_swaps_count_half() -> None:
    noises = registry.noises(FLUENCY)
    assert all(len(noise.levels) == 5 and noise.graded for noise in noises)
    assert [noise.name for noise in noises if noise.switching] == ["local-swap", "middle-swap"]
    assert [noise.name for noise in noises if not noise.seeded] == ["truncation"]


@pytest.mark.parametrize("name", ENGLISH)
def test_english_noises_refuse_other_languages_and_long_texts(name: str) -> None:
    assert "English" in reason(name, GERMAN)
    assert reason(name, CHINESE)
    assert "longer than" in reason(name, f"{GOLD} " * 1000)


@pytest.mark.parametrize("name", ANY_SCRIPT)
@pytest.mark.parametrize("text", [GERMAN, CHINESE, ARABIC], ids=["German", "Chinese", "Arabic"])
def test_the_other_noises_take_any_script(name: str, text: str) -> None:
    ratios = [
        noise_ratio(text, noised(name, text, strength), switching=registry.noise(name).switching)
        for strength, _ in registry.noise(name).levels
    ]
    assert 0 < ratios[0] <= ratios[-1]


@pytest.mark.parametrize("name", ANY_SCRIPT)
def test_a_document_of_sixty_thousand_characters_is_noised(name: str) -> None:
    text = " ".join(f"In {year}, the old mayor of the town sold {year % 7} boats." for year in range(1300))
    assert len(text) > 60_000
    assert noised(name, text, 0.5) != text


@pytest.mark.parametrize(
    ("text", "every"),
    [
        ("go to", {"go", "to"}),  # never both: one word is left
        ("(go to)", {"(go)", "(to)"}),
        ("well-known pools", {"well-known", "pools"}),
        ("go\nto town", {"go\ntown", "go\nto", "to town", "\nto town", "go", "to", "town", "\ntown", "go\n", "\nto"}),
    ],
)
def test_token_drop_leaves_one_word_and_tidy_spaces(text: str, every: set[str]) -> None:
    assert any_seed("token-drop", text, 0.5) <= every


def test_repeated_tokens_follow_themselves() -> None:
    assert noised("repeated-token", "Yes, she can't go.", 1.0) == "Yes Yes, she she can't can't go go."
    assert noised("repeated-token", "游泳池。", 1.0) == "游游泳泳池池。"
    torn = "He shouldn 't see the show ’ s 23 - year - old star at 9 km / h"
    assert (
        noised("repeated-token", torn, 1.0)
        == "He He shouldn 't see see the the show ’ s 23 - year - old star star at at 9 9 km / h"
    )


def test_local_swap_moves_each_word_once_and_no_sign() -> None:
    assert any_seed("local-swap", "one two three, four", 1.0) == {"two one three, four", "one three two, four"}
    assert any_seed("local-swap", "one two. three four", 1.0) == {"two one. four three"}
    assert any_seed("local-swap", "one\ntwo three", 1.0) == {"one\nthree two"}
    # four of four words stand wrong: 4 substitutions of 5 tokens, halved
    assert noise_ratio("one two. three four", "two one. four three", switching=True) == 4 / 5 / 2


@pytest.mark.parametrize(
    ("text", "turned"),
    [
        ("Peter saw the old house.", "The old house Peter saw."),
        ("“I went home early.”", "“Home early I went.”"),
        ("She went, then left!", "Then left, she went!"),
        ("We’ll stay at well-known hotels tonight", "Well-known hotels tonight we’ll stay at"),
        ("no capital here now", "here now no capital"),
        ("She went. No.", "Went she. No."),
        ("Prices rose by 300% and silver cost $5 more", "And silver cost $5 more prices rose by 300%"),
        ("Prices went up 3%.", "Up 3% prices went."),
        ("游泳池很旧。", "池很旧游泳。"),
        ("מחר נלך הביתה", "נלך הביתה מחר"),
    ],
)
def test_middle_swap_turns_the_halves_and_keeps_the_signs(text: str, turned: str) -> None:
    assert noised("middle-swap", text) == turned


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The fish 's fin ; they ca n't swim .", ["The", "fish 's", "fin", "they", "ca n't", "swim"]),
        (
            "The u.s. planes at 3 a.m. in the U.S., stuff.co.nz",
            "The u.s. planes at 3 a.m. in the U.S. stuff.co.nz".split(),
        ),
        ("He left the U.S. She stayed.", ["He", "left", "the", "U.S", "She", "stayed"]),
        ("It ended.Then he met Mr. Smith", ["It", "ended", "Then", "he", "met", "Mr.", "Smith"]),
        ("A 2-1 win ( 3 - 0 ) in the semi-final", ["A", "2-1", "win", "3 - 0", "in", "the", "semi-final"]),
        ("$ 12 or $5 , # 400million and 9 %", ["$ 12", "or", "$5", "# 400million", "and", "9 %"]),
        ("the players ' side of the '90s", ["the", "players '", "side", "of", "the", "'90s"]),
        ("a ' rabbit in headlights ' after all", ["a", "rabbit", "in", "headlights", "after", "all"]),
        ("he was ' a man '", ["he", "was", "a", "man"]),
        ("增长100%，上海-北京", [*"增长", "100%", *"上海北京"]),
    ],
)
def test_words_are_whole(text: str, words: list[str]) -> None:
    assert [text[start:end] for start, end in whole_words(text)] == words


@pytest.mark.parametrize(
    ("text", "turned"),
    [
        ("However , the old man left .", "Old man left however , the ."),
        ("Liverpool could re-sign their captain .", "Re-sign their captain Liverpool could ."),
        ("Police in the old town saw him .", "Old town saw him police in the ."),
        ("The song can make her (as they say) dance .", "Her (as they say) dance the song can make ."),
        ('The old song has the power to "make her dance".', 'Power to "make her dance" the old song has the.'),
        ("Three of the men left the old town .", "Left the old town three of the men ."),
        ("Donald 's friend , V . Stiviano , left town .", "Stiviano , left town Donald 's friend , V . ."),
        ("New zealand police are in town .", "Are in town New zealand police ."),
        ("He won his 22. Olympic gold there .", "22. Olympic gold there he won his ."),
    ],
)
def test_middle_swap_cuts_no_word_and_moves_the_capital(text: str, turned: str) -> None:
    assert noised("middle-swap", text) == turned


@pytest.mark.parametrize(
    "text",
    [
        "Hooking Up is set in the town .",
        "Bolt insists he is the best man .",
        "Queen Charlotte was hit by fire .",
        "Cook scored in the second half .",
        "He said, 'there are channels in the old town.'",
    ],
)
def test_middle_swap_refuses_where_the_first_word_may_be_a_name(text: str) -> None:
    assert "no sentence" in reason("middle-swap", text)


@pytest.mark.parametrize(
    ("text", "every"),
    [
        ("Yes, she did.", {"Yes. she did,"}),
        ("Who?", {"Who,", "Who.", "Who!", "Who:"}),
        ("He paid 3,500 at 12:30, in the U.S.", {"He paid 3,500 at 12:30. in the U.S,"}),
        ("好，走。", {"好。走，"}),
        ("走！", {"走，", "走。", "走？", "走："}),
        ("قال نعم، ثم ذهب.", {"قال نعم. ثم ذهب،"}),
        ("من؟", {"من،", "من.", "من!", "من:"}),
        ("वह गया, फिर आया।", {"वह गया। फिर आया,"}),
    ],
)
def test_punctuation_is_replaced_within_its_script(text: str, every: set[str]) -> None:
    assert any_seed("noised-punctuation", text, 1.0) == every


PROSE = st.lists(
    st.sampled_from("the a in to she don't it's went office , . ? house of is was by ( ) “ ” - 市 议 。".split()),
    max_size=30,
).map(
    lambda pieces: (
        "".join(p if p in ",.?)”。-" else f" {p}" for p in pieces).replace("( ", "(").replace("“ ", "“").strip()
    )
)


@pytest.mark.parametrize("name", FLUENCY)
@given(text=PROSE, level=st.integers(0, 4), seed=st.integers(0, 1000))
def test_no_two_spaces_meet_and_none_stands_before_a_full_stop(name: str, text: str, level: int, seed: int) -> None:
    noise = registry.noise(name)
    made = noise.noised(text, noise.levels[level].strength, seed)
    if isinstance(made, Change):
        for pair in ("  ", " .", " ,"):
            assert (pair in made.text) <= (pair in text)
