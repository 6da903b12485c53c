"""Short lists of names by kind. Common words and names of several kinds are left out."""

from __future__ import annotations

MEN = """James John Robert Michael William David Richard Joseph Thomas Charles Daniel Matthew Anthony Donald Steven Paul
Andrew Joshua Kenneth Kevin Brian George Edward Ronald Timothy Jeffrey Ryan Jacob Nicholas Eric Jonathan Stephen Larry
Justin Scott Brandon Benjamin Samuel Gregory Patrick Alexander Jack Dennis Jerry Tyler Aaron Peter Adam Nathan Henry
Douglas Zachary Kyle Noah Ethan Jeremy Walter Christian Keith Roger Terry Austin Sean Gerald Carl Harold Dylan Arthur
Lawrence Jesse Bryan Joe Billy Bruce Gabriel Logan Albert Willie Alan Eugene Russell Vincent Philip Bobby Johnny
Bradley Tony Vladimir Boris Nicolas Jacques François Emmanuel Gerhard Helmut Hans Klaus Wolfgang Jürgen Stefan
Martin Simon Ben Tom Jim Tim Mike Steve Dave Bob Barack Ronald Bernie Joseph Fernando Carlos Luis José Juan Pedro Pablo Miguel Marco Mario Giuseppe
Giovanni Antonio Silvio Matteo Igor Ivan Sergei Dmitri Mikhail Yuri Oleg Viktor Andrei Alexei Pavel Jan Lech Václav
Mohammed Muhammad Ahmed Ali Hassan Hussein Mahmoud Omar Yusuf Ibrahim Hamid Benjamin Shinzo Hugo Felipe Tariq Kofi
Nelson Robert Desmond Oscar Leon Felix Otto Fritz Karl Ludwig Friedrich Albert Stephen Geoff Gordon Neil Colin Nigel
Craig Stuart Graham Trevor Derek Duncan Ian Owen Liam Connor Declan Gareth Rhys""".split()
WOMEN = """Mary Patricia Jennifer Linda Elizabeth Barbara Susan Jessica Sarah Karen Lisa Nancy Betty Margaret Sandra Ashley
Kimberly Emily Donna Michelle Carol Amanda Dorothy Melissa Deborah Stephanie Rebecca Laura Sharon Cynthia Kathleen Amy
Angela Shirley Anna Brenda Pamela Emma Nicole Helen Samantha Katherine Christine Debra Rachel Carolyn Janet Catherine
Maria Heather Diane Ruth Julie Olivia Joyce Virginia Victoria Kelly Lauren Christina Joan Evelyn Judith Megan Andrea
Cheryl Hannah Jacqueline Martha Gloria Teresa Ann Sara Madison Frances Kathryn Janice Jean Abigail Alice Julia Judy
Sophia Denise Amber Doris Marilyn Danielle Beverly Isabella Theresa Diana Natalie Brittany Charlotte Marie Kayla
Alexis Lori Hillary Ursula Ingrid Heike Petra Claudia Monika Sabine Birgit Greta Astrid Simone Françoise Brigitte
Camille Chloé Giulia Francesca Lucia Elena Olga Tatiana Natasha Svetlana Irina Fatima Aisha Leila Yasmin Indira
Benazir Theresa Angelina Condoleezza Michelle Kate Jane Anne Lucy Fiona Siobhan Bridget Louise Zoe Chloe Ella""".split()
SURNAMES = """Smith Johnson Williams Jones Davis Miller Wilson Anderson Taylor Thomas Moore Jackson Thompson Harris Clark
Lewis Robinson Walker Allen Wright Scott Nguyen Torres Nelson Mitchell Campbell Roberts Carter Phillips Evans Turner
Parker Edwards Collins Stewart Morris Murphy Rogers Morgan Peterson Cooper Reed Bailey Kelly Howard Richardson Watson
Brooks Sanders Bennett Hughes Myers Foster Powell Sullivan Russell Henderson Coleman Simmons Patterson Jordan Reynolds
Hamilton Graham Wallace Fischer Weber Schneider Becker Hoffmann Wagner Keller Richter Krüger Hartmann Lange Dubois
Moreau Laurent Lefebvre Fontaine Rossi Ferrari Esposito Romano Colombo Ricci Garcia Martinez Lopez Gonzalez Perez
Sanchez Ramirez Silva Santos Oliveira Costa Novak Kowalski Nowak Ivanov Petrov Volkov Popov Sokolov Tanaka Suzuki
Yamamoto Watanabe Kim Chen Wang Zhang Liu Singh Patel Khan Sharma Hansen Nielsen Larsen Andersson Lindqvist Jansen""".split()
COUNTRIES = """France Germany Italy Spain Portugal Greece Poland Hungary Austria Belgium Denmark Sweden Norway Finland Iceland
Ireland Switzerland Bulgaria Romania Croatia Serbia Slovenia Slovakia Albania Estonia Latvia Lithuania Ukraine Russia
Belarus Moldova Japan China India Pakistan Bangladesh Nepal Thailand Vietnam Malaysia Indonesia Singapore
Cambodia Myanmar Burma Australia Canada Mexico Brazil Argentina Chile Peru Colombia Venezuela Ecuador Bolivia
Uruguay Paraguay Cuba Egypt Libya Tunisia Algeria Morocco Nigeria Ghana Kenya Ethiopia Somalia Sudan Uganda Tanzania
Zambia Zimbabwe Mozambique Angola Namibia Botswana Senegal Mali Niger Rwanda Israel Lebanon Syria Iraq Iran Kuwait
Qatar Yemen Oman Afghanistan Kazakhstan Uzbekistan Mongolia Taiwan Armenia Azerbaijan Cyprus Malta Luxembourg Britain
Scotland Wales England""".split()
CITIES = """Berlin London Madrid Rome Vienna Athens Lisbon Dublin Brussels Amsterdam Copenhagen Stockholm Oslo Helsinki Warsaw
Prague Budapest Bucharest Sofia Belgrade Zagreb Moscow Kiev Kyiv Minsk Istanbul Ankara Cairo Tunis Algiers Lagos Nairobi
Johannesburg Tehran Baghdad Damascus Beirut Jerusalem Riyadh Dubai Delhi Mumbai Karachi Dhaka Bangkok Hanoi Jakarta Manila
Beijing Shanghai Seoul Tokyo Osaka Sydney Melbourne Toronto Montreal Vancouver Chicago Boston Dallas Denver Seattle
Atlanta Miami Detroit Philadelphia Baltimore Munich Hamburg Frankfurt Cologne Stuttgart Leipzig Dresden Zurich Geneva
Milan Naples Turin Barcelona Seville Marseille Lyon Toulouse Manchester Liverpool Birmingham Glasgow Edinburgh Leeds
Bristol Kabul Islamabad Caracas Bogotá Lima Havana Santiago""".split()
ORGANISATIONS = """Google Microsoft Facebook Twitter Samsung Sony Toyota Honda Volkswagen BMW Siemens Bosch Nokia Ericsson Boeing
Airbus Walmart Tesco IKEA Nestlé Unilever Pfizer Bayer Novartis Shell BP Exxon Chevron Gazprom Lufthansa Ryanair Netflix
Reuters Bloomberg UNESCO UNICEF Greenpeace Interpol Tesla Intel IBM HSBC Barclays Citigroup""".split()
TITLES = frozenset(
    """mr. mrs. ms. dr. prof. president chancellor minister senator sen. gov. governor secretary judge king queen prince
    princess pope general gen. captain professor chairman mayor congressman congresswoman sir lady lord coach manager
    actor actress singer detective officer justice""".split()
)
