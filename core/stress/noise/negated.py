"""Sentences that are negated, each at one verb, or that lose the negation they have."""

from __future__ import annotations

from random import Random

from core.stress.base import Edit, Outcome, Refused
from core.stress.noise.base import Beside, Noise, edited, some
from core.stress.noise.clauses import SUBORDINATE, Clause, base, clause_of, clauses, rank, subjects
from core.stress.noise.denials import denies, lifted
from core.stress.noise.grammar import Reading, read, reader
from core.stress.noise.sentences import LEVELS
from core.stress.phrases import BE, DO

_DO = {"VBZ": "does", "VBP": "do", "VBD": "did", "IMP": "do"}
_BEFORE_DO = frozenset("only just merely simply nearly almost even really ever actually".split())
"""Adverbs that *did not* stands in front of, as it does in front of those in -ly that do not speak of the whole sentence."""
_BEFORE_NOT = frozenset(
    """also still probably definitely certainly apparently reportedly allegedly perhaps maybe obviously clearly surely
    fortunately unfortunately finally eventually initially originally recently previously usually typically reportedly supposedly
    suddenly currently now then therefore however thus""".split()
)
"""Adverbs that *not* stands after."""
_COMPARING = frozenset("than as if unless lest".split())


def negation(r: Reading, span: tuple[int, int]) -> list[Edit]:
    """Return the edits that negate a sentence at the verb of its main clause, or of one joined to that.

    A main clause that has a negation loses it. None where there is no finite verb that can be negated for certain, or where a
    negation of the main clauses cannot be taken away.
    """
    found = clauses(r, span)
    main = [clause for clause in found if rank(r, clause.verb) < SUBORDINATE]
    owners = {i: clause_of(r, i, found) for i in range(*span) if denies(r, i)}
    denials = [i for i, owner in owners.items() if owner is None or (owner in main and _states(r, owner, main))]
    for i in sorted(denials, key=lambda i: main.index(owner) if (owner := owners[i]) else 0):
        if edits := lifted(r, i, span):
            return edits
    if denials:
        return []
    return next((edits for clause in main if (edits := _negated(r, clause, span))), [])


def _states(r: Reading, clause: Clause, main: list[Clause]) -> bool:
    """True for the first main clause and those joined to it, false for what it reports."""
    return rank(r, clause.verb) < rank(r, main[0].verb) + 2


def _negated(r: Reading, clause: Clause, span: tuple[int, int]) -> list[Edit]:
    if any(r.low(j) in _COMPARING for j in r.children(clause.verb, "mark")):
        return []
    if clause.carrier != clause.verb or clause.form == "MD":
        return _after_helper(r, clause)
    if r.low(clause.verb) in BE and clause.form != "IMP":
        return _after_be(r, clause, span)
    return _full_verb(r, clause)


def _after_helper(r: Reading, clause: Clause) -> list[Edit]:
    """*Not* after the first auxiliary, or after the subject that follows it: *did he not go*."""
    at = clause.carrier
    if r.low(at) in ("ca", "wo", "sha", "ai"):
        return []
    turned = [j for j in subjects(r, clause.verb) if at < j < clause.verb]
    if turned:
        at = max(j for j in r.below(turned[0]) if j < clause.verb)
        return [r.after(at, " not")]
    if r.low(at) in DO and not any(j < at for j in subjects(r, clause.verb)) and clause.verb > at + 1:
        return [r.after(clause.verb - 1, " not")]
    at = _skipped(r, at)
    return [r.after(at, "not" if r.low(at) == "can" and at == clause.carrier else " not")]


def _skipped(r: Reading, at: int) -> int:
    while r.low(at + 1) in _BEFORE_NOT:
        at += 1
    return at


def _after_be(r: Reading, clause: Clause, span: tuple[int, int]) -> list[Edit]:
    verb = clause.verb
    after = [j for j in subjects(r, verb) if j > verb and r.words[j].role != "expl"]
    if r.low(span[1] - 1) == "?" and after:
        end = max(r.below(after[0]))
        return [r.after(end if r.low(end + 1) != "?" else verb, " not")]
    if r.children(verb, "expl") and _bare(r, verb):
        return [r.after(verb, " no")]
    return [r.after(_skipped(r, verb), " not")]


def _bare(r: Reading, verb: int) -> bool:
    """True where a noun without determiner or number follows: *there was evidence*."""
    found = [j for j in r.children(verb, "attr", "nsubj") if j > verb and r.tag(j) in ("NN", "NNS")]
    if not found:
        return False
    noun = found[0]
    before = [j for j in r.below(noun) if j < noun]
    plain = all(r.words[j].role in ("amod", "compound") and r.tag(j) in ("JJ", "NN", "NNP") for j in before)
    return (
        plain and min([noun, *before]) == verb + 1 and r.low(verb + 1) not in _AMOUNTS and r.low(noun) not in _AMOUNTS
    )


_AMOUNTS = frozenset(
    "many much few fewer more less several plenty lots enough other such none nothing something".split()
)


def _full_verb(r: Reading, clause: Clause) -> list[Edit]:
    """*Went* becomes *did not go*; nothing where the subject stands behind the verb (*said the man*)."""
    verb, plain = clause.verb, base(r, clause)
    if not plain or any(j > verb for j in subjects(r, verb)) or r.low(verb) in ("thank", "please"):
        return []
    helper = f"{_DO[clause.form]} not"
    before = r.low(verb - 1)
    manner = before.endswith("ly") and r.tag(verb - 1) == "RB" and before not in _BEFORE_NOT
    if (before in _BEFORE_DO or manner) and r.words[verb - 1].head == verb and clause.form != "IMP":
        adverb = r.words[verb - 1]
        return [Edit(adverb.start, adverb.start, f"{helper} "), r.replace(verb, plain)] if adverb.text.islower() else []
    return [r.replace(verb, f"{helper} {plain}")]


def _negate(text: str, strength: float, random: Random, beside: Beside) -> Outcome:
    r = read(text)
    if isinstance(r, Refused):
        return r
    ways = [edits for span in r.sentences if (edits := negation(r, span))]
    share = min(1.0, strength * len(r.sentences) / len(ways)) if ways else strength
    return edited(
        text, [edit for way in some(ways, share, random) for edit in way], "no finite verb that can be negated"
    )


NEGATION = Noise(
    name="negated-sentences",
    family="negated",
    label="Negation",
    aspect="consistency",
    paper="He et al. 2023, Table 16",
    help="Random sentences are negated, each at one verb of a main clause; a sentence that is negative already loses its negation. "
    "Strength: the share of all sentences; those without a finite verb cannot be negated",
    make=_negate,
    levels=LEVELS,
    version=3,
    models=reader,
)
