"""Words of English that tell the same, as classes: the first of a line stands for all of them.

Words are written as a dictionary has them and are compared by their stems. A class holds only
what may stand for another in nearly every statement: what is merely alike is not the same.
"""

import re

from thalweg.facts.merging.statements.tables.rows import rows
from thalweg.words import fold

_CLASSES = """
like love enjoy adore fancy appreciate
dislike hate detest loathe
avoid shun
move relocate
start begin commence initiate
finish complete conclude
stop quit cease
buy purchase acquire
reside live dwell
job occupation profession
employer company workplace firm
work employed
child kid children kids
mother mom mum mommy
father dad daddy
parent parents
wife spouse husband
partner girlfriend boyfriend
sibling siblings
big large huge
small little tiny
quick fast rapid speedy
easy simple
hard difficult tough
short brief concise succinct terse compact
long lengthy
detailed thorough comprehensive elaborate in-depth extensive
answer reply response respond
email e-mail mail
phone telephone cellphone mobile smartphone
car automobile vehicle
bike bicycle cycle biking cycling
movie film
picture photo photograph image
tv television
apartment flat
house home
shop store
holiday vacation
autumn fall
city town
street road
doctor physician
lawyer attorney
teacher teach instructor educator
developer programmer coder
engineer engineering
physics physicist
meeting appointment standup sync
deadline due
study learn studying learning
read reading
write writing author
run running jog jogging
hike hiking trek trekking
swim swimming
exercise workout
gym fitness
sport sports
game gaming
music musical
song track
paint painting
draw drawing
cook cooking
bake baking
travel trip journey travelling visit visiting
visit visiting
speak talk
tell inform notify
show display
help assist
use utilize utilise employ
need require
want wish desire
plan intend planning
hope aspire
goal aim objective target
fix repair
build construct create make develop
begin start
end finish
favourite favorite
colour color
prefer preferred preference
daily everyday
weekly
monthly
yearly annually annual
morning mornings
evening evenings
night nights
weekend weekends
usually typically normally generally mostly regularly
often frequently
rarely seldom infrequently
allergy allergic
vegetarian veggie
vegan
diet dietary
fear afraid scared frightened
happy glad pleased
worried anxious nervous concerned
tired exhausted
ill sick unwell
pain ache hurt
surgery operation
medication medicine drug
illness disease
university uni college
school
degree diploma
phd doctorate doctoral
graduate graduated
course class
book novel
newspaper paper
money cash
salary wage earnings income
price cost
expensive costly pricey
cheap inexpensive affordable
budget
manager boss supervisor
lead head leader
colleague coworker co-worker workmate teammate
employee staff
customer client
team group crew
project
bug defect issue
repository repo
database db
directory folder
production prod
development dev
staging
configuration config
documentation docs doc
application app
environment env
kubernetes k8s
javascript js
typescript ts
python py
postgresql postgres psql
machine-learning ml
artificial-intelligence ai
operating-system os
vscode
macos osx
dark
theme mode
notification alert
password passcode
host hosted hosting
deploy deployment deployed
store stored keep kept save saved
locate located location
delete remove erase
address
birthday birthdate
born birth
marry married
divorced divorce
named called
own possess
drink drinking
eat eating consume
meat
coffee
alcohol
smoke smoking smoker
sleep sleeping
wake awake awoken
commute commuting
remote remotely
flight
live
grandmother grandma granny
grandfather grandpa granddad
native mother-tongue
language
fluent fluently
spicy hot
sweet sugary
seafood
cold chilly
rain rainy
sunny
quiet silent
noise noisy loud
clean tidy
garden gardening
change rotate renew
photography photographing
volunteer volunteering
donate donation
coach coaching
member membership
join joined
subscribe subscription
cancel cancelled canceled
postpone delay
approve approved approval
review reviewed
explain explanation
example examples
bullet bulleted
emoji emojis
formal formally
informal casual casually
polite politely
metric
imperial
usd dollar dollars bucks
eur euro euros
gbp pound pounds
cny yuan rmb
hour hours hr hrs h
minute minutes min mins
second seconds sec secs
kilogram kilograms kg kilo kilos
kilometre kilometer kilometers kilometres km
centimetre centimeter centimeters cm
metre meter meters
mile miles
person people persons
engineer engineers
year years yr yrs
""".strip()

_PHRASES = """
like : be fond of | be into | be keen on | be a fan of | be a big fan of | be a huge fan of
    | be crazy about | have a passion for | be passionate about | take pleasure in
    | be really into | care for
dislike : can not stand | can not bear | do not like | do not enjoy | do not love
    | be not a fan of | be not fond of | be not into | have an aversion to | do not care for
    | be no fan of
wake : wake up | get up | rise
sleep : go to bed | go to sleep | fall asleep | turn in
exercise : work out at the gym | work out | hit the gym | go to the gym | train at the gym
run : go running | go jogging | go for a run | go for runs | go on runs | go for a jog
swim : go swimming | go for a swim
hike : go hiking | go on hikes | go for hikes | go for a hike
bike : go cycling | ride a bike | ride the bike | ride a bicycle | go by bike | cycle
walk : go for a walk | go for walks | go walking | take a walk
attend : take part in | participate in
manage : be in charge of | be responsible for | take care of | look after | be the manager of
lead : be the lead of | be the leader of | head up | be the head of | be lead by
daily : every day | each day | on a daily basis | every single day | once a day | 7 days a week
weekly : every week | each week | once a week | on a weekly basis | 1 time a week
monthly : every month | each month | once a month | on a monthly basis
yearly : every year | each year | once a year | once per year
twice a week : 2 time a week | 2 time per week | two times a week | twice per week | twice weekly
2 : a couple of | a pair of
12 : a dozen
vegetarian : do not eat meat | eat no meat | do not eat any meat | avoid meat | never eat meat
phone number : telephone number | cell number | mobile number | contact number | phone no
email : email address | mail address
birthday : date of birth | birth date | day of birth
native language : mother tongue | first language
afraid of : scared of | terrified of | fear of
vscode : vs code | visual studio code
machine-learning : machine learning
artificial-intelligence : artificial intelligence
operating-system : operating system
new york : new york city | nyc
san francisco : sf
united states : usa | u.s | u.s.a
united kingdom : uk | u.k | britain | great britain
aws : amazon web services
gcp : google cloud platform | google cloud
node : node.js | nodejs
react : react.js | reactjs
vue : vue.js | vuejs
next.js : nextjs
dark theme : dark mode | night mode | dark themes
light theme : light mode | day mode
named : go by the name | go by the name of | by the name of | with the name | whose name be
answer language : language of answer | language of reply
because of : due to | owing to
allergic to : can not tolerate | be intolerant to
intolerant : intolerance
gluten : wheat gluten
work remote : work from home | work at home | work from user 's home | wfh | telecommute
work in-office : work on-site | work onsite | work in the office | work at the office
part-time : part time
full-time : full time
freelance : self-employed | be a freelancer | work for user 's self | self employed
have : have got | own | possess
every : each
weekday : workday | work day | week day
monday : mondays
tuesday : tuesdays
wednesday : wednesdays
thursday : thursdays
friday : fridays
saturday : saturdays
sunday : sundays
stop : give up | no longer do
look for : search for | seek | be on the lookout for
kind of : type of | sort of
as soon as possible : asap
step by step : step-by-step
""".strip()

_WEAK = """
    a an the this that these those of to in on at for with by and or as from's s be have do i
    me my
    mine myself he she it they him them his her hers its their user we us our who which what when
    where there here very really quite so just still also always usually currently now already
    generally typically normally mostly mainly primarily especially particularly personally about
    around some any all own person people one ones thing things something someone get go such
    etc please would like's will can it's than then only even too well much many lot lots kind
    type
    sort way per into onto up out mode setting settings style regularly simply basically
    approximately currently presently nowadays fact sure definitely absolutely truly absolute
    respectively whenever while during how there here
"""
_TOOLS = "like prefer use manage run handle do work be make write get have sit locate"
_LIGHT = (
    "sit locate manage handle like prefer go do make take get have use attend spend practise "
    "practice favourite hobby time work play person be stay want"
)

_IRREGULAR_FORMS = """
be : am is are was were been being
have : has had having
do : does did done doing
go : goes went gone going
use : uses used using
get : gets got gotten getting
buy : bought
drive : drove driven driving
speak : spoke spoken
eat : ate eaten
drink : drank drunk
write : wrote written writing
read : reads
run : ran
swim : swam swum
teach : taught
think : thought
sleep : slept
wake : woke
leave : left leaves leaving
quit : quits quitting
begin : began begun beginning
grow : grew grown
become : became becomes becoming
meet : met
pay : paid
sell : sold
spend : spent
build : built
keep : kept
hold : held
choose : chose chosen
take : took taken taking
give : gave given giving
make : made making makes
come : came coming comes
know : knew known
lead : led
ride : rode ridden riding
wear : wore worn
find : found
lose : lost
move : moving
live : living
person : people
child : children kids kid
man : men
woman : women
say : said
tell : told
send : sent
fly : flew
sing : sang sung
see : saw seen
feel : felt
i : im
wife : wives
an : an
life : lives_
analysis : analyses
foot : feet
mouse : mice
break : broke broken breaking
fall : fell fallen
rise : rose risen
draw : drew drawn
win : won
catch : caught
bring : brought
learn : learnt
die : dies died dying
data : datum
tie : ties tying
lie : lying
"""


def _irregular() -> dict[str, str]:
    verbs: dict[str, str] = {}
    for row in rows(_IRREGULAR_FORMS):
        verb, _, forms = row.partition(" : ")
        verbs |= dict.fromkeys(forms.split(), verb)
    return verbs


_IRREGULAR = _irregular()


def lemma(word: str) -> str:
    """Fold an English word in lower case to what all its forms fold to."""
    word = _IRREGULAR.get(word, word)
    return fold(word) if word.isalpha() and word.isascii() else word


def _classes() -> dict[str, str]:
    classes: dict[str, str] = {}
    for row in rows(_CLASSES):
        words = row.split()
        for word in words:
            classes.setdefault(lemma(word), lemma(words[0]))
    return classes


_CLASS_OF = _classes()


def stem(word: str) -> str:
    """Fold an English word to what stands for its class.

    Example:
        >>> stem("lived"), stem("resides")
        ('resid', 'resid')
    """
    return class_of(lemma(word))


def class_of(folded: str) -> str:
    """Give the stem that stands for the class of a folded word."""
    return _CLASS_OF.get(folded, folded)


def stems(words: str) -> frozenset[str]:
    """Fold several words."""
    return frozenset(map(stem, words.split()))


def _phrases() -> dict[str, str]:
    phrases: dict[str, str] = {}
    for row in rows(_PHRASES):
        name, _, rest = row.partition(" : ")
        for phrase in rest.split(" | "):
            phrases[_folded(phrase)] = _folded(name)
    return phrases


def _folded(phrase: str) -> str:
    return " ".join(lemma(word) for word in phrase.split() if word != "the")


PHRASES = _phrases()
"""Phrases, folded, with what stands for them."""
PHRASE = re.compile(
    r"(?<!\S)(?:" + "|".join(map(re.escape, sorted(PHRASES, key=len, reverse=True))) + r")(?!\S)"
)
WEAK = stems(_WEAK)
"""Words that tell nothing by themselves when the rest of two statements is the same."""
TOOLS = stems(_TOOLS)
"""Verbs that may be missing where two telling words agree."""
LIGHT = stems(_LIGHT)
"""Verbs that may be missing where three telling words agree."""
