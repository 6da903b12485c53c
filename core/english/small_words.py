"""English function words: articles, prepositions, auxiliaries, negations and the stop-word list."""

from __future__ import annotations

ARTICLE_WORDS = frozenset({"the", "a", "an"})
PREPOSITION_WORDS = frozenset(
    """about above across after against along alongside amid amidst among amongst around as at atop before behind below
    beneath beside besides between beyond by concerning despite down during except for from in inside into like near of off
    on onto opposite out outside over past per regarding round since through throughout till to toward towards under
    underneath unlike until up upon versus via with within without""".split()
)
STOP_WORDS = ARTICLE_WORDS | PREPOSITION_WORDS | frozenset(
        """all another any both each either enough every few less many more most much neither no other own same several some
    such that these this those what whatever which whichever whose
    he her hers herself him himself his i it its itself me mine my myself one oneself our ours ourselves she their theirs
    them themselves they us we who whoever whom you your yours yourself yourselves
    anybody anyone anything everybody everyone everything nobody none nothing somebody someone something
    although and because but if lest nor once or so than though unless when whenever where whereas wherever whether while yet
    am are be been being can could did do does doing done had has have having is may might must ought shall should was were
    will would ca sha wo n't not 's 're 've 'll 'd 'm
    again also already even ever here how just only quite rather still then there too very why""".split()
)  # fmt: skip
"""Closed-class words of English (determiners, pronouns, conjunctions, auxiliaries, prepositions, `not`) and the commonest
adverbs of place, time and degree. `ca`, `sha` and `wo` remain after splitting off `n't`."""

BE = frozenset("is are was were am 's 're 'm be been being".split())
HAVE = frozenset("has have had 've having".split())
DO = frozenset("do does did".split())
DO_FORMS = {"VBZ": "does", "VBP": "do", "VBD": "did"}
STEMS = {"ca": "can", "wo": "will", "sha": "shall"}
"""Modals that lose a letter before `n't`."""
MODALS = frozenset("can could will would shall should may might must 'll 'd ca wo sha".split())
NOT = frozenset("not n't".split())
NEGATIVE = NOT | frozenset(
    "no never nothing nobody none neither nor nowhere hardly scarcely barely without seldom rarely cannot".split()
)
POSSESSIVES = frozenset("my your his her its our their".split())
