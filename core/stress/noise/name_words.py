"""Words that tell what a capitalised name is, by what they tell. For `core.stress.noise.named`."""

from __future__ import annotations

from typing import Literal

from core.stress import known_names as known
from core.stress import lists

Kind = Literal["person", "place", "organisation", ""]

TIMES = frozenset(
    """monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september
    october november december jan feb mar apr jun jul aug sept sep oct nov dec christmas easter ramadan halloween thanksgiving
    spring summer autumn winter jan. feb. mar. apr. aug. sept. sep. oct. nov. dec. gmt bst est pst am pm""".split()
)
NO_NAMES = frozenset(
    "i tv dvd cd id ceo dna hiv pc ufo god lord no world internet mp mps url faq ok ii iii iv x thought".split()
)
TITLES = known.TITLES | {
    "mr", "mrs", "ms", "dr", "prof", "gen", "sen", "gov", "capt", "prime", "vice", "chief", "sgt", "lt", "father", "mother",
    "archbishop", "bishop", "count", "duke", "duchess", "boss", "pm",
}  # fmt: skip
ROLES = (
    frozenset(lists.PERSONS) | known.TITLES | frozenset("boss captain wife husband star chief mum dad pupil".split())
)
PLACES = frozenset(known.COUNTRIES) | frozenset(known.CITIES)
MORE_PLACES = frozenset(
    """U.S. US USA U.S.A. U.K. UK America Europe Asia Africa Antarctica Arctic Atlantic Pacific California Texas Florida Ohio
    Oregon Iowa Pennsylvania Wisconsin Michigan Illinois Arizona Nevada Utah Colorado Virginia Georgia Alabama Mississippi
    Louisiana Kansas Oklahoma Minnesota Massachusetts Connecticut Maryland Hawaii Alaska Kentucky Tennessee Indiana Missouri
    Nebraska Washington Paris Siberia Yorkshire Essex Kent Sussex Surrey Cornwall Lancashire Hollywood Manhattan Brooklyn
    Wembley Gaza Crimea Sicily Jamaica Wales""".split()
)
KNOWN = PLACES | MORE_PLACES | frozenset((*known.MEN, *known.WOMEN, *known.SURNAMES, *known.ORGANISATIONS))
PLACE_FIRST = frozenset(
    "st. mt. ft. north south east west new los las san santa lake mount fort port saint st costa cape rio".split()
)
PLACE_LAST = frozenset(
    """street road avenue lane river lake island islands county city park airport mountain mountains bridge square beach bay
    stadium valley sea ocean republic states kingdom emirates house hall palace township town village province hills heights
    castle cathedral zoo museum theatre theater hotel tower centre center station oval arena midlands coast district velodrome
    northwest northeast southwest southeast prison jail""".split()
)
ORGANISATION_WORDS = frozenset(
    """university college school institute academy company co co. inc inc. corp corp. corporation ltd ltd. plc bank group party
    council committee association federation club fc utd united rovers wanderers athletic department ministry police army navy
    force forces church court union agency service services news times post foundation commission senate congress parliament
    board bureau office government network networks airlines airways hospital society organisation organization team
    trust authority journal magazine guardian villa wednesday""".split()
)
ALSO_FIRST = frozenset(
    "Harry Mark Will Bill Frank Grant Rob Pat Drew Dean Nick Chuck Sue Rich Ray Joy Grace Hope Dawn Jay".split()
)
"""First names that are also words: names where another capital follows."""
NEVER = ("DT", "IN", "CC", "PRP", "PRP$", "MD", "TO", "WP", "WRB", "WDT", "EX", "CD", "UH", "RB", "JJ", "JJR", "JJS")
PEOPLES = frozenset(
    "welsh french dutch greek swiss german thai iraqi israeli pakistani saudi czech arab turk turkish".split()
)
PEOPLE_ENDINGS = ("ish", "ese", "ian", "ean", "ican")
EVENTS = frozenset(
    "cup league liga open championship championships games olympics award awards prize war act festival".split()
)
SAY = frozenset("said says told tells added adds admitted admits claimed claims tweeted insisted insists".split())
DIRECTIONS = frozenset("north south east west central northern southern eastern western inner outer downtown".split())
HEADS: dict[str, Kind] = {
    **dict.fromkeys(ROLES, "person"),
    **dict.fromkeys(
        "club company firm group team newspaper airline charity party giant giants bank".split(), "organisation"
    ),
    **dict.fromkeys(
        "city town village state island suburb resort river district county country nation".split(), "place"
    ),
}
ROLE_ENDINGS = ("er", "or", "ist", "ian", "man", "woman")
NO_ROLES = frozenset("summer winter september october number order matter paper weather member".split())
CLOSING = frozenset(("'", "''", "’", "”", '"', ")"))
JOINERS = frozenset("of de van der la du bin al di da von &".split())
