"""Whose doing a clause tells of: the speaker's, another's, the listener's."""

import re

from thalweg.facts.gates.letters import WIDE
from thalweg.facts.gates.moods import FIRST_PERSON

KIN: tuple[frozenset[str], ...] = tuple(
    frozenset(row.split())
    for row in (
        (
            "friend friends buddy pal mate bestie freund freundin ami amie amigo amiga amico "
            "amica друг подруга 朋友 友達 친구"
        ),
        "boss manager supervisor chef patron jefe chefe capo начальник 老板 领导 经理 上司 상사",
        (
            "colleague colleagues coworker coworkers co-worker teammate kollege kollegin collègue "
            "colega collega коллега 同事 队友 同僚 동료"
        ),
        "wife frau femme esposa mujer moglie жена 老婆 妻子 媳妇 太太 妻 아내",
        "husband mann mari esposo marido marito муж 老公 丈夫 先生 夫 남편",
        (
            "partner spouse fiancé fiancée fiance fiancee partnerin pareja 对象 爱人 伴侣 未婚妻 "
            "未婚夫"
        ),
        "girlfriend copine novia namorada fidanzata девушка 女友 女朋友 彼女 여자친구",
        "boyfriend copain novio namorado fidanzato парень 男友 男朋友 彼氏 남자친구",
        (
            "mother mom mum mama mommy mutter mère madre mãe mamma мама мать 妈妈 母亲 妈 老妈 母 "
            "어머니 엄마"
        ),
        "father dad daddy papa vater père padre pai папа отец 爸爸 父亲 爸 老爸 父 아버지 아빠",
        "parents eltern parents padres pais genitori родители 父母 爸妈 両親 부모님",
        "brother bruder frère hermano irmão fratello брат 哥哥 弟弟 兄弟 哥 弟 兄 형 오빠 남동생",
        (
            "sister schwester sœur soeur hermana irmã sorella сестра 姐姐 妹妹 姐 妹 姉 언니 누나 "
            "여동생"
        ),
        "sibling siblings geschwister 兄弟姐妹",
        "son boy sohn fils hijo filho figlio сын 儿子 息子 아들",
        "daughter girl tochter fille hija filha figlia дочь дочка 女儿 闺女 娘 딸",
        (
            "kid kids child children baby toddler twins kind kinder enfant enfants niño niños "
            "hijos filhos bambino bambini ребёнок ребенок дети 孩子 小孩 宝宝 娃 子供 아이"
        ),
        (
            "grandmother grandma granny nana oma grand-mère abuela avó nonna бабушка 奶奶 外婆 "
            "姥姥 祖母 할머니"
        ),
        (
            "grandfather grandpa granddad opa grand-père abuelo avô nonno дедушка 爷爷 外公 姥爷 "
            "祖父 할아버지"
        ),
        "uncle onkel oncle tío tio zio дядя 叔叔 舅舅 伯伯 삼촌",
        "aunt auntie tante tía tia zia тётя 阿姨 姑姑 姨妈 이모 고모",
        "cousin cousine primo prima cugino cugina 表哥 表姐 表弟 表妹 堂哥 堂弟 사촌",
        "nephew neffe neveu sobrino nipote 侄子 外甥",
        "niece nichte nièce sobrina 侄女 外甥女",
        (
            "neighbour neighbor neighbours neighbors nachbar nachbarin voisin voisine vecino "
            "vecina vizinho vicino сосед 邻居 隣人 이웃"
        ),
        "roommate flatmate housemate mitbewohner mitbewohnerin colocataire 室友 룸메이트",
        "client clients customer customers kunde kundin cliente клиент 客户 顾客 고객",
        (
            "teacher professor prof tutor coach lehrer lehrerin prof maestro profesor profesora "
            "учитель 老师 教授 教练 先生 선생님"
        ),
        "student students schüler élève alumno estudiante 学生 同学 학생",
        (
            "doctor dr physician dentist therapist psychiatrist nurse vet physio arzt ärztin "
            "zahnarzt médecin docteur médico dottore врач доктор 医生 大夫 牙医 医師 의사"
        ),
        "lawyer attorney anwalt avocat abogado avvocato юрист 律师",
        "accountant steuerberater comptable contable 会计",
        "landlord landlady vermieter propriétaire casero 房东 대家",
        "tenant mieter 租客",
        "agent broker recruiter hr makler 中介 猎头",
        (
            "guy man woman person stranger someone somebody anyone everybody everyone nobody "
            "people jemand man leute quelqu'un alguien gente qualcuno кто-то люди 有人 别人 人家 "
            "大家 某人 网友 路人 网上 誰か みんな 누군가 사람들"
        ),
        (
            "author blogger influencer youtuber expert experts critic autor auteur 作者 博主 专家 "
            "主播 作家"
        ),
        "cat cats katze chat gato gatto кот кошка 猫 猫咪 고양이",
        "dog dogs puppy hund chien perro cachorro cane собака 狗 狗狗 犬 개 강아지",
    )
)
_ALL_KIN = sorted((word for row in KIN for word in row), key=len, reverse=True)
_SPACED = "|".join(re.escape(word) for word in _ALL_KIN if not WIDE.match(word))
_WIDE = "|".join(re.escape(word) for word in _ALL_KIN if WIDE.match(word) and len(word) > 1)
_WIDE_SHORT = "爸|妈|哥|姐|弟|妹|妻|夫|猫|狗|娃"
_PERSON = re.compile(
    rf"\b(?:{_SPACED})\b(?!['’]s (?:day|house))|(?:{_WIDE})|(?<=[我她他家的])(?:{_WIDE_SHORT})",
    re.IGNORECASE,
)
_AGENT_OF = re.compile(
    r"\b(?:i['’]?m|i am|we are|as) (?:also )?(?:an? |the )?[\w -]{0,30}$", re.IGNORECASE
)

_SPEAKER = re.compile(
    rf"\b(?:I|we)\b|\b[Ii]['’](?:m|ve|d|ll)\b|\b(?:ich|wir|je|nous|yo|nosotros|eu|nós|io|noi|я|мы"
    rf"|ik|wij)\b"
    r"|\b(?:soy|estoy|tengo|vivo|trabajo|prefiero|uso|quiero|hablo|estudio|odio|necesito|sou"
    r"|estou|tenho|moro|trabalho|prefiro|gosto|falo|sono|abito|lavoro|preferisco|voglio|jestem"
    r"|mieszkam|pracuję|lubię|живу|работаю|люблю|предпочитаю)\b|\bme (?:gusta|encanta)\w*"
    rf"|\bj['’]|我(?!的|们的|家的)(?!{_WIDE}|{_WIDE_SHORT})|咱|[私僕俺](?:は|が|も)|(?:나는|저는"
    rf"|제가|내가)",
    re.IGNORECASE,
)
_PRONOUN = re.compile(
    r"^\W*(?:(?:and|but|so|that|because|since|who|also|then|now|und|dass|weil|et|que|y)\s+)*(he"
    r"|she|they|he['’]s|she['’]s|they['’]re|he['’]d|she['’]d|er|sie|il|elle|ils|elles|él|ella"
    r"|ellos|ele|ela|lui|lei|он|она|они|who)\b|^\W*(?:而|但|还)?(他们|她们|他|她|对方|彼女|彼"
    r"|그는|그녀)",
    re.IGNORECASE,
)
_NAME = re.compile(
    r"^\W*((?!(?:I|My|We|Our|The|This|That|These|Those|It|Its|A|An|And|But|So|Also|If|When|While"
    r"|Yes|No|Ok|Okay|Please|In|On|At|For|From|To|By|As|With|Since|After|Before|Now|Here|There"
    r"|What|Who|How|Why|Where|Which|Not|Never|Always|Just|Btw|By|Mein|Meine|Der|Die|Das|Mon|Ma"
    r"|Mes|Le|La|Les|El|Los|Las|Mi|Mis|Meu|Minha|O|Os|As|Il|Lo|Remember|Note|Hi|Hello|Hey|Thanks"
    r"|You|Your|Everything|Nothing|Something|Today|Yesterday|Tomorrow"
    r"|Currently)\b)[A-ZÀ-ÖØ-ÞА-ЯЁ][\w'’-]+(?:\s[A-Z][\w'’-]+){0,2})\s+(?:(?:also|always|never"
    r"|really|just|still)\s)?(?:(?!this\b|his\b|its\b|as\b|always\b)\w+[^s\W]s|is|was|has|had"
    r"|does|did|said|told|\w+ed|likes|hates|mag|wohnt|arbeitet|habite|aime|vive|prefiere|ama"
    r"|любит|живёт|живет)\b"
)
_LISTENER = re.compile(
    r"\byou(?:['’]re| are| were| like| love| prefer| live| work| have| hate| use| want| own"
    r"| enjoy)\b"
    r"|\b(?:du bist|du hast|tu es|tu as|eres|tienes|você é|tu sei)\b"
    r"|^\W*你(?!好|们好|能|可|帮|看|说|觉得|知道|会|要|是否|给|把|用|的)",
    re.IGNORECASE,
)
_USER = re.compile(
    r"\b(?:the|this|that) (?:user|person (?:you|who)|reader|customer)\b|\buser(?:['’]s)? (?:is"
    r"|has|likes|prefers|wants|always|never|trusts|lives|works|uses|grants|agreed|approved)\b"
    r"|\bder (?:be)?nutzer\b|\bl['’]utilisateur\b|\bel usuario\b|\bo usuário\b|\bl['’]utente\b"
    r"|пользователь|用户(?!名|界面|体验|增长|量|数|群|们|端|表|调研|协议|中心|手册)|ユーザー(?!名"
    r"|数|インター)|사용자(?!명|수)",
    re.IGNORECASE,
)

THE_USER = "the user"
THE_LISTENER = "you"


def others(clause: str) -> tuple[str, ...]:
    """Name those whose doing a clause tells of, where it is not the speaker's.

    Example:
        >>> others("my friend Bob prefers tea"), others("I live with my friend")
        (('friend',), ())
    """
    speaker = _SPEAKER.search(clause)
    start = speaker.start() if speaker else len(clause)
    if not FIRST_PERSON.search(clause) and _USER.search(clause):
        return (THE_USER,)
    if not speaker and _LISTENER.search(clause):
        return (THE_LISTENER,)
    if (pronoun := _PRONOUN.search(clause)) and pronoun.start() < start:
        return ((pronoun[1] or pronoun[2]).casefold(),)
    if (name := _NAME.match(clause)) and not FIRST_PERSON.search(name[1]):
        found = _PERSON.search(name[1])
        return (found[0].casefold(),) if found else (name[1],)
    before = clause[:start]
    return tuple(
        found[0].casefold()
        for found in _PERSON.finditer(before)
        if not _AGENT_OF.search(before[: found.start()])
    )[:1]


_POSSESSIVE = re.compile(
    rf"用户(?:的|家|{_WIDE}|{_WIDE_SHORT})|"
    r"\busers?['’]s? \w+|\b(?:their|his|her|my) \w+|ユーザーの|사용자의|\b(?:du|des|del|dell['’]"
    r"|do) (?:nutzers|utilisateur|usuario|usuário|utente)\b|de l['’]utilisateur|Nutzers\b"
    r"|пользовател[яь]",
    re.IGNORECASE,
)


def names(content: str, other: str) -> bool:
    """Say whether a fact tells whose doing it is, where it is another's.

    Example:
        >>> names("User's mother lives in Rome", "mom"), names("User lives in Rome", "mom")
        (True, False)
    """
    kin = {word for row in KIN if other in row for word in row}
    if kin:
        return any(found[0].casefold() in kin for found in _PERSON.finditer(content))
    if other in {THE_USER, THE_LISTENER}:
        return False
    if _PRONOUN.match(other):
        return _POSSESSIVE.search(content) is not None
    return other.casefold() in content.casefold()
