"""Words grouped by what can replace them: same tag and frame, different meaning. A word is never replaced by a synonym."""

from __future__ import annotations

from collections.abc import Sequence


def opposites(written: str) -> dict[str, str]:
    """Return `word opposite|one = other` as a dictionary, with both directions of pairs joined by `=`."""
    found: dict[str, str] = {}
    for part in written.split("|"):
        word, *both_ways, opposite = part.split()
        found[word] = opposite
        if both_ways:
            found[opposite] = word
    return found


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
KINDS: tuple[Sequence[str], ...] = (PERSONS, THINGS, IDEAS)

NOUN_OPPOSITES = opposites("""winter summer|success failure|problem solution|man woman|boy girl|king queen|friend = enemy
|victory = defeat|war = peace|beginning end|increase = decrease|rise fall|profit = loss|wealth = poverty
|strength = weakness|buyer = seller|winner = loser|teacher student|husband = wife|father = mother|son = daughter
|brother = sister|uncle = aunt|advantage = disadvantage|arrival = departure|majority = minority|optimism = pessimism
|love = hatred|truth lie|export = import|employer = employee|actor = actress|demand supply|ally = rival|guest = host
|question = answer|friendship hostility|hope despair|freedom oppression|surplus = deficit|growth = decline
|benefit harm|thief victim""")

ADJECTIVES = """large small old young rich poor strong weak fast slow dark bright heavy light cheap expensive clean dirty
quiet loud famous unknown dangerous safe modern ancient simple complex popular unpopular beautiful ugly happy sad
generous greedy honest dishonest polite rude brave cowardly narrow wide shallow deep soft hard smooth rough wet dry
healthy sick thick thin clever stupid private public rare common serious cheerful temporary permanent foreign domestic
wooden golden blue green yellow purple royal rural urban northern southern secret delicate stubborn peaceful violent
lucky unlucky boring exciting useful useless fresh rotten ordinary strange colourful gloomy""".split()
PREDICATES = """large small old young rich poor strong weak slow cheap expensive clean dirty quiet loud famous unknown
dangerous safe modern ancient simple complex popular beautiful ugly happy sad generous honest rude brave rare common
boring exciting useful useless strange lucky healthy sick clever stupid empty full""".split()
ADJECTIVE_OPPOSITES = opposites("""large = small|big small|great tiny|tiny = huge|old = young|new old|rich = poor|wealthy poor
|strong = weak|powerful powerless|fast = slow|quick slow|dark = bright|heavy light|cheap = expensive|clean = dirty
|quiet = loud|famous unknown|dangerous = safe|modern = ancient|simple = complex|popular unpopular|beautiful = ugly
|happy = unhappy|sad happy|honest dishonest|polite = rude|brave cowardly|narrow = wide|broad narrow|shallow = deep
|soft = hard|smooth rough|wet = dry|healthy = sick|thick = thin|clever = stupid|private = public|rare = common
|temporary = permanent|foreign = domestic|rural = urban|northern = southern|eastern = western|peaceful = violent
|lucky unlucky|boring = exciting|useful = useless|fresh stale|ordinary strange|good = bad|positive = negative
|high = low|higher = lower|long = short|tall short|hot = cold|warm = cool|easy = difficult|possible = impossible
|true = false|legal = illegal|early = late|full = empty|open = closed|male = female|internal = external
|national = international|important unimportant|necessary = unnecessary|successful = unsuccessful|guilty = innocent
|effective ineffective|efficient inefficient|democratic undemocratic|visible invisible|fair = unfair
|responsible irresponsible|likely = unlikely|correct incorrect|wrong right|clear unclear|certain uncertain
|stable = unstable|wise foolish|liberal = conservative|major = minor|maximum = minimum|primary secondary
|active passive|alive = dead|armed unarmed|available unavailable|capable incapable|crucial unimportant
|essential unimportant|rapid slow|significant insignificant|sufficient insufficient|severe mild
|optimistic = pessimistic|interesting boring|terrible = wonderful|excellent awful|worse = better|best = worst
|larger = smaller|bigger smaller|older = younger|stronger = weaker|faster = slower|richer = poorer|longer = shorter
|wider narrower|greater smaller|cheaper dearer|largest = smallest|biggest smallest|oldest = youngest
|strongest = weakest|fastest slowest|richest = poorest|longest = shortest|highest = lowest|greatest smallest
|earliest latest|hottest = coldest|harder = easier""")

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
TRANSITIVE_OPPOSITES = opposites("""attack = defend|praise = criticise|criticize praise|destroy = build|repair = damage
|hide = display|love = hate|protect threaten|abandon protect|sell = buy|punish = reward|ruin = restore
|support = oppose|reject = accept|weaken = strengthen|reduce = increase|win = lose|demolish build|forget = remember
|capture = liberate|catch = miss|hire = dismiss|publish hide|ban = promote|confirm deny|cancel confirm
|simplify = complicate|improve = worsen|delay = accelerate|open = close|raise = lower|enter avoid|start = finish
|create destroy|condemn praise|encourage = discourage|reveal hide|include = exclude|approve reject|block allow
|gain lose|boost reduce|cut increase|admit deny|ignore heed|pass fail|defeat fear|undermine support|expand shrink
|save waste|borrow lend""")

SCALE_OPPOSITES = opposites(
    "increase = decrease|rise = fall|grow = shrink|climb fall|drop rise|decline grow|soar = plunge"
)
INTRANSITIVE = "sleep laugh cry smile wait disappear arrive travel hesitate suffer sing dance complain emerge".split()
INTRANSITIVE_OPPOSITES = opposites("""laugh = cry|arrive = depart|disappear = appear|emerge disappear|survive = die
|succeed fail|win lose""")
TO_VERBS = "want refuse decide fail plan promise forget hope agree hesitate offer threaten".split()
TO_OPPOSITES = opposites("""want refuse|refuse = agree|decide refuse|fail = manage|promise refuse|begin cease|start cease
|continue cease|forget = remember|hope fear""")
THAT_VERBS = "claim deny suggest doubt predict complain hope fear forget explain announce".split()
THAT_OPPOSITES = opposites(
    "deny = confirm|believe = doubt|think doubt|hope = fear|know doubt|admit deny|remember = forget"
)
