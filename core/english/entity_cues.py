"""Lists of names by kind, from `names.toml`, and words that indicate the kind of a capitalised name."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Literal

from core.english import word_groups

EntityKind = Literal["person", "place", "organisation", ""]

_LISTS = tomllib.loads((Path(__file__).parent / "names.toml").read_text(encoding="utf-8"))


def names(kind: str) -> list[str]:
    """Return the names of a list in their order. Names of several words are separated by `|` in the file."""
    text = str(_LISTS[kind])
    return [name.strip() for name in text.split("|")] if "|" in text else text.split()


MEN = names("men")
WOMEN = names("women")
SURNAMES = names("surnames")
COUNTRIES = names("countries")
CITIES = names("cities")
ORGANISATIONS = names("organisations")
PLAIN_TITLES = frozenset(
    """mr. mrs. ms. dr. prof. president chancellor minister senator sen. gov. governor secretary judge king queen prince
    princess pope general gen. captain professor chairman mayor congressman congresswoman sir lady lord coach manager
    actor actress singer detective officer justice""".split()
)

TIMES = frozenset(
    """monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays sundays
    january february march april may june july august september october november december jan feb mar apr jun jul aug sept sep
    oct nov dec christmas easter ramadan halloween thanksgiving spring summer autumn winter jan. feb. mar. apr. aug. sept. sep.
    oct. nov. dec. gmt bst est pst edt pdt am pm""".split()
)
NO_NAMES = frozenset(
    """i tv dvd cd id ceo dna hiv aids pc ufo god lord no world internet mp mps url faq ok ii iii iv x thought gps mri ct ivf usb
    atm diy rip vip phd gcse gdp pr hr it op dj mc suv gi lgbt abc aka asap btw cctv pin iq bmi ptsd adhd std sos pdf
    olympic olympics photo video watch click scroll read share exclusive breaking update live news here today caption alert spoiler""".split()
)
TITLES = PLAIN_TITLES | {
    "mr", "mrs", "ms", "miss", "dr", "prof", "gen", "sen", "gov", "capt", "prime", "vice", "chief", "sgt", "lt", "father", "mother",
    "archbishop", "bishop", "duke", "duchess", "boss", "pm", "dame", "rev", "rev.", "sgt.", "lt.", "capt.", "col", "col.", "pc",
    "sheriff", "detective", "inspector", "superintendent", "constable", "colonel", "sergeant", "lieutenant", "rep.", "dj",
}  # fmt: skip
ROLES = (
    frozenset(word_groups.PERSONS) | PLAIN_TITLES
    | frozenset(
        """boss captain wife husband star chief mum mom dad pupil son daughter brother sister mother father skipper forward
        winger midfielder striker goalkeeper keeper defender playmaker pundit legend frontman girlfriend boyfriend fiancee
        fiance spokesman spokeswoman congressman senator model veteran activist ace mate teammate cousin uncle aunt pm
        broadcaster presenter designer columnist photographer surgeon psychologist novelist poet""".split()
    )
)  # fmt: skip
PLACES = frozenset((*COUNTRIES, *CITIES, *names("more-places")))
LONG_PLACES = frozenset(names("long-places"))
TEAMS = frozenset(names("teams"))
"""Clubs, most of which share their name with a place or common word: never certain to be a place."""
LONG_TEAMS = frozenset(names("long-teams"))
FAMOUS = frozenset(names("famous"))
KNOWN = (
    PLACES | FAMOUS | TEAMS
    | frozenset((*MEN, *WOMEN, *SURNAMES, *ORGANISATIONS))
)  # fmt: skip
PLACE_FIRST = frozenset(
    "st. mt. ft. north south east west new los las san santa lake mount fort port saint st costa cape rio".split()
)
PLACE_LAST = frozenset(
    """street road avenue lane river lake island islands county city park airport mountain mountains bridge square beach bay
    stadium valley sea ocean republic states kingdom emirates house hall palace township town village province hills heights
    castle cathedral zoo museum theatre theater hotel tower centre center station oval arena midlands coast district velodrome
    northwest northeast southwest southeast prison jail land peninsula
    highway freeway parkway expressway boulevard motorway creek falls trail""".split()
)
CLUB_LAST = frozenset(
    """united city town county villa palace albion athletic rovers wanderers hotspur wednesday rangers fc afc utd
    saints tigers eagles hornets bears lions""".split()
)
"""Last words of club names; some also end names of places."""
ORGANISATION_WORDS = frozenset(
    """university college school institute academy company co co. inc inc. corp corp. corporation ltd ltd. plc bank group party
    council committee association federation club fc afc utd rovers wanderers athletic department ministry police army navy
    force forces court union agency service services times post foundation commission senate congress parliament
    board bureau office government network networks airlines airways hospital society organisation organization
    trust authority journal magazine guardian telegraph tribune gazette herald inquiry orchestra church
    laboratory industries motors holdings technologies systems partners media records pictures studios entertainment
    league""".split()
)
FIRST_NAMES = frozenset((*MEN, *WOMEN, *names("more-first-names")))
ALSO_FIRST = frozenset(
    "Harry Mark Will Bill Frank Grant Rob Pat Drew Dean Nick Chuck Sue Rich Ray Joy Grace Hope Dawn Jay Jack".split()
)
"""First names that are also words: names if another capitalised word follows."""
DOUBLE_FIRST = frozenset(
    """Chelsea Georgia Virginia Austin Charlotte Orlando Milan Jordan Sofia Paris Morgan Memphis Preston Victoria Mercedes Wayne Kent
    Madison Sydney Roman Christian Inter Kelly Carter Santiago Leon Lewis Scott Stanley Winston Taylor Penny Angel Louis Max
    Holly Lance Miles Don Kim Lee Robin Violet Troy Tyler Logan Dale Ashley Brandon""".split()
)
"""First names that also start names of places and companies."""
PEOPLES = frozenset(
    "welsh french dutch greek swiss german thai iraqi israeli pakistani saudi czech arab turk turkish".split()
)
PEOPLE_ENDINGS = ("ish", "ese", "ian", "ean", "ican")
EVENTS = frozenset(
    """cup league liga open championship championships games olympics award awards prize war act festival show day week
    tour series trophy grand final finals race marathon derby bowl masters fest conference summit""".split()
)
SAY = frozenset(
    "said says told tells added adds admitted admits claimed claims tweeted insisted insists revealed reveals wrote".split()
)
ALIASES = {
    short: whole
    for whole, names in {
        "barcelona": "barca|fc barcelona", "juventus": "juve", "tottenham": "spurs|tottenham hotspur", "manchester city": "man city|city",
        "manchester united": "man united|man utd|united", "inter": "inter milan", "us": "u.s.|usa|u.s.a.|united states|america",
        "uk": "u.k.|united kingdom|britain|great britain", "atletico": "atletico madrid", "isis": "islamic state|isil", "holland": "netherlands",
        "paris saint-germain": "psg", "bayern": "bayern munich", "west brom": "west bromwich albion|bromwich albion",
        "leicester": "leicester city", "hull": "hull city", "newcastle": "newcastle united",
    }.items()
    for short in names.split("|")
}  # fmt: skip
"""Short and alternative names mapped to one form, in lower case."""
MEDIA = frozenset("Twitter Facebook Instagram YouTube Snapchat WhatsApp Whatsapp LinkedIn Spotify MailOnline".split())
"""Companies whose names mostly stand for what they publish (on Facebook)."""
HOUSES = frozenset(
    "hospital zoo museum prison jail theatre theater church school hotel station airport centre center".split()
)
"""Last words of names of buildings, which are organisations when they act."""
NO_ACTS = frozenset(
    """is are was were be been being has have had become became remains remained lies lay stands stood sits covers covered includes
    included contains contained borders bordered gets got got seems seemed""".split()
)
"""Verbs whose subject need not be an agent."""
DIRECTIONS = frozenset("north south east west central northern southern eastern western inner outer downtown".split())
HEADS: dict[str, EntityKind] = {
    **dict.fromkeys(ROLES, "person"),
    **dict.fromkeys("company firm newspaper airline charity retailer broadcaster giant giants".split(), "organisation"),
    **dict.fromkeys("suburb".split(), "place"),
}
ROLE_ENDINGS = ("er", "or", "ist", "ian", "man", "woman")
NO_ROLES = frozenset(
    """summer winter september october number order matter paper weather member computer newspaper letter dinner
    power tower river water other factor sector motor tractor corner former never over under after winter border quarter
    chapter character master center semester disaster minister-elect error floor door mirror colour color honor labour""".split()
)
JOINERS = frozenset("of de van der la du bin al di da von dos del den ten & ibn el".split())
SPORT = frozenset(
    """goal goals striker midfielder league club clubs match matches season cup defender game games win beat coach squad fixture
    side team teams players player football rugby cricket tennis boxing title manager scored winger goalkeeper qualifier
    finals champions championship score defeat victory draw wicket wickets innings runs bowled batsman bowler""".split()
)
"""Words of sports texts, in which the name of a city or country may be its team."""
