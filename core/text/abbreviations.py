"""Points that end no sentence: after titles and other abbreviations, initials, acronyms, and ordinals of several languages.

Words are compared without regard to case, so that texts in small letters are read alike. The lists hold what stands in news and
encyclopedias; a word that is also an ordinary word at the end of a sentence ("sat", "fig") is listed only before a number.
"""

from __future__ import annotations

import re

from core.text.words import is_unspaced

TITLES = frozenset(
    """
    adm atty brig capt cdr cmdr col cpl det dr drs gen gov hon insp lt maj messrs mlle mme mr mrs ms msgr mt mx ph prof
    pvt rep reps rev sen sens sgt st supt vs viz
    bzgl bzw ca dipl dr-ing evtl frl ggf ing inkl sog str vgl zzgl hrsg
    dña dra exc ilmo lic profa sr sra srta sto sres fca
    dott dssa egr gent sig sigg sigra ssa spett
    bl blz dhr drs ir jkvr mevr mr mw
    av bd chap env éd ste
    mgr mudr judr phdr rndr inż ks płk gen ul woj hab
    cand fil   
    акад гр доц им кап обл пл пос проф св см ср ул
    डॉ श्री श्रीमती पं सुश्री
    ডঃ ড মোঃ
    """.split()
)
"""Always followed by more of the sentence."""

MAY_END = frozenset(
    """
    al approx ex ft wm assn ave bldg blvd bros cf co corp dept dist div esp est etc inc intl jr ltd mfg natl plc sr univ
    usw u.a etw usf tel abs
    etcétera cía admón aprox avda ud uds vd vds
    ecc pag
    enz bijv
    atd apod např tzv tj mj itd itp tzn m.in np zob
    osv bl.a fx f.eks p.g.a t.ex
    др пр руб тыс млн млрд напр гг вв
    """.split()
)
"""May stand at the end of a sentence too: they end one before a word that often begins sentences."""

BEFORE_NUMBERS = frozenset(
    """
    art arts ch chap eq fig figs no nos nr núm num n° p pg pp sec sect vol vols abb kap tab bd st cap pág págs
    jan feb mar apr jun jul aug sep sept oct nov dec okt dez janv févr avr juil déc ene abr dic gen mag giu lug ott
    рис стр табл ст
    """.split()
)
"""Abbreviations where a number follows."""

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
"""What stands behind the ordinal of a date or century in languages that write ordinals with a point."""

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
"""Words that often begin a sentence, and seldom a name behind an abbreviation."""

_WORD = re.compile(r"[^\W_][^\s(\[{„“”«»\"]*$")
_NEXT = re.compile(r"[\s\"'“”„«»‘’(\[¿¡]*([^\W_]+(?:['’-][^\W_]+)*)")
_ACRONYM = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]{1,2}")
_NUMERAL = re.compile(r"\d{1,3}|[ivxlc]{1,6}|[a-z]", re.IGNORECASE)


def ends_no_sentence(text: str, start: int, end: int, sentence: int) -> bool:
    """Return whether the point in `text[start:end]` (with what closes behind it) belongs to an abbreviation, initial or ordinal.

    `sentence` is where the sentence began. Only a single point right behind a word, with blanks behind it, can be one.
    """
    if end - start != 1 or start == 0 or end >= len(text):
        return False
    before, after = _WORD.search(text[max(sentence, start - 24) : start]), _NEXT.match(text, end)
    if before is None or after is None or is_unspaced(before[0][-1]):
        return False
    word, following = before[0], after[1]
    if inside := [i for i, char in enumerate(word) if is_unspaced(char)]:
        word = word[inside[-1] + 1 :]
    bare, initial = word.casefold(), len(following) == 1 and text[after.end() : after.end() + 1] == "."
    begins = following[0].isupper() and following.casefold() in STARTERS and not initial
    if text[sentence:start].strip() == word and _NUMERAL.fullmatch(word) and not text[:sentence].strip(" "):
        return True
    if _begins_line(text, start - len(word)) and _NUMERAL.fullmatch(word):
        return True
    if word.isdecimal():
        return len(word) <= 2 and following.casefold() in MONTHS
    if bare in TITLES and (len(word) == 1 or not word.isupper() or text[sentence:start].isupper()):
        return True
    if bare in BEFORE_NUMBERS and following[0].isdecimal():
        return True
    if len(word) == 1:
        return not begins and not (word == "I" and _follows_small_word(text, start))
    if bare in MAY_END or _ACRONYM.fullmatch(word):
        return not begins
    return False


def _begins_line(text: str, at: int) -> bool:
    return at == 0 or text[at - 1] in "\n\r\u2028\u2029"


def _follows_small_word(text: str, start: int) -> bool:
    words = text[max(0, start - 24) : start - 1].split()
    return bool(words) and words[-1].islower()
