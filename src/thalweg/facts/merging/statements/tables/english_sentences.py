"""Sentences of English with the attribute that they tell.

`S` is the subject, `V` the value, `O` what is over, `X` any words, `W` words that belong to the
subject, `P` a person, `N` a number; `V:job` is a value that is a job. A `+` before an attribute
says that the sentence affirms it, whatever its words. Words are folded as statements are.
"""

SENTENCES = """
employer | S work (at|for|with) V:place
employer | S (join|be hire by|get hire by|get hire at) V:place
employer | S (begin|get|take|accept|land|find) (a )?(new )?(job|offer|position|role|work) (at|
    from|with) V
employer | S begin (at|with) V:place
employer | S 's (new )?employer be (call )?V
employer | S have a job (at|with) V
employer | S be (?P<v>unemployed|between jobs|out of work|retired)$
employer | S be a? X (at|for) V:place
job title | S (be|become|work as) a? V:job
job title | S (be promote to|get promote to|be make|get a promotion to) a? V
job title | S 's (new )?(job title|job|title|role|position) be a? V
home | S 's (home|home city|residence|current city|current location|
    place of residence) be (in )?V:place
home | S (reside|be base|be locate|settle|settle down|be home|be resident) (in|at) V:place
home | S (move|relocate) (from O )?(back )?to V:place
home | S be a resident of V
birthplace | S be born in V:place
birthplace | S (be|come) (originally )?from V:place
birthplace | S 's (birthplace|hometown|place of birth|birth place) be V
birthplace | S grow up in V
birthday | S be born on V:date
birthday | S 's birthday be (on )?V:day
birthday | S celebrate (user 's )?birthday on V
birth year | S be born in V:year
birth year | S be born in .+ in (?P<v>(19|20)\\d\\d)$
birth year | S 's (year of birth|birth year) be V:year
birth year | V:year be S 's year of birth
age | S 's age be N
age | S be N( year( old)?)?$
age | S turn N
name | S 's (full |real |legal |first |last )?name be (spell )?V
name | P be S 's name
name | P be name of S
nickname | S (go by|prefer to be call|like to be call|want to be call) V
nickname | S 's (nickname|preferred name) be V
spouse | S 's wife be (call )?V
spouse | S be marry to V
spouse | S marry V
partner | S 's (girlfriend|fiance|fiancee) be (call )?V
partner | S (date|be in a relationship with|be engage to|be together with) V
marital status | S (be|get|become) V:marital
manager | S 's manager be (call |name )?V
manager | S report to V
manager | P be S 's manager
relation:W | S 's (?P<w>\\S+) be (call|name) V
number of child | S have N child
number of child | S be a? (father|mother|parent) of N( child)?
allergy | S be allergic to V
allergy | S have a? (?P<v>.+) allergy$
allergy | S be allergy to V
+allergy | S can not (take|eat|have|drink) (?P<v>.+) because of a? ?(user 's )?allergy$
+allergy | S (be|have) (intolerant|intolerance) to V
allergy | S have a? allergy to V
diet | S (be|become|go|turn) a? V:dietary
status | S be (turn )?V:scale
diet | S (be on|follow|eat) a? V diet
speaks | S speak (fluent |native |good |basic |perfect )?V
speaks | S be fluent in V
native language | S 's native language be V
learning | S (study) V
prefers | S prefer (?P<v>.+) (over|to|than|rather than|instead of) (?P<o>.+)$
prefers | S like (?P<v>.+) (better|more) than (?P<o>.+)$
prefers | S would rather (?P<v>.+) than (?P<o>.+)$
dislike | S dislike V
dislike | (?P<v>.+) be (something|a thing) (that )?(S )?(really )?dislike$
fear | S be fear of V
fear | S have a? fear of V
phone number | S 's phone number be V:number
email | S 's W? ?email be V
car | S drive a? V
car | S 's W? ?car be a? V:car
phone | S (use|have|get|buy) a? V:phone
phone | S 's phone be a? V
wake time | S (wake|be wak)( up)? (at|by|around) V:day
wake time | daily S (wake|be wak)( up)? (at|by|around) V:day
bedtime | S sleep (at|by|around) V:day
commute | S (commute|get to work|go to work|travel to work) (by|on|with) a? V
commute | S (take|ride) a? (?P<v>.+) to (work|office|school)
commute | S (?P<v>bike|walk|drive) to (work|office|school)
weight | S weigh (?P<v>\\d+(?:\\.\\d+)? \\S+)
height | S be (?P<v>\\d+(?:\\.\\d+)? (?:cm|m|metre|feet|inch)\\S*)( tall)?$
deadline | S (be due|must be finish|hav to be finish|need to be finish|hav to be do|must be do|
    must be deliver)( on| by)? V:day
deadline | S be deadline (on |by )?V:day
when | S be (on|at|schedule for|plan for) V:day
when | S (take place|happen|begin|start|leave|depart|be hold) (on|at) V:day
when | S (end|expire|close|run out) (in|on|at) V:day
when | U (extend|move|push|postpone|delay|reschedule|shift|renew) (user 's )?W (to|until)
  V:day
port | S (listen|run|be|answer|be reachable|be serve) (on|at) port N
port | S use port N
owner | P own S$
owner | P take over S from O
owner | P take over S
owner | S be with P$
owner | S be own by V
lead | P lead S
lead | S be lead by V
reviewer | P review S
deployment | S (be )?(deploy|host) (on|to|at|with|by|through|via) V
deployment | S (deploy|host) W (with|by|through|via|to|on|at) V
answer language | (always )?(answer|write|speak) (to user )?in V
answer language | S (want|like|prefer|would like) answer (to be )?(in|write in) V
answer length | S (want|like|prefer|would like|ask for) V:scale answer
answer length | S (want|like|prefer|would like|ask for) answer (to )?(be )?(keep |store )?V:scale
answer length | answer (to )?be (keep |store )?V:scale
answer length | answer should be (keep |store )?V:scale
whereabouts | S be (in|at) (?P<v>(hospital|clinic|rehab|intensive care|jail|prison|nursing home|
    abroad)\\b.*)
whereabouts | S be (back )?(?P<v>hous|at hous|out of hospital|abroad)\\b.*
name | S spell (it|user 's name) V
answer length | (please )?(keep|store) answer V:scale
like | S like V
size | team (have|be|consist of) N (engineer|person|member|developer|employee)
size | there be N (engineer|person|member|developer) (on|in) (user 's )?team
school | S (attend|be a student at|study at|go to) V
degree | S (have|hold) a? (degree|phd|master|bachelor) in V
salary | S earn V
salary | S make (?P<v>\\d\\S* \\S+) (a|per) \\S+
price | S cost V
plays | S play V
home | S be (in|at) V:where
""".strip()
