"""Detect points that do not end a sentence: after titles and other abbreviations, initials, acronyms and ordinals of several languages.

The lists ignore case; the case of the word decides between them. If an abbreviation is also an ordinary word that can end a sentence in
some language, it counts as one only because of its capital, a following number or the word before it.
"""

from __future__ import annotations

import re

from core.text.words import is_unspaced

ALWAYS = frozenset(
    """
    atty dr drs messrs mlle mme mr mrs prof sgt vs viz
    bzgl bzw dipl dr-ing evtl frl ggf inkl sog vgl zzgl hrsg
    dña profa sr sra srta sres
    dott dssa egr sigg spett
    dhr jkvr mevr
    éd
    mgr mudr judr phdr rndr inż ks płk ul woj
    акад доц обл пл пос проф св ул
    डॉ श्री श्रीमती पं सुश्री
    ডঃ ড মোঃ
    د أ
    """.split()
)
"""Never at the end of a sentence, in any case: not ordinary words in any language."""

TITLES = frozenset(
    """
    adm capt cdr cmdr cpl ft gov insp lt ms msgr mt mx ph pvt reps sens st supt wm
    ing str exc fca ilmo lic ir mw bd cand sigra ssa
    """.split()
)
"""Never at the end of a sentence if written with a capital, or in a text without capitals."""

ALSO_WORDS = frozenset("av brig col det dra fil gen hon maj rep rev sen sig ste sto".split())
"""Titles if capitalised (Det. Smith) before a word that rarely begins a sentence; otherwise ordinary words: Swedish det, sen and sig,
German Gen, French col, Polish maj."""

AFTER = {
    "al": frozenset({"et"}),
    "dra": frozenset({"a", "da", "la", "una"}),
    "hab": frozenset({"dr"}),
    "sig": frozenset({"al", "dal", "del", "il", "un"}),
}
"""Lower-case abbreviations only after these words."""

BEFORE_SMALL = frozenset("bd blz bl ca env est ex ft hab st str гр им кап пр см ср".split())
"""Abbreviations before a lower-case word (in a text with capitals) or a number."""

MAY_END = frozenset(
    """
    approx assn ave bldg blvd bros cf co corp dept dist div esp etc inc intl jr ltd mfg natl plc sr univ
    usw u.a etw usf tel
    etcétera cía admón aprox avda ud uds vd vds
    ecc pag
    enz bijv
    atd apod např tzv tj mj itd itp tzn m.in np zob
    osv bl.a fx f.eks p.g.a t.ex
    др пр руб тыс млн млрд напр г гг вв р рр
    """.split()
)
"""Abbreviations that may end a sentence: they do before a word that often begins sentences."""

NAMES = frozenset("ave co corp ud vd vds".split())
"""Those of `MAY_END` that need a capital: in lower case they are words (Danish ud, Swedish vd, Polish co, Romanian corp)."""

BEFORE_NUMBERS = frozenset(
    """
    abs art arts ch chap eq fig figs no nos nr núm num n n° p pg pp sec sect vol vols abb kap tab bd st cap pág págs
    jan feb mar apr jun jul aug sep sept oct nov dec okt dez janv févr avr juil déc ene abr dic gen mag giu lug ott
    рис стр табл ст с д п т
    """.split()
)
"""Abbreviations before a number."""

MONTHS = frozenset(
    """
    januar jänner februar märz april mai juni juli august september oktober november dezember
    februari maart mei augustus december januari marts maj
    ledna února března dubna května června července srpna září října listopadu prosince
    stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października grudnia
    január február március április május június július augusztus szeptember október
    siječnja veljače ožujka travnja svibnja lipnja srpnja kolovoza rujna studenoga prosinca
    tammikuuta helmikuuta maaliskuuta huhtikuuta toukokuuta kesäkuuta heinäkuuta elokuuta syyskuuta lokakuuta
    marraskuuta joulukuuta
    jahrhundert jahrhunderts weltkrieg weltkriegs
    """.split()
)
"""Words after the ordinal of a date or century in languages that write ordinals with a point."""

STARTERS = frozenset(
    """
    a according after again all also although among an and another as at because before both but by despite during each even every few for from he her here his how
    however i if in instead is it its just last later many meanwhile more most my no not now of on once one only or other our
    she since so some such that the their then there these they this those though to today two under until we what when where
    which while who why with yesterday yet you your
    aber als am auch auf aus bei da damit dann das dass dem den denn der des die dies diese dieser doch ein eine er es für hier
    ich ihr im in ist man mit nach nun nur seit sein seine sie sind so trotz über und unter vom von vor wann war was wegen wenn wer
    wie wir wo zu zum zur zwei
    après au aucun aussi avec ce cela ces cet cette comme dans de depuis des donc du elle elles en et il ils je la le les leur lors
    mais ne nous on ou où par pour pourtant quand que qui sa selon ses si son sous sur tout un une vous
    al algunos antes así aunque con cuando del desde después el ella ellos entonces era es esta este estos hay la las lo los
    mientras muchos ni no nos para pero por porque se según ser si sin sobre son su sus también todo tras un una y ya yo
    ao apesar as até com como da das depois do dos e ela ele eles em embora essa esse esta este eu foi isso mas na não no nos o os
    ou para por porque quando que se segundo sem são seu sua um uma
    alcuni anche che chi ci come con da dal del della di dopo dove ed egli erano essa gli ha i il ma mentre nel nella non per perché
    poi quando quello questa questo se secondo si sono ora tra tutti un una
    dat de deze die dit een en er het hij hun ik in maar met na niet nu om ook op te toen tot uit van voor waar want wat we zij zo
    а без в во все для его если есть и из или как когда кто мы на не но он она они оно от по после при с так также там то у хотя
    что это эта этот я
    """.split()
)
"""Words that often begin a sentence, and rarely a name after an abbreviation."""

_WORD = re.compile(r"[^\W_][^\s(\[{„“”«»\"]*$")
_NEXT = re.compile(r"[\s\"'“”„«»‘’(\[¿¡]*([^\W_]+(?:['’-][^\W_]+)*)")
_ACRONYM = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]{1,2}")
_LETTER = re.compile(r"(?<!\w)[^\W\d_]\.\s?$")
_BEFORE = re.compile(r"([^\W\d_]+)\.?\s$")
_NUMERAL = re.compile(r"\d{1,3}|[ivxlc]{1,6}|[a-z]", re.IGNORECASE)


def ends_no_sentence(text: str, start: int, end: int, sentence: int, small: bool = False) -> bool:
    """Return whether the point in `text[start:end]` (with closing characters) belongs to an abbreviation, initial or ordinal.

    `sentence` is the start of the sentence; `small` means that the whole text has no capitals. Only a single point directly after a word
    and before a blank can be one.
    """
    if end - start != 1 or start == 0 or end >= len(text):
        return False
    before, after = _WORD.search(text[max(sentence, start - 24) : start]), _NEXT.match(text, end)
    if before is None or after is None or is_unspaced(before[0][-1]):
        return False
    word, following = before[0], after[1]
    if inside := [i for i, char in enumerate(word) if is_unspaced(char)]:
        word = word[inside[-1] + 1 :]
    at, initial = start - len(word), len(following) == 1 and text[after.end() : after.end() + 1] == "."
    begins_text = text[sentence:start].strip() == word and not text[:sentence].strip(" ")
    if _NUMERAL.fullmatch(word) and (begins_text or at == 0 or text[at - 1] in "\n\r\u2028\u2029"):
        return True
    if word.isdecimal():
        return len(word) <= 2 and following.casefold() in MONTHS
    begins = following[0].isupper() and following.casefold() in STARTERS and not initial
    continues = following[0].islower() and not small
    bare, whole = word.casefold(), len(word) == 1 or not word.isupper()
    if _is_title(word, begins, small) and (whole or text[sentence:start].isupper()):
        return True
    if (
        bare in AFTER
        and (left := _BEFORE.search(text, max(sentence, at - 24), at))
        and left[1].casefold() in AFTER[bare]
    ):
        return not begins
    number = following[0].isdecimal()
    if (bare in BEFORE_NUMBERS and number) or (bare in BEFORE_SMALL and (number or continues)):
        return True
    if bare in MAY_END and (bare not in NAMES or small or word[0].isupper()):
        return not begins
    if len(word) == 1:
        return not begins and _is_letter(text, start, initial or continues)
    return not begins and bool(_ACRONYM.fullmatch(word))


def _is_title(word: str, begins: bool, small: bool) -> bool:
    bare = word.casefold()
    if bare in ALSO_WORDS:
        return word.istitle() and not begins
    return bare in ALWAYS or (bare in TITLES and (small or word[0].isupper()))


def _is_letter(text: str, start: int, continues: bool) -> bool:
    """Return whether a letter is an initial (a capital), or a lower-case letter next to others (z. B., u. a.) or before a continuation."""
    word = text[start - 1]
    if word.isupper():
        before = text[max(0, start - 24) : start - 1].split()
        return not (word == "I" and before and before[-1].islower())
    return word.lower() != word.upper() and (continues or bool(_LETTER.search(text, max(0, start - 6), start - 1)))
