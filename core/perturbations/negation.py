"""Negation: one verb is negated or loses its negation (Chen and Eger 2023, §3; Ribeiro et al. 2020). A sentence that contains a negation never gets a second one."""

from __future__ import annotations

from random import Random

from core.english.parsing import TaggedText, cased, english, inflect, pos_tags
from core.english.phrases import (
    ADVERBS,
    BE,
    DO,
    DO_FORMS,
    HAVE,
    MODALS,
    NEGATIVE,
    NOMINATIVE,
    NOT,
    OBJECT_STARTS,
    PREPOSITIONS,
    STEMS,
    bare_infinitive,
    finite,
    lemma,
    participle,
    skip_adverbs,
)
from core.perturbations.base import Perturbation
from core.text.edits import Edit, Outcome, Refused

_POLAR = frozenset(
    """any anything anyone anybody anywhere anymore ever yet either until nor much all least longer even necessarily slightest
    whatsoever lift budge bother unless neither alone""".split()
)
"""Words that depend on a negation: without it, the sentence would be ungrammatical."""
_PARTS = frozenset(
    "only just merely simply necessarily so all every everyone because even quite yet until long one a too".split()
)
_POSITIVE = frozenset(
    """also still already even either both neither rather indeed only just some several somewhat quite certainly
    probably perhaps definitely clearly surely apparently obviously supposedly undoubtedly too once
    not n't never no nothing none fortunately unfortunately allegedly essentially merely simply truly barely
    increasingly far arguably almost nearly approximately about perfectly fairly deeply highly hugely reportedly little finally""".split()
)
_SUBORDINATE = frozenset(
    """that which who whom whose when where while if because although though since as whether why how what unless until
    before after than""".split()
)
_INVERTS = frozenset("so nor neither only what where when why how who whom".split())


def _negate(p: TaggedText, random: Random) -> Outcome | list[Edit]:
    by_rank: dict[int, list[list[Edit]]] = {}
    for i, rank in enumerate(_ranks(p, 0, p.n)):
        if edits := _without(p, i) if p.low(i) in NOT else _with(p, i):
            by_rank.setdefault(rank, []).append(edits)
    if not by_rank:
        return Refused("no verb can be negated, or lose its negation, with certainty")
    return random.choice(by_rank[min(by_rank)])


def _ranks(p: TaggedText, start: int, end: int) -> list[int]:
    """Return per token start..end-1: 0 in an apparent main clause (no subordinator since the last comma), 1 elsewhere."""
    ranks, rank = [], 0
    for i in range(start, end):
        if p.low(i - 1) in _SUBORDINATE:
            rank = 1
        if i == p.sentence(i)[0] or p.low(i - 1) in (",", ";", ":", "–", "—"):
            rank = 0
        ranks.append(rank)
    return ranks


def _without(p: TaggedText, i: int) -> list[Edit]:
    end = p.sentence(i)[1]
    if p.low(i + 1) in _PARTS or _POLAR & set(p.lows(i + 1, end)) or p.low(end - 1) == "?":
        return []
    if any(p.low(j) in NEGATIVE for j in range(i + 1, min(i + 3, end))) or "but" in p.lows(i + 1, end):
        return []
    aux, before = p.low(i - 1), p.tag(i - 1)
    if aux in DO:
        return _undo(p, i)
    if p.low(i) == "n't":
        if aux not in BE | HAVE | MODALS or aux == "ai" or p.tag(i + 1) in ("PRP", "DT", "NNP", "EX"):
            return []
        whole, new = p.tokens[i - 1], STEMS.get(aux, aux)
        return [Edit(whole.start, p.tokens[i].end, cased(new, whole.text, first=False))]
    if aux in BE | MODALS or (aux in HAVE and p.tag(skip_adverbs(p, i + 1)) in ("VBN", "VBD")):
        return [_gone(p, i)] if aux != "ca" else []
    infinitive = p.low(i + 1) == "to" and p.tag(i + 2) == "VB" and p.low(i + 2) != "mention"
    return [_gone(p, i)] if infinitive and before in ("VBD", "VBN", "VB", "VBZ", "VBP", "NN") else []


def _gone(p: TaggedText, i: int) -> Edit:
    """Delete `not` with the space before it; of `cannot`, the second half."""
    return Edit(p.tokens[i - 1].end, p.tokens[i].end, "")


def _undo(p: TaggedText, i: int) -> list[Edit]:
    """Turn `does not remain` into `remains` and `did not go` into `went`; a plain adverb may stand between."""
    verb = skip_adverbs(p, i + 1)
    low = p.low(verb)
    if "VERB" not in pos_tags(low) or p.tag(verb) in ("PRP", "DT", "NNP", "IN"):
        return []
    if p.tag(i - 2) == "TO" or low in BE | DO | {"need"}:
        return []
    aux = p.tokens[i - 1]
    form = {"does": "VBZ", "did": "VBD", "do": "VBP"}[aux.low]
    new = low if form == "VBP" else inflect(low, form)
    if not new:
        return []
    if verb == i + 1:
        return [Edit(aux.start, p.tokens[verb].end, cased(new, aux.text))]
    return [Edit(aux.start, p.tokens[i + 1].start, ""), p.replace(verb, new)] if aux.low == aux.text else []


def _with(p: TaggedText, i: int) -> list[Edit]:
    if not (p.tag(i)[:2] in ("VB", "MD", "NN") or p.low(i) in ("'s", "'re", "'ve") or p.low(i) in MODALS):
        return []
    start, end = p.sentence(i)
    if (NEGATIVE | _POLAR_INSIDE) & p.sentence_words(i) or p.low(end - 1) == "?" or p.low(i + 1) in _POSITIVE:
        return []
    if p.low(i - 1) in _INVERTS or i == start or _asks_how(p, i):
        return []
    low = p.low(i)
    if low in ("is", "are", "was", "were", "am", "'re", "'m") or (
        low == "'s" and p.low(i - 1) in ("he", "she", "it", "that")
    ):
        return _after_be(p, i)
    if low in MODALS - {"'d", "ca", "wo", "sha", "may", "might", "must", "can", "will"} or _modal(p, i):
        verb = p.low(skip_adverbs(p, i + 1))
        followed = verb in BE | HAVE or "VERB" in pos_tags(verb)
        return [p.after(i, "not" if low == "can" else " not")] if followed else []
    if low in HAVE:
        return _have(p, i)
    form = finite(p, i)
    if not form or low in _FROZEN or p.low(i - 1) in ADVERBS:
        return []
    base = lemma(low)
    return [p.replace(i, f"{DO_FORMS[form]} not {base}")] if base and base not in _FROZEN else []


_FROZEN = frozenset("let thank please mean regard used".split())
_POLAR_INSIDE = frozenset(
    "some already still somewhat somehow any anyone anybody anything anywhere ever whatsoever only".split()
)
"""Words that block negation, because the scope of the negation, or theirs, would be uncertain."""
_UNCHANGED = frozenset(
    "rid cut put set hit let shut hurt cost spread split burst cast bet bid quit read thrust shed slit".split()
)
"""Verbs whose participle equals their plain form; taggers may mistake it for a noun or adjective after `had`."""
_OBJECT = OBJECT_STARTS | {"myself", "yourself", "himself", "herself", "itself", "ourselves", "themselves"}
_FEW = frozenset("few fewer several plenty lots other such".split())
_AMOUNTS = frozenset("many much enough more less".split())


def _asks_how(p: TaggedText, i: int) -> bool:
    """Return whether the clause starts with `how` (its verb has a fixed place), or `there` follows."""
    for j in range(i - 1, max(p.sentence(i)[0], i - 12) - 1, -1):
        if p.low(j) in (",", ";", ":", "–", "—"):
            break
        if p.low(j) == "how":
            return True
    return p.low(i + 1) == "there"


def _modal(p: TaggedText, i: int) -> bool:
    """Return whether a word that is also a noun or month is a modal here: a plain verb follows."""
    if p.low(i) not in ("may", "might", "must", "can", "will") or p.word(i) != p.low(i):
        return False
    verb = skip_adverbs(p, i + 1)
    return p.low(verb) in ("be", "have") or (p.tag(verb) == "VB" and p.tag(i) == "MD")


def _after_be(p: TaggedText, i: int) -> list[Edit]:
    if p.low(i) in ("'s", "'re") and p.low(i - 1) not in NOMINATIVE | {"it", "that", "you"}:
        return []
    after = p.tag(i + 1)
    if after in ("VB", "VBP", "VBZ", "MD", "PRP", "EX"):
        return []
    if p.low(i - 1) == "there" and after not in ("DT", "CD") and p.low(i + 1) not in _AMOUNTS:
        return [p.after(i, " no")] if after in ("NN", "NNS", "JJ") and p.low(i + 1) not in _FEW else []
    if after == "IN" and p.low(i + 1) not in ("in", "at", "on", "under", "of", "about", "for", "from", "by", "like"):
        return []
    if p.low(i + 1) in (",", ".", ":", ";", ")", "-", "–", "—", "and", "how", "what", "why", ""):
        return []
    if p.low(i - 1) in ("as", "than", ",", "and", "or", "(") and p.tag(i + 1) not in ("VBN", "VBG", "JJ", "DT", "RB"):
        return []
    if p.tag(i - 1) in ("RB", "JJ", "VBN", "VBG", "IN", "WRB") and i - p.sentence(i)[0] < 3:
        return []
    return [p.after(i, " not")]


def _have(p: TaggedText, i: int) -> list[Edit]:
    low = p.low(i)
    after = skip_adverbs(p, i + 1)
    perfect = p.tag(after) in ("VBN", "VBD") or p.low(after) in ("been", "had", "become", "come", "rid")
    if not perfect and p.low(after) in _UNCHANGED:
        if p.low(after + 1) not in _OBJECT | PREPOSITIONS | {"up", "off", "out", "down", "away"}:
            return []
        perfect = True
    if low in ("have", "'ve") and (bare_infinitive(p, i) or not _plural_before(p, i)):
        return []
    fixed = low == "having" or p.low(i + 1) == "better" or p.tag(i + 1) == "PRP"
    if fixed or p.low(i - 1) in ADVERBS or participle(p, i):
        return []
    if perfect:
        return [p.after(i, " not")] if p.tag(i + 1) != "DT" else []
    if low == "'ve" or not (p.tag(i + 1) in ("DT", "PRP$", "JJ", "NNS", "CD") or p.low(i + 1) == "to"):
        return []
    form = {"has": "does", "had": "did", "have": "do"}[low]
    return [p.replace(i, f"{form} not have")]


def _plural_before(p: TaggedText, i: int) -> bool:
    j = skip_adverbs(p, i - 1, -1)
    return p.low(j) in ("i", "we", "you", "they") or p.tag(j) in ("NNS", "NNPS")


NEGATION = Perturbation(
    name="negation",
    phenomenon="Negation",
    kind="adequacy",
    help="Negates one verb, of the main clause if possible, or removes its negation; never adds a second negation",
    change=english(_negate),
    version=3,
)
