"""What Chinese statements claim: a table of sentences, each with the attribute that it tells."""

import re
from collections.abc import Iterator

from thalweg.facts.attributes import attribute_key, is_single
from thalweg.facts.chinese import KIND, KIND_OF, spelt, tokens
from thalweg.facts.contrasts import HAN_WORDS
from thalweg.facts.kinds import CHINESE_OCCUPATIONS, SCALES, SINGLE_KINDS
from thalweg.facts.claims import USER, Claim, Polarity, Statement

_NOW = re.compile(
    "现在|目前|如今|当前|已经|已|最近|刚刚?|正在|这两天|近来|这阵子|眼下|以来|从此|今后|以后|往后|终于|新的?|今天|昨[晚天]"
)
_CHANGE = re.compile(
    "改[成为到用由向主]?|换[成到了用]?|搬[到去进家]|变[成为更]|转[到用岗向投为]|迁移?[到至]?|升级|降级|跳槽|离职|辞职|入职|加入|调整|"
    "推迟|提前|延长|延期|缩短|涨到|降到|提高|增加|减少|交接|移交|接手|接替|接管|取代|替换|代替|放弃|取消|停用|下线|废弃|不再|"
    "不.{1,4}了|没再|没有再|戒了?|分手|离婚|结婚|毕业|退休|完成|修好|修复|看完|读完|学完|出院|去世|走了|回家|卖[掉了]|扔|买了|"
    "开始|切换|重装|更新|重新|调到|升为|晋升|降为|弃用|迁至|搬|怀孕|出生了|退出|解散|合并|搞定|关闭了|上线了|恢复|康复|"
    "从.{1,12}[到换转改]|之后|定了|决定|第一天|告别|接任|当上|成了|长到|瘦到|胖到|涨了|降了|升到|提到|缩到"
)
_CORRECTION = re.compile(
    "说错|记错|打错|看错|写错|弄错|搞错|不对|更正|纠正|其实|应该是|不是|实际上|准确地?说|抱歉|口误|笔误|误会|更准确|改主意|澄清|"
    "查了|确认过|搞混|弄混|漏了"
)
_OVER = re.compile(
    "不再|不.{1,5}了|没再|没有再|戒了?|停用|离职|辞职|离开|放弃|取消|下线|废弃|弃用|分手|去世|走了|卖[掉了]|退出|停了|不用了|"
    "曾经?|以前|过去|(?<![0-9])之前|原来|从前|注销|退订|告别"
)
_NEGATION = re.compile("不|没|无|别|未|讨厌|避免|拒绝")
_NOT_NEGATION = re.compile("不对|不是|不过|不仅|不久|不少|不同|没错|差不多|不错|别的|别人|特别|无论|未来|不用谢|分别|不好意思|不耐受")
_WISH = re.compile(
    "打算|计划|准备|考虑|可能|也许|或许|将要?|即将|如果|要是|面试|申请|梦想|争取|有意|想学|想去|想买|想要?|希望(?!.{0,4}(?:回|答|用|注释))"
)
_ADDITION = re.compile("也|还有|另外|此外|同时|兼职|副业|另一[个只名位]|第二[个份]|又养|又有|再加|除了")
_PAST = re.compile(
    r"(?:\d{4}|@\S+)年?[到至~-]+(?:\d{4}|@)|曾经?|以前|过去|当年|小时候|的时候(?=[^。.,,])|从前|(?<![0-9])之前|原来|\d{4}年|\d{2}年生|上大学时|去年|上个?月|前年"
)
_SLOT = (
    "截止日期|截止时间|期限|预算|价格|费用|端口号?|版本号?|密码|代号|名称|域名|地址|路径|目录|分支|超时时间|超时|时区|负责人|联系人|接口人|"
    "邮箱|手机号码?|电话号码|电话|手机|编辑器|框架|数据库|语言|主题|字体|日志级别|级别|上限|下限|限制|间隔|频率|容量|大小|体重|身高|"
    "年龄|生日|血型|星座|国籍|民族|专业|学校|公司|职业|职位|职务|汇率|利率|房租|租金|工资|薪水|月薪|车牌|牙医|教练|导师|班主任|座位|"
    "房间|楼层|工位|商户号|账号|用户名|昵称|网名|目标|状态|进度|优先级|保留时间|保留期|节奏|颜色|温度|时间|日期|地点|会议室|酒店|航班|"
    "代码注释|注释|日志保留|保留|领导|上司|老板|主管|直属领导|经理|名字|姓名|系统|操作系统|浏览器|部署|前端|后端|缓存|消息队列|笔记本|电脑|"
    "显示器|键盘|车|座驾|口味|首选|默认分支|环境|平台|供应商|仓库|支付方式|付款方式|银行|健身房|作息|发布时间|周期|发布周期|人数|团队规模|"
    "规模|定价|折扣|税率|门槛|阈值|步数|学费|房贷|存款|押金|库存|销量|营收|收入|网速|带宽|内存|并发|限流|配额|重试次数|次数|批次|"
    "婚姻状况|住址|老家|家乡|母语|鞋码|尺码|衣服尺码|过敏原|主治医生|律师|房东|中介|门禁|wifi|网络|邮编|工号|学号|座机|网址|链接|域"
)
_IS = (
    "(?:已经)?(?:是|为|叫做?|定在了?|定为|设的是|设为|设置为|设成|改成了?|改为了?|改到了?|改用|变成了?|变为|换成了?|换到了?|换为|调整为|调整到|"
    "调到|调成|延长到|缩短到|推迟到|延期到|提前到|升级到了?|升级成|升级为|涨到了?|降到了?|提高到|增加到|减少到|更新为|更新到|用的是|用|"
    "一律写|一律用|应该是|写|装的是|重装成了?|采用|走|全部走|迁移到了?|切换到了?|切到|改走|放在|存在|在)"
)
_CHECKS = {
    "job": re.compile(rf".*(?:{CHINESE_OCCUPATIONS})$"),
    "relation": re.compile(".*(?:妹|姐|哥|弟|妈|爸|儿|女|老婆|老公|妻|夫|友|对象|另一半|狗|猫|老板|邻居|同事|导师|伴侣|宠物|犬|柯基)"),
    "name": re.compile(r"[\u3400-\u9fffa-z· ]{1,12}$"),
    "place": re.compile(r"[^\d@].*"),
}

_SENTENCES = """
employer | S在V(?:工作|上班|任职|就职|供职|做|当|实习|担任|搬砖|写代码).*
employer | S(?:入职|加入|跳槽到|跳槽去|就职于|任职于|供职于|受雇于|去|到)了?V(?:工作|上班|任职|入职|了)
employer | S(?:入职|加入|跳槽到|跳槽去|就职于|任职于|供职于|受雇于)了?V
employer | S从V(?:离职|辞职|离开)
employer | S的?(?:公司|雇主|单位|工作单位|东家)(?:是|叫|在|换成了?)V
job title | S的?(?:职业|职位|职务|岗位|工作)(?:是|为|变成了?)V
job title | S(?:是|做|当|担任|从事|升为|晋升为|当上了?|成了|转做|转行做|改做)(?:名|个|位)?V:job
home | S(?:居住|定居|现居|常住|生活|住)(?:在|于)?V:place
home | S(?:搬到|搬去|搬家到|搬进|移居|移居到|迁到|迁居|迁居到|搬回|搬家去)了?V
home | S家(?:住|在|安在|搬到了?)V
birthplace | S(?:\\d{2,4}年)?出生(?:在|于)V:place
birthplace | S(?:来自|生于|来自|老家在|老家是|籍贯是|出生于|的?家乡是|的?出生地是)V:place
birthplace | S是(?P<v>[\\u3400-\\u9fff]{2,5})人$
birth year | S(?:出生于|生于)?(?P<v>\\d{4}|\\d{2})年(?:出生|生).*
age | S(?:今年|现在)?(?P<v>\\d{1,3})岁.*
name | S(?:的名字|的姓名|名字)?(?:叫做?|名叫|名字叫|名字是|的名字是|的名字叫|是)V:name
surname | S姓V:name
employer | S(?P<v>失业|待业|退休)了?$
marital status | S(?:是|已经|已)?(?P<v>单身|已婚|未婚|结婚|离婚|离异|订婚|丧偶)了?$
manager | (?P<v>[\\u3400-\\u9fffa-z]{2,8})是S的(?:直属)?(?:领导|上司|老板|主管|经理|上级)
manager | S的?(?:直属)?(?:领导|上司|老板|主管|经理|上级)(?:是|叫|换成了?|变成了?)V
manager | S(?:改|改成|改为|直接)?向V汇报
owner | S(?:由|归)V(?:负责|管|维护|主管|牵头|接手|来做|主导|跟进)
owner | S(?:的)?(?:负责人|owner)(?:是|换成了?|变成了?|改为|改成)V
owner | S(?:交接给|移交给|转给|交给|转交给)了?V
owner | (?P<v>[\\u3400-\\u9fffa-z]{2,4})(?:负责|接手|接管|主导|牵头)了?S$
reviewer | S由V评审
diet | S(?:只)?吃?(?P<v>全素|蛋奶素|纯素|素食|素|肉|清真|生酮)(?:主义者?|者)?$
diet | S是(?P<v>素食|纯素|肉食)(?:主义者?|者)$
commute | S(?P<v>(?:坐|乘|骑|开|走|搭)[^上去通]{0,6})(?:上班|去公司|通勤|上下班)
wake time | S(?:每天|天天|平时|一般|通常|都|早上)*(?P<v>\\d\\d:\\d\\d) ?(?:就)?(?:起床|起来|醒)
wake time | S起床时间(?:是|为|改成了?)(?P<v>\\d\\d:\\d\\d)
bedtime | S(?:每天|天天|平时|一般|通常|都|晚上)*(?P<v>\\d\\d:\\d\\d) ?(?:就)?(?:睡觉|睡|上床|入睡)
allergy | S对V过敏
fear | S(?:有)?(?P<v>恐高|恐飞|怕黑|社恐|幽闭恐惧|晕血)症?$
speaks | S(?:会说|会讲|能说|说|讲)V(?:语|话|文)
learning | S(?:在|正在|开始)?(?:学习|学)V
like | S(?:很|非常|特别|最|挺|比较)?(?:喜欢|喜爱|热爱|爱吃|爱喝|爱看|爱|偏爱)(?!用)V
dislike | S(?:很|非常|特别|最|挺|比较)?(?:讨厌|不喜欢|厌恶|受不了|不爱)V
answer language | S(?:希望|要求|要|想要|喜欢|偏好)?(?:所有)?(?:回答|回复|答复|解释)(?:都|一律|尽量|请)?用V
answer language | S(?:希望|要求|要|想要|喜欢|偏好|请)?(?:都|一律|请)?用V(?:回答|回复|答复|交流|解释|沟通).*
answer length | S(?:希望|要求|要|想要|喜欢|偏好)(?:回答|回复|答复)(?:都|尽量|能|要|可以|更|再)?(?P<v>简短|简洁|精简|简明|详细|详尽|长|短)(?:一?点|一些|些)?
answer length | S(?:希望|要求|要|想要|喜欢|偏好)(?P<v>简短|简洁|精简|简明|详细|详尽)的?(?:回答|回复|答复)
size | S(?:一共|总共|共|现在)?(?:有)?(?P<v>\\d+)(?:个|名|位)?(?:人|工程师|成员|同事|开发)$
deadline | S(?:必须|需要|要|得|应该|应)(?:在)?V(?:之前|前)?(?:完成|交付|上线|做完|交)
when | S(?:定|安排|放|约|改|推迟|提前)?(?:在|到|是|改到|推迟到|提前到|改成|定在)V:when
plays | S会?(?:弹|拉|吹|打)V
cadence | S每(?P<v>\\d*个?(?:周|月|天|年|季度|日))(?:发布?|上线|更新|更换|换|开)(?P<x>.+)
whereabouts | S在(?P<v>.+?)住院
whereabouts | S(?:已经)?(?:出院|从.+出院)?回(?P<v>家)
mother tongue | S的?母语是V
weight | S(?:体重)?(?:是|有|重|现在)?(?P<v>\\d+(?:\\.\\d+)?(?:公斤|kg|斤))$
height | S(?:身高)?(?:是|有|高)?(?P<v>\\d+(?:\\.\\d+)?(?:厘米|cm|米))$
price | S(?:要|卖|花了?|价格)(?P<v>\\d+(?:元|块))
spouse | S(?:和|跟|与)V结婚了?
""".strip()
_CHECKS["when"] = re.compile(r"(?:@|\d\d:|周[1-7]|下周|每周|明天|.*\d\d:\d\d).*")


def _compiled() -> Iterator[tuple[str, re.Pattern[str], str]]:
    for line in _SENTENCES.splitlines():
        attribute, _, text = line.partition(" | ")
        check = ""
        found = re.search(r"V:(\w+)", text)
        if found:
            check, text = found[1], text.replace(found[0], "V")
        text = text.replace("S", r"(?P<s>.{0,14}?)", 1)
        text = text.replace("V", r"(?P<v>.+)" if text.endswith("V") else r"(?P<v>.+?)", 1)
        yield attribute, re.compile(rf"^{text}"), check


SENTENCES = tuple(_compiled())
_SLOTTED = re.compile(
    rf"^(?P<s>.{{0,16}}?)的?(?P<y>(?:最喜欢的|最爱的|首选的?)[^是]{{1,6}}|{_SLOT}){_IS}(?:了|着)?(?P<v>.+)$"
)
_USE = re.compile(
    "^(?P<s>.{0,16}?)(?:是|使用|用的是|用的|用|采用|改用|换成了?|换用|换了|切换到了?|迁移到了?|转到|转用|搬到了?|升级到了?|装的是|"
    "重装成了?|开一辆|开|跑在|运行在|部署在|走|拿|精通|买了|买|发到|喜欢用|偏爱|养了?)(?P<v>.+)$"
)
_SUBJECT = re.compile(r"^(?:用户|本人|我|咱)(?:的)?(?:家)?|的$|^(?:在|把|将|对(?!象)|让|希望|要求|想要|喜欢)|(?:已经|已|都|就|也|是|的|把|现在|全部|从此)+$")
_TEAM = re.compile("^(?:我们|咱们|我司|本组)(?:的)?(?:团队|组|这边|公司)?|^团队|^小组")
_TAIL = re.compile("(?:[,,。;;、]|因为|所以|以便|才|就好|的人|呢|了)+.*$|(?:的|了|吧|呀)$")


def _key(subject: str) -> str:
    """Give a subject's key: the user, the team, or the words for who it is."""
    text = subject.strip(" ,")
    if _TEAM.match(text):
        rest = _TEAM.sub("", text)
        return f"team {rest}".strip()
    before = None
    while before != text:
        before, text = text, _SUBJECT.sub("", text).strip()
    return "".join(tokens(text)) or (text or USER)


_CONTRAST = re.compile(f"(?=({'|'.join(sorted(HAN_WORDS, key=len, reverse=True))}))")
_KIN_OF = {"妈妈": "母亲", "我妈": "母亲", "爸爸": "父亲", "我爸": "父亲", "老公": "丈夫", "老婆": "妻子", "媳妇": "妻子",
           "男友": "男朋友", "女友": "女朋友", "另一半": "对象", "主治医生": "医生"}  # fmt: skip


def _kin_folded(text: str) -> str:
    for word, name in _KIN_OF.items():
        text = text.replace(word, name)
    return text


def subject_of(subject: str) -> str:
    """Fold a subject as a learner gave it."""
    return _key(spelt(subject))


def read(content: str) -> Statement:
    """Read a Chinese statement; see `read_statement`."""
    text = spelt(content)
    claims: list[Claim] = []
    old: list[frozenset[str]] = []
    subject = ""
    for clause in _clauses(text):
        found = tuple(_claims(clause, subject, content))
        if found and found[0].subject != USER:
            subject = subject or _subject_of(clause)
        claims += found
        old += _old(clause)
    ordered = tokens(_ADDITION.sub("", _NOW.sub("", text)))
    typed = frozenset(_typed(text))
    over = [bool(_OVER.search(clause)) for clause in _clauses(text)]
    negated = bool(_NEGATION.search(_NOT_NEGATION.sub("", text)))
    return Statement(
        claims=tuple(dict.fromkeys(claims)),
        words=frozenset(ordered),
        ordered=ordered,
        typed=typed,
        names=tuple(re.findall(r"[A-Za-z][\w.+#-]*", content.lower())),
        polarity="over" if over and all(over) else "not" if negated else "holds",
        modality="wish" if _WISH.search(text) else "past" if _PAST.search(text) else "fact",
        has_cue=bool(_NOW.search(text) or _CHANGE.search(text) or _CORRECTION.search(text)),
        is_additional=bool(_ADDITION.search(text)),
        old=tuple(dict.fromkeys(old)),
        anchors=_anchors(text),
        is_event=bool(_EVENT.search(text)),
        text=text,
        marks=_anchors(text)
        | {word for word in ordered if len(word) > 1}
        | {claim.attribute for claim in claims}
        | {f"a {kind}" for kind, _ in typed if kind not in {"number", "date"}},
        contrasts=frozenset(_CONTRAST.findall(_kin_folded(text))),
        language="zh",
    )


_EVENT = re.compile("去了|买了|参加了|看了|吃了|见了|跑了|花了|拿了|获得了|考了|写了|去过|看过|参加过")
_NO_ANCHOR = re.compile(
    r"用户|我们|本人|自己|现在|目前|已经|改成|改为|改到|换成|搬到|升级|迁移|其实|应该|不是|说错|记错|看错|写错|打错|以后|"
    r"今天|昨天|昨晚|上周|上个?月|下个?月|去年|明年|这个|那个|一个|之后|之前|全部|一律|希望|喜欢|开始|使用|每天|上班|工作|没有|周[1-7]|"
    r"\d\d:\d\d|@[\d-]+|\d+(?:\.\d+)*|[我的了是在有把被从到用为和也就都会要不没个名位只这那他她它很]"
)


def _anchors(text: str) -> frozenset[str]:
    """List what two statements on the same matter would share: pairs of letters, other words."""
    found: set[str] = set()
    for part in _NO_ANCHOR.sub(" ", text).split():
        for run in re.findall(r"[\u3400-\u9fff]+", part):
            found.update(run[i : i + 2] for i in range(len(run) - 1))
        found.update(re.findall(r"[a-z][a-z0-9_.+#-]+", part))
    return frozenset(found)


_BREAK = re.compile(r"[,,。;;!!??:]\s*|\s*—+\s*|但是?|然后|而且|并且?")
_LEAD_IN = re.compile(
    "^(?:其实|更正|说错了|不对|对了|顺便|另外|请?记住|备注|注意|实际上|抱歉|媳妇说|老婆说|听说|所以|以后|从今天起|组织调整以后)+"
)


def _clauses(text: str) -> list[str]:
    parts = (_LEAD_IN.sub("", part.strip(" .")) for part in _BREAK.split(text))
    return [part for part in parts if len(part) > 1]


def _subject_of(clause: str) -> str:
    found = re.match(r"^(.{0,8}?)(?:在|是|有|用|叫|住|的)", clause)
    return found[1] if found else ""


def _bare(clause: str) -> str:
    clause = _ADDITION.sub("", re.sub("不再|曾经?|以前|过去|从前", "", _NOW.sub("", clause)))
    clause = re.sub(r"^(.{0,10}?)不(吃|喝|用|在|住|去|做)(.*?)了$", r"\1\2\3", clause)
    clause = re.sub("了$", "", clause)
    return re.sub("正好|一直|通常|主要|平时|非常|其实|全部|都", "", clause).strip(" ,")


def _claims(clause: str, default: str, content: str) -> Iterator[Claim]:
    bare = _bare(clause)
    is_change = bool(_CHANGE.search(clause) or _NOW.search(clause) or _CORRECTION.search(content))
    polarity: Polarity = (
        "over" if _OVER.search(clause)
        else "not" if _NEGATION.search(_NOT_NEGATION.sub("", clause)) else "holds"
    )  # fmt: skip
    if _WISH.search(clause):
        return
    seen: set[str] = set()
    for attribute, pattern, check in SENTENCES:
        found = pattern.match(bare)
        if not found or attribute in seen:
            continue
        value = _TAIL.sub("", found["v"]).strip()
        subject = found.groupdict().get("s") or default
        value = {"结婚": "已婚", "离异": "离婚", "未婚": "单身"}.get(value, value)
        if attribute == "diet":
            value = {"素食": "素", "全素": "纯素"}.get(value, value)
        if attribute == "birth year" and len(value) == len("92"):
            value = f"{'20' if value < '30' else '19'}{value}"
        if not value or (check and not _CHECKS[check].match(value)):
            continue
        if attribute == "name" and (not _CHECKS["relation"].match(subject) and subject not in {"我", "用户", ""}
                                    or re.search(r"是$", subject) or (bare.find("是") == len(subject) and "叫" not in bare and "名" not in bare)):  # fmt: skip
            continue
        if attribute == "when" and "deadline" in seen:
            continue
        if attribute == "when" and _SLOTTED.match(bare):
            continue
        if attribute == "employer" and re.search(r"家$|远程|\d\d:", value):
            continue
        if attribute == "cadence":
            subject = f"{subject}{found['x']}"
        seen.add(attribute)
        key = _key(subject)
        yield Claim(
            key, attribute, "".join(tokens(value)) or value, _single(attribute, key), polarity,
            frozenset(tokens(bare[found.end("v") :])) if attribute == "x" else frozenset(), is_change,
        )  # fmt: skip
    if seen - {"birth year", "age"}:
        return
    yield from _slots(bare, default, polarity, is_change=is_change)


def _single(attribute: str, key: str) -> bool:
    if attribute in {"name", "surname"}:
        return True
    if attribute == "whereabouts":
        return True
    if attribute in {"allergy", "fear", "speaks", "learning", "like", "dislike", "plays"}:
        return False
    return attribute in {"when", "cadence", "reviewer", "mother tongue"} or is_single(attribute) or not key


_KIND_WORDS = frozenset(("编辑器", "数据库", "框架", "语言", "系统", "工具", "软件", "浏览器", "手机号", "代", "码", "写", "编", "程",
                         "器", "数", "据", "库", "框", "架"))  # fmt: skip


def _slots(bare: str, default: str, polarity: Polarity, *, is_change: bool) -> Iterator[Claim]:
    found = _SLOTTED.match(bare)
    if found:
        value = _TAIL.sub("", found["v"]).strip()
        if value:
            yield Claim(_key(found["s"] or default), attribute_key(found["y"]),
                        "".join(tokens(value)) or value, True, polarity, is_change=is_change)  # fmt: skip
    used = _USE.match(bare)
    member = KIND.search(used["v"]) if used else None
    if used and member and member.start() <= 3:  # noqa: PLR2004
        kind = KIND_OF[member[0]]
        version = re.match(r" ?(\d+(?:\.\d+)*)", used["v"][member.end() :])
        value = member[0] + (f" {version[1]}" if version else "")
        rest = used["v"][member.end() + (version.end() if version else 0) :]
        yield Claim(_key(used["s"] or default), kind, value, kind in SINGLE_KINDS, polarity,
                    frozenset(tokens(_TAIL.sub("", rest))) - _KIND_WORDS, is_change)  # fmt: skip


_FROM = re.compile(r"(?:从|由|把)(?P<o>[^,]{1,12}?)(?:改成|改为|改到|换成|换到|搬到|迁到|迁移到|转到|切换到|升级到|变成|调到|跳槽到|到)")
_NOT = re.compile(r"(?:^|,)(?:不是|并非)(?P<o>[^,而]{1,12})")
_GONE = re.compile(
    r"^(?P<o>.{1,14}?)(?:已经|上个?月|上周|昨天|今天|去年)?(?:停用|走|下线|废弃|弃用|取消|去世|转岗|离职|卖掉|没)了?$|"
    r"(?:不用|不吃|不喝|不在|不去|不再用|不再|戒|放弃|取消|停用|卖掉|告别|离开|不养|不做|不玩|不看|不学|不抽)了?(?P<p>[^,了]{1,10})了?$"
    r"|从(?P<q>.{1,10}?)(?:离职|辞职|退出|离开|出院)|[和跟与](?P<r>[^,]{1,8}?)(?:分手|离婚|绝交)"
)


def _old(clause: str) -> Iterator[frozenset[str]]:
    for pattern in (_FROM, _NOT, _GONE):
        found = pattern.search(clause)
        if found:
            words = next(group for group in found.groups() if group)
            told = frozenset(tokens(_NOW.sub("", words)))
            if told:
                yield told


_UNITS = "毫秒|小时|分钟|公斤|厘米|公里|季度|个?人|名?工程师|个?月|个?版本|秒|天|岁|次|楼|层|kg|斤|米|元|块|周|年|级|度|分"
_TYPED = (
    ("date", re.compile(r"@[\d-]+")),
    ("time", re.compile(r"\d\d:\d\d")),
    ("weekday", re.compile(r"周[1-7]")),
    ("every", re.compile(r"每(\d*个?(?:天|周|月|年|季度|小时|分钟|日))")),
    ("version", re.compile(r"(?<![\d.])\d+\.\d+(?:\.\d+)*")),
    ("email", re.compile(r"[a-z0-9_.+-]+@[a-z0-9_.-]+[a-z0-9]")),
    ("title", re.compile("[《“「\"]([^》”」\"]+)[》”」\"]")),
)
_COUNT = re.compile(rf"(?<![\d.:@-])(\d+(?:\.\d+)?) ?({_UNITS})?(?![\d.:])")
_SCALES = {
    part.strip(): number
    for number, line in enumerate(SCALES.splitlines())
    for part in line.split("|")
    if not part.strip().isascii()
}
_SCALE = re.compile("|".join(sorted(_SCALES, key=len, reverse=True)))


def _typed(text: str) -> Iterator[tuple[str, str]]:
    for kind, pattern in _TYPED:
        yield from ((kind, value) for value in pattern.findall(text))
    for number, unit in _COUNT.findall(text):
        yield (f"count {unit.removeprefix('个').removeprefix('名')}" if unit else "number", number)
    for member in KIND.findall(text):
        yield KIND_OF[member], member
    for word in _SCALE.findall(text):
        yield f"scale {_SCALES[word]}", word
