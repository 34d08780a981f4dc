"""The moods of clauses: questions, suppositions, role play, jokes, reports.

Patterns of several languages, not a grammar: a clause that matches one is no plain statement of the
speaker's, and a missed plain statement does little harm.
"""

import re


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


FIRST_PERSON = _any(
    r"\b(?:I|I['’](?:m|ve|d|ll)|me|my|mine|myself|we|we['’](?:re|ve|d|ll)|us|our|ours|im|ive)\b",
    r"[我咱俺]|本人|自己",
    r"\b(?:ich|mich|mir|mein\w*|wir|uns|unser\w*)\b",
    r"\b(?:je|moi|mon|ma|mes|nous|notre|nos)\b|\b[jm]['’]",
    r"\b(?:yo|mí|mis?|nosotr[oa]s|nuestr[oa]s?|conmigo|soy|estoy|tengo|vivo|trabajo|prefiero|uso"
    r"|quiero|hablo|estudio|odio|necesito|nací|llevo|trabajamos|usamos|vivimos|tenemos|somos)\b",
    r"\bme (?:gusta\w*|encanta\w*|llamo|mud[éo]|cas[éo])",
    r"\b(?:eu|meus?|minhas?|nós|nosso\w*|sou|estou|tenho|moro|prefiro|quero|gosto|falo|odeio"
    r"|chamo)\b",
    r"\b(?:io|mi[oae]i?|noi|nostr[oaie]|sono|abito|lavoro|preferisco|voglio|parlo|chiamo|vivo"
    r"|ho)\b",
    r"\b(?:я|меня|мне|мной|мо[йяеёи]\w*|мы|нас|нам|наш\w*|живу|работаю|люблю|предпочитаю"
    r"|использую)\b",
    r"\b(?:ja|mnie|mój|moja|moje|mam|jestem|mieszkam|pracuję|wolę|używam|lubię)\b",
    r"\b(?:ik|mij|mijn|wij|onze?)\b|\b(?:jag|mig|min|mitt|mina|jeg|meg|mitt|vår)\b",
    r"\b(?:ben|benim|bana|bizim)\b|(?<=\w)(?:ıyorum|iyorum|uyorum|üyorum)\b",
    r"[私僕俺]|うち(?:の|は)|わたし|ぼく|自分|我が家|弊社",
    r"(?:나는|난|내가|내|저는|전|제가|제|우리|저희)(?=\s|[가-힣])",
    r"أنا|عندي|\bmình\b|\btôi\b|मैं|मेर[ाीे]|ฉัน|ผม",
)
"""Mentions of the speaker. Verbs are included for languages that omit the pronoun."""

SPEAKER = _any(
    r"\b(?:I|I['’]\w+|me|my|mine|myself|ich|mich|mir|mein\w*|je|moi|mon|ma|yo|mis?|conmigo)\b",
    r"\b[jm]['’]|我",
)
"""The speaker alone: `we` and `our` are also part of introductions of other people."""

POINTS_BACK = _any(
    r"(?:that|this|it)['’]s\b|(?:that|this) is\b|c['’]est\b|ça\b|voilà\b|(?:das|so) \w+"
    r"|es[oa]\b|est[oa]\b|[这那]",
)
"""What takes up the words before it as the speaker's own: `…: that's how I live`."""

TRUTH_TAG = _any(
    r"^\s*(?:right|correct|no|huh|eh|yes|(?:is|are|am|do|does|did|have|has|was)(?:n['’]t)? (?:it"
    r"|i|we|that|they)|oder|nicht wahr|n['’]est-ce pas|verdad|no es así|não é|vero|да"
    r"|верно)\s*[?？]",
    r"^\s*(?:对吧|对吗|是吧|是吗|对不对|是不是)\s*[?？]?",
)
ASKS = _any(
    r"^\W*(?:(?:so|and|but|or|then|anyway|also|well|now|ok(?:ay)?|hey|hi|please"
    r"|do you know)[, ]+)*(?:what|who|whom|whose|which|when|where|why|how|is|are|am|was|were|do"
    r"|does|did|can|could|would|should|will|shall|may|might|have|has|had|any|isn['’]t|aren['’]t"
    r"|don['’]t|can['’]t|was|wer|wie|wo|wann|warum|welche\w*|kannst|könntest|kann|können|ist|sind"
    r"|soll|hast|gibt|que|qu['’]|quel\w*|comment|où|quand|pourquoi|est-ce|peux|puis|qué|cómo"
    r"|dónde|cuándo|cuál\w*|puedes|puedo|o que|como|onde|quando|pode|cosa|come|dove|perché|puoi"
    r"|что|как|где|когда|почему|можешь|какой|какие)\b",
    r"^\W*¿|什么|怎么|如何|哪[个些里儿种一几段天年月位家款本部条张首]|谁|为什么|为啥|多少|几[个种点]|能不能|可不可以"
    r"|能.{0,20}[吗么?？]|可以.{0,20}[吗么?？]|是否|是不是|有没有|要不要|该不该|会不会|咋"
    r"|吗\s*[?？。]?\s*$|呢\s*[?？]\s*$",
    r"^\W*(?:please )?(?:remind|tell|show|help|advise|explain to) (?:me|us)\b.*[?？]",
    r"(?:ですか|ますか|でしょうか|かな)\s*[?？。]?\s*$|(?:까요|나요|ㄹ까|습니까)\s*[?？.]?\s*$",
)
SUPPOSED = _any(
    r"(?:^\W*(?:\w+\W+)?|\b(?:i|we|let['’]?s) )imagin(?:e|ing)\b|\bimagin(?:e|ing) (?:that|if|i)\b",
    r"\b(?:suppos(?:e|ing)|hypothetically|what if|let['’]?s say|let us say"
    r"|(?<!\bi )assum(?:e|ing)|in case (?:i|we|my)|as if|as though|wonder(?:ing)? (?:if"
    r"|whether)|whether (?:i|we|my)|say i(?:['’]m| am| had| were| was| want))\b",
    r"假如|假设|假定|假使|倘若|万一|若是|倘使|设想|想象一下|就当我|比方说我|比如我|换作我",
    r"\bangenommen\b|\bstell dir vor\b|\bich (?:wäre|hätte)\b(?! gern)",
    r"\bsupposons\b|\bà supposer\b|\bimagin(?:ons|ez)\b|\bimagine que\b|\badmettons\b"
    r"|\bsupon(?:gamos|ga|iendo)\b|\bimagina(?:mos)?\b",
    r"\bse (?:fossi|avessi|fosse|tivesse)\b|\bsuponha\b|\bdigamos\b|\bsupponiamo\b"
    r"|\bimmagina\b",
    r"\bесли бы\b|допустим|предположим|представь",
    r"もし|仮に|としたら|だったら|만약|만일|가정(?:해|하)",
)
CONDITIONAL = _any(
    r"\bunless (?:i|we)\b|(?<!\beven )\bif(?:\W*$|\s+(?!(?:you|possible|needed|necessary|that|it"
    r"|anything|so|not)\b))",
    r"如果(?!你|可以|需要|有需要|方便|能)|(?<![主只重需])要是|\b(?:wenn|falls) ich\b"
    r"|\bесли (?:я|мы)\b",
    r"\bsi (?:jamais )?(?:j['’e]|je|mon|ma|nous|yo|mi|fuera|tuviera|viviera|trabajara)"
    r"|\bse (?:eu|io)\b",
)
"""A condition: of a habit (`if I skip breakfast I get migraines`), or only supposed."""
IRREAL = _any(
    r"\b(?:were|would|could|might|had)\b|\b(?:wäre|hätte|würde|könnte)\w*"
    r"|\b(?:j['’]étais|j['’]avais|fuera|tuviera|viviera|trabajara)\b|(?<=\w)(?:rais|ría)\b|бы\b"
)
"""Forms of what is not so."""
PLAYED = _any(
    r"\b(?:pretend|role-?play\w*|act(?:ing)? as (?:if|a|an|my|the)|play(?:ing)? the (?:role"
    r"|part) of|you are now|you['’]re now|in character|my character|fictional|make-believe"
    r"|let['’]?s play|in (?:this|the|my|our) (?:story|game|scenario|scene|novel|play|role|book"
    r"|campaign|dream|film|script)|persona\b|dummy (?:data|text)|sample (?:text|data|message"
    r"|sentence|input)|example (?:text|sentence|message|input)|test (?:data|sentence|message"
    r"|input)|placeholder text|d&d|dnd campaign)",
    r"\bwrite\b[^.\n]{0,60}\b(?:that says|saying|which says|where i|in which"
    r"|from the (?:perspective|point of view|view)|as if|as a|narrated|in (?:the )?first person"
    r"|starting with|beginning with)",
    r"\b(?:quote|lyrics?|line|song|poem|joke|riddle)\b[^.\n]{0,40}\b(?:goes|from|says)\b",
    r"假装|假扮|扮演|角色扮演|人设|剧本|台词|独白|例句|造句|测试数据|示例文本|故事里|小说里"
    r"|游戏里|设定[是为]|(?:写|编|讲)(?:一)?[个篇首段].{0,12}(?:故事|小说|诗|剧本|段子|笑话|台词"
    r"|独白)",
    r"(?:写|续)小说|第一人称|\b(?:do|continue|redo|resume|start) (?:the|that|our|this|a) scene\b"
    r"|\bmon perso(?:nnage)?\b|\bmi personaje\b|\bmeine? (?:figur|charakter)\b",
    r"\btu so,? als\b|\brollenspiel\b|\bspiele? (?:die|eine) rolle\b|\bfais comme si\b"
    r"|\bjeu de rôle\b|\bjoue le rôle\b|\bfinge\b|\bjuego de rol\b|\bhaz de cuenta\b|\bfinja\b"
    r"|\bfaz de conta\b|\bfai finta\b|\bgioco di ruolo\b|притворись|ролев|сыграй роль",
    r"\byou(?:['’]re| are| play) (?:an?|the|my)\b[^.!?\n]{1,60}"
    r"\b(?:and |while )?i(?:['’]m| am| play|['’]ll (?:be|play)) (?:an?|the|your)\b"
    r"|\bdu bist (?:der|die|das|eine?|mein\w*)\b[^.!?\n]{1,60}"
    r"\bich bin (?:der|die|das|eine?|dein\w*)\b"
    r"|\btu es (?:une?|l[ea]|mon|ma)\b[^.!?\n]{1,60}\bje suis (?:une?|l[ea]|ton|ta)\b"
    r"|\b(?:tú )?eres (?:una?|el|la|mi)\b[^.!?\n]{1,60}\b(?:yo )?soy (?:una?|el|la|tu)\b"
    r"|你[是演扮当做][^。!?！？\n]{1,30}我[是演扮当做]",
    r"\bhagamos como (?:que|si)\b|\bfaisons comme si\b|\btun wir so,? als\b"
    r"|\bwrite (?:me )?an? (?:\w+ )?(?:monologue|story|poem|speech|scene)\b",
    r"ふりをして|役を演|ロールプレイ|演じて|になりきって|역할극|인 척",
)
"""From here on the speaker may play another person."""
PLAYED_OUT = _any(
    r"\b(?:stop|end|enough|finish\w*|done with|quit) (?:the |this |with the |of )?(?:role|game"
    r"|play|pretend|story|scene)|\bback to (?:normal|reality|work)|\bout of character\b|\booc\b",
    r"结束(?:角色)?扮演|不演了|游戏结束|回到现实|说正经的|言归正传|故事讲完",
)
JOKED = _any(
    r"\b(?:(?:just|only|totally|i['’]?m|was|am) (?:kidding|joking|messing|teasing)|kidding|jk|j/k"
    r"|as a joke|sarcas\w+|april fools?|pulling your leg|not really[.!]?$|scherz|witz"
    r"|je plaisante|je rigole|es broma|bromeo|de broma|brincadeira|scherzo|scherzavo)\b|(?:^"
    r"|\s)/[sj]\b",
    r"开(?:个|一个)?玩笑|逗你|骗你的|瞎说的|胡说的|乱说的|шучу|шутка|冗談|うそです|嘘です|농담"
    r"|장난",
)
CLAIMED = _any(
    r"\b(?:claim(?:s|ed) (?:that|to|i|we|my)|alleg(?:es|ed)|accus(?:es|ed)|rumou?r(?:s|ed)?"
    r"|behaupte\w*|angeblich|unterstell\w*|prétend\w*|soi-disant|accuse(?:nt)?|supuestamente|acusan?)\b",
    r"声称|宣称|谎称|造谣|谣传|谣言|非说|硬说|诬陷|污蔑|冤枉",
)
"""Such a report does not vouch for its content; a doctor `says`, a debt collector `claims`."""
