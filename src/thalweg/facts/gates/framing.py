"""The words that facts are framed with, the few synonyms and the words for numbers and times."""

import re

from thalweg.facts.gates.persons import KIN
from thalweg.words import fold

FREE = frozenset(
    (
        "a an the of in on at to for from by with and or but as is are was were be been being am "
        "has have had do does did done will would can could should may might must it its this "
        "that these those there their theirs them they he she his her him who whom whose which "
        "what when where while than then user users user's not no nor also too very so since "
        "until about into over under up down out off again more most some any all each both such "
        "only own same just still already now currently recently usually often always never "
        "sometimes generally mainly mostly primarily really quite because if doesn't don't isn't "
        "aren't wasn't didn't hasn't haven't won't can't cannot per every new old well person "
        "individual someone themselves himself herself me my i we our us your you nutzer nutzers "
        "nutzerin benutzer benutzers anwender der die das des dem den ein eine einen einem einer "
        "und oder ist sind war hat haben wird werden bei in im am an auf aus mit von vom zu zum "
        "zur für seit nicht kein keine keinen keinem sein seine seinen seinem ihr ihre ihren er "
        "sie es sich als dass nach über l'utilisateur utilisateur d'un d'une qu'il utilisatrice "
        "d'utilisateur le la les un une des du de d l à au aux en et ou est sont a ont été son sa "
        "ses leur leurs il elle se s que qui pour par sur dans avec ne pas n usuario usuaria el "
        "los las unos unas y o es son fue ha han tiene su sus del al con por para en que no se lo "
        "usuário usuária os as um uma e ou é são foi tem seu sua do da dos das no na com em não "
        "utente l'utente dell'utente all'utente lo gli uno della dello degli di è sono ha suo sua "
        "nel nella con per non che si пользователь пользователя пользователю и в во на с со у к "
        "по из за от для не что это он она его её użytkownik jest w na z do i nie ma gebruiker de "
        "het een van in en is op met voor zijn"
    ).split()
)
"""Words of the frame and of grammar: they tell nothing."""

_FRAMES = (
    "team group|we our us",
    "project|project we our repo repository codebase app service",
    "company employer organization organisation|we our company employer firm work",
)
_SAME: tuple[tuple[str, str], ...] = (
    (
        (
            "like love prefer enjoy favourite favorite fan fond rather preference into adore keen "
            "appreciate want would like liked loves loved"
        ),
        r"更?喜欢|好看|best|go-to|\bi['’]d\b|\bsuits?\b",
    ),
    (
        (
            "want wish hope plan intend aim goal would like prefer ask request expect look aspire "
            "desire"
        ),
        (
            r"\b(?:please|don['’]t|do not|no|never|always|only|skip|keep|remember|['’]d|going to"
            r"|trying)\b"
        ),
    ),
    (
        "dislike hate detest avoid dislikes against",
        (
            r"n['’]t (?:like|stand|enjoy|drink|eat|want|use)|not a fan|\b(?:hate|can['’]?t stand"
            r"|dislike|avoid|never)\b"
        ),
    ),
    (
        "work job employ employed occupation profession position career works working",
        r"\b(?:i['’]m|i am|as|at) (?:an? |the )?\w+|\b(?:started|joined|hired|employed)\b",
    ),
    (
        "live reside resident based home located living lives city residence",
        (r"\b(?:i['’]m|i am|we['’]re|based|live|living|moved|from|home|stay\w*|settled)\b"),
    ),
    ("move relocate moved relocated moving", ""),
    ("use using uses utilize run rely work with switched", r"\bon\b|\bwith\b|\brun\b|\bin\b"),
    ("own have has owns got possess", r"\b(?:my|our|got|have|own)\b|['’]ve"),
    (
        "name call named called surname forename spell spelled spelling spelt written correct",
        r"\b(?:i['’]m|my name|call|name)\b",
    ),
    ("address e-mail email mail contact", r"@|\bhttps?:|\d"),
    ("url link site website web address repo repository page", r"\w\.\w+(?:/|\b)"),
    ("allergic allergy allergies", ""),
    (
        "diet eat vegetarian vegan eats",
        (r"\beat\b|vegan|vegetarian"),
    ),
    ("born birthday birth birthdate", ""),
    ("age year aged years old", r"\b\d{1,3}\b"),
    ("speak fluent native language speaks tongue", ""),
    ("learn study studying learning", ""),
    ("build develop make create write develops building making", ""),
    ("drive car drives", ""),
    ("marry married marriage spouse", r"\b(?:wife|husband|married)\b"),
    ("kid child children kids", ""),
    ("big large", ""),
    ("small little", ""),
    ("eats eat longer anymore stopped quit more", r"any ?more|no longer|stopp|quit"),
    ("begin start began started join joined", ""),
    ("finish end complete completed read reading finished", ""),
    ("buy purchase bought", ""),
    ("phone mobile telephone cell number", r"\b(?:reach|call|text|ring)\b|\+\d|\d{6}"),
    ("movie film", ""),
    ("laptop notebook computer", ""),
    ("answer reply response respond answers", ""),
    ("short brief concise", ""),
    ("currency euro euros eur dollars", r"[€$£]"),
    ("zone timezone", ""),
    ("commute travel", ""),
    ("exercise workout train", ""),
    ("run jog", ""),
    ("bike bicycle cycling cycle", ""),
    ("holiday vacation", ""),
    ("flat apartment", ""),
    ("university college uni", ""),
    ("deadline due", ""),
    ("kubernetes k8s", ""),
    ("postgres postgresql", ""),
    ("javascript js", ""),
    ("typescript ts", ""),
    ("database db", ""),
    ("weekly week", ""),
    ("daily day", ""),
    ("monthly month", ""),
    ("yearly year annual annually", ""),
    ("decided decision decide", ""),
    ("wants ask addressed called", r"\bcall\b"),
    ("uses usa", r"$^"),
    ("advised says recommended told suggest say said advise warn claims claim", ""),
)


def _alike() -> dict[str, tuple[frozenset[str], re.Pattern[str] | None]]:
    """Map each word to those it may stand for."""
    found: dict[str, tuple[set[str], list[str]]] = {}
    for row, form in _SAME:
        stems = {fold(word) for word in row.split()}
        for stem in stems:
            words, forms = found.setdefault(stem, (set(), []))
            words |= stems
            forms += [form] if form else []
    for frame in _FRAMES:
        heads, said = frame.split("|")
        for head in heads.split():
            words, _ = found.setdefault(fold(head), (set(), []))
            words |= {fold(word) for word in said.split()}
    for kin in KIN:
        stems = {fold(word) for word in kin}
        for stem in stems:
            found.setdefault(stem, (set(), []))[0].update(stems)
    return {
        stem: (frozenset(words), re.compile("|".join(forms), re.IGNORECASE) if forms else None)
        for stem, (words, forms) in found.items()
    }


ALIKE = _alike()
"""For each folded word: the folded words it may stand for, and a form that it may."""

ALIKE_WIDE: tuple[re.Pattern[str], ...] = tuple(
    re.compile(row)
    for row in (
        (
            "喜欢|爱好|喜爱|热爱|偏好|偏爱|更爱|最爱|爱|好看|好吃|好听|好玩|太棒|倾向于?|钟爱"
            "|中意|不错"
        ),
        "不喜欢|讨厌|反感|厌恶|受不了|不爱|不吃|不喝|忌口|避免",
        "工作|任职|就职|上班|职业|从事|是一?[名位个]|担任|做|入职|供职|当",
        "居住|住|定居|常住|生活|搬到|搬家|所在地|位于|家在|老家|人在|在",
        "使用|用的?是?|采用|用着|习惯用|运行|跑",
        "名字|叫做?|名为|称呼|姓名|称为|名称|叫",
        "女儿|闺女",
        "儿子|小子",
        "妻子|老婆|媳妇|太太",
        "丈夫|老公|先生",
        "妈妈|母亲|老妈|妈",
        "爸爸|父亲|老爸|爸",
        "孩子|小孩|娃|宝宝",
        "正在|在",
        "学习|学|念|读|就读|上",
        "项目|工程|仓库|代码库",
        "公司|单位|团队|我们|组",
        "(?:不)?希望|不?想(?:要|看到)?|要求|打算|计划|目标|准备|请|别|不要|就行|以后|不",
        "说|表示|建议|告诉|称|认为|让|叫|嘱咐",
        "过敏|不耐受",
        "有|拥有|养了?|开",
        "出生|生日",
        "年龄|岁",
        "会|能|掌握",
        "电子邮箱|邮箱|邮件|地址",
        "手机|电话",
        "拒绝|不去|不接受|谢绝|回绝",
        "开始|起",
        "不再|戒了?|停止|不",
        "因为|由于|所以",
        "回答|回复|答复|说话|讲",
        "客套|客气",
        "每天|每日|天天",
        "晚上|夜里|夜间",
        "早上|早晨|清晨|上午",
        "朋友|友人",
        "同事|同僚",
        "公寓|房子|住房",
        "更正|不是|改|其实",
        "好き|好み|気に入",
        "住ん|住まい|在住",
        "働|勤め|勤務",
        "という|といいます|名前|いう",
        "使っ|使用|利用",
        "좋아|선호",
        "살고|거주|산다",
        "일하|근무|다니",
        "사용|쓰",
    )
)
"""Rows of expressions that may stand for one another."""
FREE_WIDE = re.compile(
    "用户(?:本人|自己)?(?:的|们)?|使用者|本人|自己|他的?|她的?|目前|现在|当前|平时|通常|一般|经常"
    "|常常|总是|一直|比较|非常|很|都|也|就|还|和|与|及|或|的|了|着|过|是|在|于|为|里面?|中|上|下"
    "|时候?|会|要|被|把|对|给|让|从|到|向|以|因|因为|所以|并且?|而且?|但是?|不过|这|那|个|位|名"
    "|其|等|有|将|已经?|进行|单位|情况|还在|仍|还|一[只个条位名家本台辆部款张种]|而不是|不是|而非"
    "|比起|ユーザー(?:の|は|が)?|です|ます|いる|して|した|する|ある|という|の|は|が|を|に|で|と"
    "|も|へ|から|まで|だ|な|て|사용자(?:의|는|가)?|이다|입니다|합니다|있다|있습니다|은|는|이|가"
    "|을|를|에서?|의|로|으로|한다|하다|고"
)
"""Frame and grammar of scripts without spaces."""

TIME_WIDE = re.compile(
    "[0-9〇零一二三四五六七八九十]+ ?(?:年|月|日|号|点|时)|年|月|日|星期[一二三四五六日天]"
    "|周[一二三四五六日天]|自从?|起|以来|截至|曜日"
)
RELATIVE = re.compile(
    r"\b\d{1,2}(?:st|nd|rd|th)\b|\b(?:today|tonight|yesterday|tomorrow|tmrw|last|next"
    r"|this (?:week|month|year|morning|evening|spring|summer|autumn|fall|winter|monday|tuesday"
    r"|wednesday|thursday|friday|saturday|sunday)|ago|since|for|now|in|by|until|year|years|month"
    r"|months|week|weeks|weekend|day|days|recently|monday|tuesday|wednesday|thursday|friday"
    r"|saturday|sunday|january|february|march|april|may|june|july|august|september|october"
    r"|november|december|heute|gestern|vorgestern|morgen|übermorgen|letzt\w*|nächst\w*|vor|seit"
    r"|jahr\w*|monat\w*|woche\w*|hier|demain|avant-hier|dernier\w*|prochain\w*|depuis|il y a|hoy"
    r"|ayer|mañana|pasad[oa]|próxim[oa]|hace|desde|hoje|ontem|amanhã|oggi|ieri|domani|scors[oa]"
    r"|prossim[oa]|сегодня|вчера|завтра|прошл\w+|следующ\w+|назад)\b|今天|今早|今晚|昨天|昨晚"
    r"|前天|明天|明早|后天|大后天|上周|这周|本周|下周|上个?月|这个?月|本月|下个?月|去年|今年|明年"
    r"|前年|后年|年初|年底|月底|周末|年前|月前|天前|天后|以后|以来|刚刚?|最近"
    r"|周[一二三四五六日天]|星期|昨日|今日|明日|先週|来週|先月|来月|어제|오늘|내일|지난|다음",
    re.IGNORECASE,
)
"""Words for times that a date may stand for."""

TIME_NAMES = frozenset(
    fold(word)
    for word in (
        "january february march april may june july august september october november december "
        "jan feb mar apr jun jul aug sep sept oct nov dec monday tuesday wednesday thursday "
        "friday saturday sunday januar februar märz mai juni juli oktober dezember janvier "
        "février mars avril juin juillet août septembre octobre novembre décembre enero febrero "
        "marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre date today "
        "yesterday tomorrow year month week day ago since"
    ).split()
)
NUMBER_WORDS = {
    word: str(value)
    for row in (
        (
            "zero one two three four five six seven eight nine ten eleven twelve thirteen "
            "fourteen fifteen sixteen seventeen eighteen nineteen twenty"
        ),
        "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
        "zéro un deux trois quatre cinq six sept huit neuf dix onze douze",
        "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce",
        "zero um dois três quatro cinco seis sete oito nove dez onze doze",
    )
    for value, word in enumerate(row.split())
} | {
    "a": "1",
    "an": "1",
    "ein": "1",
    "eine": "1",
    "once": "1",
    "twice": "2",
    "thirty": "30",
    "forty": "40",
    "fifty": "50",
    "sixty": "60",
    "seventy": "70",
    "eighty": "80",
    "ninety": "90",
    "hundred": "100",
    "both": "2",
    "couple": "2",
    "dozen": "12",
    "half": "2",
    "twins": "2",
}
