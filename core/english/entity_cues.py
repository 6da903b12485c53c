"""Words that indicate the kind of a capitalised name. For `core.english.entity_recognition`."""

from __future__ import annotations

from typing import Literal

from core.english import name_lists as known
from core.english import word_groups

EntityKind = Literal["person", "place", "organisation", ""]


def _names(written: str) -> frozenset[str]:
    """Return the names of a list whose entries are separated by `|`."""
    return frozenset(name.strip() for name in written.split("|"))


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
TITLES = known.TITLES | {
    "mr", "mrs", "ms", "miss", "dr", "prof", "gen", "sen", "gov", "capt", "prime", "vice", "chief", "sgt", "lt", "father", "mother",
    "archbishop", "bishop", "duke", "duchess", "boss", "pm", "dame", "rev", "rev.", "sgt.", "lt.", "capt.", "col", "col.", "pc",
    "sheriff", "detective", "inspector", "superintendent", "constable", "colonel", "sergeant", "lieutenant", "rep.", "dj",
}  # fmt: skip
ROLES = (
    frozenset(word_groups.PERSONS) | known.TITLES
    | frozenset(
        """boss captain wife husband star chief mum mom dad pupil son daughter brother sister mother father skipper forward
        winger midfielder striker goalkeeper keeper defender playmaker pundit legend frontman girlfriend boyfriend fiancee
        fiance spokesman spokeswoman congressman senator model veteran activist ace mate teammate cousin uncle aunt pm
        broadcaster presenter designer columnist photographer surgeon psychologist novelist poet""".split()
    )
)  # fmt: skip
PLACES = frozenset((*known.COUNTRIES, *known.CITIES)) | frozenset(
    """U.S. US USA U.S.A. U.K. UK America Europe Asia Africa Antarctica Arctic Atlantic Pacific California Texas Florida Ohio
    Oregon Iowa Pennsylvania Wisconsin Michigan Illinois Arizona Nevada Utah Colorado Virginia Georgia Alabama Mississippi
    Louisiana Kansas Oklahoma Minnesota Massachusetts Connecticut Maryland Hawaii Alaska Kentucky Tennessee Indiana Missouri
    Nebraska Washington Paris Siberia Yorkshire Essex Kent Sussex Surrey Cornwall Lancashire Hollywood Manhattan Brooklyn
    Wembley Gaza Crimea Sicily Jamaica Wales Idaho Montana Wyoming Maine Vermont Delaware Arkansas Queensland Victoria
    Tasmania Ontario Quebec Alberta Scotland Ireland Netherlands Turkey Jordan Chad Philippines Bahrain Haiti Fiji Samoa
    Sydney Perth Brisbane Adelaide Canberra Auckland Wellington Houston Phoenix Cleveland Pittsburgh Orlando Tampa
    Sacramento Oakland Nashville Memphis Charlotte Portland Austin Indianapolis Milwaukee Minneapolis Norfolk Suffolk Devon
    Dorset Somerset Hampshire Berkshire Oxfordshire Cambridgeshire Hertfordshire Cheshire Derbyshire Nottinghamshire
    Leicestershire Lincolnshire Merseyside Northumberland Cumbria Belfast Cardiff Swansea Aberdeen Dundee Nottingham Sheffield
    Leicester Coventry Plymouth Southampton Portsmouth Brighton Norwich Oxford Cambridge Bath York Bangalore Kolkata Chennai
    Lahore Aleppo Mosul Homs Kathmandu Rio Singapore Macau Tibet Xinjiang Kashmir Chechnya Catalonia Bavaria Tuscany""".split()
)
LONG_PLACES = _names(
    """New York|Los Angeles|San Francisco|San Diego|Las Vegas|United States|United Kingdom|New Zealand|South Africa|North Korea
    |South Korea|Hong Kong|Saudi Arabia|Sri Lanka|Costa Rica|Puerto Rico|New Jersey|New Mexico|North Carolina|South Carolina
    |West Virginia|Rhode Island|New Hampshire|North Dakota|South Dakota|New Orleans|St. Louis|Salt Lake City|San Antonio
    |San Jose|Buenos Aires|Sao Paulo|Rio de Janeiro|Tel Aviv|Abu Dhabi|New Delhi|Kuala Lumpur|Cape Town|Northern Ireland
    |Great Britain|El Salvador|Papua New Guinea|Czech Republic|Dominican Republic|New South Wales|Western Australia
    |South Australia|West Bank|Middle East|Gaza Strip|Silicon Valley|White House|Downing Street|Capitol Hill|Wall Street
    |Times Square|Central Park|Burkina Faso|Ivory Coast|Sierra Leone|San Juan|Santa Fe|Long Island|Staten Island
    |New England|North America|South America|Latin America|Central America|Eastern Europe|Soviet Union"""
)
TEAMS = frozenset(
    """Arsenal Everton Chelsea Tottenham Spurs Juventus Juve Barca Barcelona Celtic Rangers Fulham Benfica Ajax Sevilla Valencia
    Villarreal Dortmund Schalke Leverkusen Wolfsburg Napoli Roma Lazio Inter Milan Fiorentina Sampdoria Monaco PSG Porto
    Burnley Swansea Stoke Hull Sunderland Southampton QPR Middlesbrough Blackpool Wigan Watford Bournemouth Millwall
    Wolves Charlton Reading Ipswich Yankees Lakers Celtics Knicks Nets Bulls Warriors Spurs Heat Cavaliers Cavs Dodgers
    Giants Mets Cubs Packers Patriots Cowboys Broncos Seahawks Steelers Ravens Jets Dolphins Galatasaray Besiktas
    Fenerbahce Feyenoord Anderlecht Basle Basel Malaga Getafe Espanyol Torino Parma Udinese Palermo Genoa Atletico
    Wasps Saracens Harlequins Northampton Leicester Liverpool Manchester Newcastle Leeds""".split()
)
"""Clubs, most of which share their name with a place or common word: never certain to be a place."""
LONG_TEAMS = _names(
    """Real Madrid|Atletico Madrid|Crystal Palace|Aston Villa|West Ham|West Brom|Bayern Munich|Borussia Dortmund|AC Milan|Inter Milan
    |Paris Saint-Germain|Manchester United|Manchester City|Man United|Man City|Man Utd|Tottenham Hotspur|Celta Vigo|Real Sociedad
    |Red Bull|West Bromwich Albion|Queens Park Rangers|Nottingham Forest|Leeds United|Newcastle United|West Ham United|Leicester City
    |Stoke City|Hull City|Swansea City|Norwich City|Cardiff City|Bristol City|Sheffield Wednesday|Boca Juniors|River Plate
    |Athletic Bilbao|Sporting Lisbon|New York Yankees|Golden State|Orlando City|St Pauli|Bayer Leverkusen|Werder Bremen
    |Hertha Berlin|Hamburg SV|Derby County|Notts County|Preston North End|Bolton Wanderers|Wolverhampton Wanderers
    |Blackburn Rovers|Birmingham City|Coventry City|Ipswich Town|Luton Town|Sheffield United|Rotherham United"""
)
FAMOUS = frozenset(
    """BBC CNN ITV NBC CBS ESPN NASA NATO FIFA UEFA FBI CIA NHS NFL NBA NHL MLB UFC UKIP ISIS Isis Hamas Hezbollah Taliban Amazon
    YouTube Instagram Snapchat Whatsapp WhatsApp Uber Airbnb Spotify McDonald Starbucks Nike Adidas Audi Mercedes Ferrari
    Asda Sainsbury Morrisons Lidl Waitrose Primark Debenhams Interpol Europol Greenpeace Oxfam MailOnline Reuters
    Congress Parliament Pentagon Kremlin Senate Bundestag Xinhua Gazprom Huawei Lenovo LinkedIn PayPal eBay Qantas
    Lufthansa Germanwings""".split()
)
KNOWN = (
    PLACES | FAMOUS | TEAMS
    | frozenset((*known.MEN, *known.WOMEN, *known.SURNAMES, *known.ORGANISATIONS))
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
FIRST_NAMES = frozenset(known.MEN) | frozenset(known.WOMEN) | frozenset(
    """Abdul Abdullah Abraham Adele Adnan Adrian Aidan Alain Alastair Alex Alexandra Alfie Alfred Alison Allan Alvaro
    Amir Amit Anders Andre Andreas Andres Andrey Andy Ang Angel Angelo Angus Annie Annette Anton Antoine Ariana Ariel
    Arjen Arsene Asif Barry Beatrice Becky Benedict Bernard Bernardo Bert Beth Bethany Beyonce Bianca Bilal Blake
    Bonnie Brad Branislav Brendan Brent Brett Britney Bryce Caitlin Caitlyn Cameron Candice Carla Carly Caroline
    Carrie Casey Cassandra Cathy Cesar Cesc Chad Charlie Chelsea Chris Christopher Christoph Christophe Cindy Claire
    Claude Claudio Clive Clint Cody Conor Courtney Cristiano Curtis Damian Damien Dan Danny Dani Dario Darren Darryl
    Daryl Dawid Debbie Deepak Demi Diego Dimitar Dmitry Dominic Don Doug Dwayne Eddie Eden Edgar Edin Edinson Eduardo
    Edwin Eleanor Eli Elias Elijah Elisabeth Ellen Elliot Ellie Elton Emanuel Emile Emilia Emilio Enrique Erica Erik
    Erin Ernest Esteban Ethel Eva Evan Eve Fabio Faisal Farah Ferdinand Filip Finn Florian Frankie Franck Frederick
    Freddie Gabby Gabriela Gael Garth Gary Gavin Gemma Geoffrey Georgina Georgia Gerard Gianluigi Gina Giorgio Giovani
    Glen Glenn Greg Guillermo Gustavo Guus Gwyneth Hamza Harriet Harvey Hayley Heidi Helena Henri Henrik Herman Holly
    Howard Hugh Huma Iain Imran Ines Isaac Isabel Ismail Ivana Iker Jackie Jaime Jake Jamal Jamie Jared Jason Javier
    Jayden Jeb Jeff Jen Jenna Jennie Jenny Jeremiah Jerome Jessie Jill Jimmy Jo Joachim Joanna Joanne Joao Jodie Joel
    Joey Johan Johann Johannes Jon Jonas Jonny Jordi Jorge Jose Josep Josh Josephine Juliet Juliette Julian Jurgen
    Kaitlyn Kaka Kanye Karim Karina Katie Kathy Katy Kayleigh Keira Keisha Kelvin Ken Kendall Kenny Kerry Khalid Khloe
    Kieran Kim Kimberley Kirsty Kirk Kobe Kourtney Kris Kristen Kristin Kurt Kylie Lance Lara Lana Laurence Layla Leah
    Lee Lena Lennox Leo Leonard Leonardo Leroy Leslie Lewis Lily Lindsay Lindsey Lionel Lorraine Louis Luca Lucas
    Lucian Luigi Luka Lukas Luke Lydia Mabel Madeleine Maggie Malala Malcolm Malik Manny Manuel Marc Marcel Marcelo
    Marcus Margot Mariah Marian Mariana Marina Marion Marlene Marouane Marta Martina Martine Marvin Mats Matt Mauricio
    Maurice Max Maxim Maxine Mehmet Melanie Melinda Memphis Mercedes Mesut Mia Micah Mick Mickey Mikel Miles Milan
    Miley Milos Mindy Miranda Miriam Mitch Mitt Moeen Mohamed Mohammad Mohamad Molly Morgan Moses Moussa Mustafa Nadia
    Nadine Naomi Natalia Nate Neville Niall Nicki Nicky Nicola Niko Nikolai Nina Noel Nora Norman Novak Oliver Ollie
    Orlando Osama Ossie Paddy Paige Pascal Patrice Patrik Paula Pauline Peggy Penelope Penny Per Pete Phil Philippa
    Philippe Phillip Phoebe Pierre Pippa Polly Preston Priscilla Quentin Rafa Rafael Rahul Raheem Raj Ralph Ramiro
    Randy Raphael Raul Rashid Ravi Raymond Rebekah Reggie Regina Reginald Rene Rhonda Ricardo Ricky Rick Rihanna
    Riccardo Rita Robbie Roberta Roberto Robin Robyn Rod Roland Roman Romelu Ron Ronnie Rory Rosa Rosie Ross Roy Rudy
    Ruben Rupert Russ Sabrina Sadio Salman Sally Salma Sam Sami Samir Sandy Santi Sasha Saul Sebastian Selena Serena
    Serge Sergio Seth Shane Shannon Shaun Shauna Shaquille Sheila Shelley Sheryl Shinji Sidney Sienna Sinead Sofia
    Sonia Stan Stanley Stacey Stella Stephan Sunil Susanna Susannah Suzanne Sven Sylvia Tamara Tammy Tania Tanya Tara
    Tasha Taylor Ted Teddy Teemu Tessa Thabo Theo Thiago Thierry Tiffany Tina Tobias Toby Todd Tomas Tommy Toni Tracey
    Tracy Travis Tristan Troy Tyrone Tyson Ulrich Uma Usain Usman Valentina Valerie Vanessa Venus Vera Vernon Veronica
    Vicki Vicky Victor Vijay Vince Vincenzo Violet Vivian Vivienne Vlad Wayne Wendy Wesley Whitney Wilfred Wilfried
    Winston Xabi Xavi Xavier Yaya Yohan Yolanda Yvette Yvonne Zac Zach Zack Zara Zayn Zinedine Zlatan""".split()
)  # fmt: skip
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
CLOSING = frozenset(("'", "''", "’", "”", '"', ")"))
JOINERS = frozenset("of de van der la du bin al di da von dos del den ten & ibn el".split())
SPORT = frozenset(
    """goal goals striker midfielder league club clubs match matches season cup defender game games win beat coach squad fixture
    side team teams players player football rugby cricket tennis boxing title manager scored winger goalkeeper qualifier
    finals champions championship score defeat victory draw wicket wickets innings runs bowled batsman bowler""".split()
)
"""Words of sports texts, in which the name of a city or country may be its team."""
