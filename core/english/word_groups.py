"""Words grouped by what can replace them: same tag and frame, different meaning. A word is never replaced by a synonym."""

from __future__ import annotations

PERSONS = """teacher doctor farmer lawyer nurse soldier student artist driver engineer singer pilot judge banker baker
sailor tailor poet waiter hunter neighbour tourist priest painter scientist carpenter dancer gardener mechanic plumber
musician actor author detective librarian merchant fisherman photographer dentist chef cyclist rider prisoner
journalist reporter manager player coach minister president senator officer worker customer patient child
woman man boy girl friend king queen mayor director critic expert voter investor""".split()
THINGS = """house bridge boat train table garden ladder hammer bicycle basket mirror painting letter lamp kettle statue
carpet blanket bottle castle fence ticket wheel tower road harbour tunnel engine cannon drum guitar piano novel
newspaper map candle ship car truck church museum library hospital school hotel factory tree flower river mountain
island valley forest lake field door window box photograph camera clock shirt coat hat knife""".split()
IDEAS = """tradition mistake promise joke song dream recipe lesson habit rumour miracle puzzle theory ritual festival
adventure quarrel accident discovery experiment secret legend strategy speech ceremony conflict disaster scandal
compromise reform crisis debate election policy problem solution project programme opportunity danger risk idea
decision agreement system method argument threat success failure""".split()
TIMES = "year month week day decade century".split()
SEASONS = "night summer winter weekend evening spring".split()
MASS = """water music furniture patience wisdom courage traffic weather rice sand dust steel gold oil coal milk salt
sugar bread honey cotton wood smoke noise sunshine rain poverty luck happiness anger silence electricity equipment
luggage knowledge beauty hunger wealth corruption unemployment inflation democracy""".split()
PLURAL_PERSONS = {"people": "persons"}
KINDS: tuple[tuple[str, ...], ...] = (tuple(PERSONS), tuple(THINGS), tuple(IDEAS))

NOUN_OPPOSITES = """winter summer|success failure|problem solution|man woman|boy girl|king queen|friend enemy
|enemy friend|victory defeat|defeat victory|war peace|peace war|beginning end|increase decrease|decrease increase|rise fall
|profit loss|loss profit|wealth poverty|poverty wealth|strength weakness|weakness strength|buyer seller|seller buyer
|winner loser|loser winner|teacher student|husband wife|wife husband|father mother|mother father|son daughter|daughter son
|brother sister|sister brother|uncle aunt|aunt uncle|advantage disadvantage|disadvantage advantage|arrival departure
|departure arrival|majority minority|minority majority|optimism pessimism|pessimism optimism|love hatred|hatred love
|truth lie|export import|import export|employer employee|employee employer|actor actress|actress actor|demand supply
|ally rival|rival ally|guest host|host guest|question answer|answer question|friendship hostility|hope despair
|freedom oppression|surplus deficit|deficit surplus|growth decline|decline growth|benefit harm|thief victim"""

ADJECTIVES = """large small old young rich poor strong weak fast slow dark bright heavy light cheap expensive clean dirty
quiet loud famous unknown dangerous safe modern ancient simple complex popular unpopular beautiful ugly happy sad
generous greedy honest dishonest polite rude brave cowardly narrow wide shallow deep soft hard smooth rough wet dry
healthy sick thick thin clever stupid private public rare common serious cheerful temporary permanent foreign domestic
wooden golden blue green yellow purple royal rural urban northern southern secret delicate stubborn peaceful violent
lucky unlucky boring exciting useful useless fresh rotten ordinary strange colourful gloomy""".split()
PREDICATES = """large small old young rich poor strong weak slow cheap expensive clean dirty quiet loud famous unknown
dangerous safe modern ancient simple complex popular beautiful ugly happy sad generous honest rude brave rare common
boring exciting useful useless strange lucky healthy sick clever stupid empty full""".split()
ADJECTIVE_OPPOSITES = """large small|big small|small large|great tiny|tiny huge|huge tiny|old young|young old|new old
|rich poor|poor rich|wealthy poor|strong weak|weak strong|powerful powerless|fast slow|slow fast|quick slow|dark bright
|bright dark|heavy light|cheap expensive|expensive cheap|clean dirty|dirty clean|quiet loud|loud quiet|famous unknown
|dangerous safe|safe dangerous|modern ancient|ancient modern|simple complex|complex simple|popular unpopular
|beautiful ugly|ugly beautiful|happy unhappy|unhappy happy|sad happy|honest dishonest|polite rude|rude polite|brave cowardly
|narrow wide|wide narrow|broad narrow|shallow deep|deep shallow|soft hard|hard soft|smooth rough|wet dry|dry wet
|healthy sick|sick healthy|thick thin|thin thick|clever stupid|stupid clever|private public|public private|rare common
|common rare|temporary permanent|permanent temporary|foreign domestic|domestic foreign|rural urban|urban rural
|northern southern|southern northern|eastern western|western eastern|peaceful violent|violent peaceful|lucky unlucky
|boring exciting|exciting boring|useful useless|useless useful|fresh stale|ordinary strange|good bad|bad good
|positive negative|negative positive|high low|low high|higher lower|lower higher|long short|short long|tall short|hot cold
|cold hot|warm cool|cool warm|easy difficult|difficult easy|possible impossible|impossible possible|true false|false true
|legal illegal|illegal legal|early late|late early|full empty|empty full|open closed|closed open|male female
|female male|internal external|external internal|national international|international national|important unimportant
|necessary unnecessary|unnecessary necessary|successful unsuccessful|unsuccessful successful|guilty innocent
|innocent guilty|effective ineffective|efficient inefficient|democratic undemocratic|visible invisible|fair unfair
|unfair fair|responsible irresponsible|likely unlikely|unlikely likely|correct incorrect|wrong right|clear unclear
|certain uncertain|stable unstable|unstable stable|wise foolish|liberal conservative|conservative liberal
|major minor|minor major|maximum minimum|minimum maximum|primary secondary|active passive|alive dead|dead alive
|armed unarmed|available unavailable|capable incapable|crucial unimportant|essential unimportant|rapid slow
|significant insignificant|sufficient insufficient|severe mild|optimistic pessimistic|pessimistic optimistic
|interesting boring|terrible wonderful|wonderful terrible|excellent awful|worse better|better worse|best worst|worst best
|larger smaller|smaller larger|bigger smaller|older younger|younger older|stronger weaker|weaker stronger|faster slower
|slower faster|richer poorer|poorer richer|longer shorter|shorter longer|wider narrower|greater smaller|cheaper dearer
|largest smallest|smallest largest|biggest smallest|oldest youngest|youngest oldest|strongest weakest|weakest strongest
|fastest slowest|richest poorest|poorest richest|longest shortest|shortest longest|highest lowest|lowest highest
|greatest smallest|earliest latest|hottest coldest|coldest hottest|harder easier|easier harder"""

TRANSITIVE = """attack praise destroy repair defend criticise hide display steal borrow burn paint admire hate love fear
ignore follow protect damage examine describe abandon rescue invade celebrate photograph measure clean sell buy visit
punish reward copy invent ruin restore support reject accept oppose welcome weaken strengthen reduce increase
win lose build demolish discover forget remember observe guard threaten insult betray embarrass entertain investigate
capture liberate catch miss hire dismiss publish ban finance sabotage avoid confirm deny cancel postpone simplify
complicate improve worsen delay accelerate open close raise lower enter start finish create condemn
exploit launch solve face produce seize spread""".split()
PLAIN_TRANSITIVE = frozenset(
    """provide represent achieve address adopt affect analyse analyze assess attract break carry cause challenge change choose
    combine complete control cover define deliver demonstrate design determine develop drive eat eliminate employ
    establish evaluate execute express fight fix form fuel generate handle hit hold honour honor identify implement
    influence kill limit maintain manage meet mention monitor obtain organise organize outline play promote pursue
    receive record reflect release replace resolve retain secure serve share shape sign stop strike study surround
    test track transform treat trigger undergo use violate witness write read drink arrest kidnap murder shoot wound
    injure rob film host chair found settle unveil overcome tackle combat preserve embrace dominate occupy conquer
    complement exceed resemble underestimate overestimate devote scrap revise draft sponsor spark provoke halt
    suspend double triple shut drop lift shake wash cook grow raise harm hurt bomb arm prosecute sue
    question interview consult contact beat crush chase""".split()
)
"""Transitive verbs that can be replaced but are poor replacements: too general, or common in fixed phrases."""
TRANSITIVE_OPPOSITES = """attack defend|praise criticise|criticise praise|criticize praise|destroy build|build destroy|repair damage|damage repair
|defend attack|hide display|display hide|love hate|hate love|protect threaten|abandon protect|sell buy|buy sell
|punish reward|reward punish|ruin restore|restore ruin|support oppose|oppose support|reject accept|accept reject
|weaken strengthen|strengthen weaken|reduce increase|increase reduce|win lose|lose win|demolish build
|forget remember|remember forget|capture liberate|liberate capture|catch miss|miss catch|hire dismiss|dismiss hire
|publish hide|ban promote|promote ban|confirm deny|cancel confirm|simplify complicate|complicate simplify
|improve worsen|worsen improve|delay accelerate|accelerate delay|open close|close open|raise lower|lower raise|enter avoid
|start finish|finish start|create destroy|condemn praise|encourage discourage|discourage encourage
|reveal hide|include exclude|exclude include|approve reject|block allow|gain lose|boost reduce|cut increase|admit deny
|ignore heed|pass fail|defeat fear|undermine support|expand shrink|save waste|borrow lend"""

SCALE = "increase decrease rise fall grow shrink".split()
SCALE_OPPOSITES = "increase decrease|decrease increase|rise fall|fall rise|grow shrink|shrink grow|climb fall|drop rise|decline grow|soar plunge|plunge soar"
INTRANSITIVE = "sleep laugh cry smile wait disappear arrive travel hesitate suffer sing dance complain emerge".split()
INTRANSITIVE_OPPOSITES = "laugh cry|cry laugh|arrive depart|depart arrive|disappear appear|appear disappear|emerge disappear|survive die|die survive|succeed fail|win lose"
TO_VERBS = "want refuse decide fail plan promise forget hope agree hesitate offer threaten".split()
TO_OPPOSITES = "want refuse|refuse agree|decide refuse|fail manage|manage fail|agree refuse|promise refuse|begin cease|start cease|continue cease|forget remember|remember forget|hope fear"
THAT_VERBS = "claim deny suggest doubt predict complain hope fear forget explain announce".split()
THAT_OPPOSITES = "deny confirm|confirm deny|believe doubt|doubt believe|think doubt|hope fear|fear hope|know doubt|admit deny|remember forget|forget remember"


def pairs(written: str) -> dict[str, str]:
    """Return `word opposite|word opposite` as a dictionary."""
    return dict(part.split() for part in written.replace("\n", " ").split("|"))
