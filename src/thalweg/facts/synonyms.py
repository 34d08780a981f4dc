"""Words that tell the same, as classes: the first of a line stands for all of them.

English words are written as they are read in a dictionary and are compared by their stems; Chinese
words are replaced where they stand, the longest first. A class holds only what may stand for
another in nearly every statement: what is merely alike is not the same fact.
"""

import re

from thalweg.words import fold

ENGLISH_WORDS = """
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
salary pay wage earnings income
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

ENGLISH_PHRASES = """
like : be fond of | be into | be keen on | be a fan of | be a big fan of | be a huge fan of | be crazy about | have a passion for | be passionate about | take pleasure in | be really into | care for
dislike : can not stand | can not bear | do not like | do not enjoy | do not love | be not a fan of | be not fond of | be not into | have an aversion to | do not care for | be no fan of
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

CHINESE_WORDS = """
喜欢 喜爱 热爱 爱好 钟爱 偏爱 爱喝 爱吃 爱看 爱听 爱玩 很爱 最爱 特别爱 酷爱 偏好 更喜欢 倾向于 更愿意 更偏好
讨厌 厌恶 不喜欢 不爱 反感 受不了 讨厌吃
居住 住 住在 居住在 定居 定居在 家住 生活在 现居 常住
工作 上班 任职 就职 供职 打工 在职 效力
公司 企业 雇主 单位
对象 另一半 伴侣
职业 职务 岗位 职位 工种
妻子 老婆 太太 爱人 媳妇 夫人
丈夫 老公 先生
女朋友 女友
男朋友 男友
母亲 妈妈 妈 老妈
父亲 爸爸 爸 老爸
父母 爸妈 双亲
儿子 男孩
女儿 闺女 女孩
孩子 小孩 子女 娃
哥哥 大哥
姐姐 大姐
奶奶 祖母
爷爷 祖父
外婆 姥姥
外公 姥爷
生日 出生日期 诞辰
出生 生于 出生于 出生在
年龄 岁数 年纪
名字 姓名 名叫 叫做 叫作 叫 名为 取名
昵称 外号 绰号 小名
手机号 电话 电话号码 手机号码 联系电话 手机 号码
邮箱 电子邮箱 邮件地址 电子邮件 邮件 email Email 邮箱地址
汽车 车 轿车 座驾 车子
自行车 单车 脚踏车
编辑器 代码编辑器 IDE
数据库 资料库
程序员 开发者 开发人员 码农
软件工程师 软件开发工程师
医生 大夫
老师 教师
律师
学习 学 在学 研究 攻读
开始 着手
完成 结束 做完
购买 买 购入 入手 买下 购置 采购
使用 用 采用 运用 在用
每天 每日 天天
每周 每星期 每礼拜 一周
每月 每个月
每年 一年
早上 早晨 清晨 上午 早间
晚上 夜里 晚间 夜晚 傍晚
经常 常常 时常 常 总是
偶尔 有时 有时候
很少 极少
跑步 慢跑 晨跑
健身 锻炼 运动
旅行 旅游 出游 游玩
去 前往 到
电影 影片
照片 相片
音乐 歌曲
摄影 拍照
烹饪 做饭 下厨 做菜
辣 辛辣 吃辣 辣的食物 辣菜 辣味
素食 素食主义者 吃素 素食者 不吃肉 纯素
过敏 过敏症 过敏反应
害怕 怕 恐惧
大学 高校
毕业 毕业于 毕业自
博士 博士学位
硕士 硕士学位 研究生
专业 主修
上司 领导 老板 主管 经理 上级
同事 同僚
负责人 主管人 牵头人
负责 主管 主导
截止日期 截止时间 期限 最后期限 deadline DDL ddl 交付日期 截止日 到期日
会议 例会 开会 碰头会
预算 经费
价格 售价 价钱 费用
工资 薪水 薪资 收入 月薪
房租 租金
版本 版本号
端口 端口号
部署 部署在 部署于 部署到
服务器 主机
简短 简洁 简明 精简 简练 简明扼要 言简意赅
详细 详尽 深入 全面
回答 回复 答复 答案 应答
深色 暗色 暗黑 黑暗 深色模式 暗色模式 夜间模式 暗黑模式 深色主题 暗色主题 暗黑主题
浅色 亮色 浅色模式 亮色模式 日间模式 浅色主题 亮色主题
主题 模式
中文 汉语 普通话 华语
英文 英语
日语 日文
法语 法文
德语 德文
猫 猫咪 小猫 喵星人
狗 小狗 狗狗 犬
宠物 养
饮食 吃
喝 饮用 饮
咖啡
茶
希望 想要 想 期望 渴望 愿望是 希望能
目标
计划 打算 准备 规划
团队 小组 组
人 名 个人 位
两 二
最喜欢 最喜爱 最爱
会说 会讲 能说 说 讲
流利 熟练
母语 第一语言
身高 个子
体重
血型
时区
起床 醒来
睡觉 就寝 入睡 上床
远程 在家办公 居家办公 远程办公 远程工作
通勤 上下班
担心 忧虑 焦虑 担忧
开心 高兴 快乐
生病 患病 得病
患有 有 得了
北京 Beijing beijing 北京市
上海 Shanghai shanghai 上海市
深圳 深圳市
广州 广州市
杭州 杭州市
成都 成都市
谷歌 Google google
微软 Microsoft microsoft
苹果 Apple
亚马逊 Amazon
腾讯 Tencent
阿里巴巴 阿里
字节跳动 字节
""".strip()

_WEAK = """
    a an the this that these those of to in on at for with by and or as from's s be have do i me my
    mine myself he she it they him them his her hers its their user we us our who which what when
    where there here very really quite so just still also always usually currently now already
    generally typically normally mostly mainly primarily especially particularly personally about
    around some any all own person people one ones thing things something someone get go such
    etc please would like's will can it's than then only even too well much many lot lots kind type
    sort way per into onto up out mode setting settings style regularly simply basically
    approximately currently presently nowadays fact sure definitely absolutely truly absolute
    respectively whenever while during how there here
"""
_TOOLS = "like prefer use manage run handle do work be make write get have sit locate"
_LIGHT = (
    "sit locate manage handle like prefer go do make take get have use attend spend practise practice favourite hobby time work play "
    "person be stay want"
)

CHINESE_WEAK = (
    "用户", "本人", "自己", "我们", "我的", "我", "咱们", "的", "了", "着", "地", "得", "是", "在", "有", "一个",
    "一名", "一位", "一只", "一条", "一款", "一种", "一家", "名", "位", "个", "只", "款", "很", "非常", "特别",
    "十分", "比较", "挺", "真的", "都", "也", "就", "会", "能", "可以", "目前", "现在", "如今", "当前", "一直",
    "通常", "一般", "平时", "平常", "主要", "这个", "那个", "这", "那", "他", "她", "它", "其", "对", "于",
    "为", "和", "与", "及", "被", "把", "给", "让", "所", "而", "并", "且", "吗", "呢", "吧", "啊", "呀", "方面",
    "以及", "还", "已经", "已", "正在", "正", "去", "进行", "做", "东西", "食物", "习惯", "一些", "之", "里",
    "上", "中", "使用", "时候", "时", "该", "家", "要", "用", "拿", "套", "再", "从事", "担任", "当", "作为", "身份", "一份",
)  # fmt: skip


IRREGULAR = {
    form: verb
    for verb, forms in {
        "be": "am is are was were been being", "have": "has had having", "do": "does did done doing",
        "go": "goes went gone going", "use": "uses used using", "get": "gets got gotten getting",
        "buy": "bought", "drive": "drove driven driving", "speak": "spoke spoken", "eat": "ate eaten",
        "drink": "drank drunk", "write": "wrote written writing", "read": "reads", "run": "ran",
        "swim": "swam swum", "teach": "taught", "think": "thought", "sleep": "slept", "wake": "woke",
        "leave": "left leaves leaving", "quit": "quits quitting", "begin": "began begun beginning",
        "grow": "grew grown", "become": "became becomes becoming", "meet": "met", "pay": "paid",
        "sell": "sold", "spend": "spent", "build": "built", "keep": "kept", "hold": "held",
        "choose": "chose chosen", "take": "took taken taking", "give": "gave given giving",
        "make": "made making makes", "come": "came coming comes", "know": "knew known", "lead": "led",
        "ride": "rode ridden riding", "wear": "wore worn", "find": "found", "lose": "lost",
        "move": "moving", "live": "living", "person": "people", "child": "children kids kid",
        "man": "men", "woman": "women", "say": "said", "tell": "told", "send": "sent", "fly": "flew",
        "sing": "sang sung", "see": "saw seen", "feel": "felt", "i": "im", "wife": "wives",
        "an": "an", "life": "lives_", "analysis": "analyses", "foot": "feet", "mouse": "mice",
        "break": "broke broken breaking", "fall": "fell fallen", "rise": "rose risen", "draw": "drew drawn",
        "win": "won", "catch": "caught", "bring": "brought", "learn": "learnt", "die": "dies",
        "data": "datum", "tie": "ties tying", "lie": "lying", "die": "died dying",
    }.items()
    for form in forms.split()
}  # fmt: skip


def lemma(word: str) -> str:
    """Fold an English word in lower case to what all its forms fold to."""
    word = IRREGULAR.get(word, word)
    return fold(word) if word.isalpha() and word.isascii() else word


def _english_classes() -> dict[str, str]:
    classes: dict[str, str] = {}
    for line in ENGLISH_WORDS.splitlines():
        words = line.split()
        for word in words:
            classes.setdefault(lemma(word), lemma(words[0]))
    return classes


def _phrases() -> dict[str, str]:
    phrases: dict[str, str] = {}
    for line in ENGLISH_PHRASES.splitlines():
        name, _, rest = line.partition(" : ")
        for phrase in rest.split(" | "):
            phrases[_folded(phrase)] = _folded(name)
    return phrases


def _folded(phrase: str) -> str:
    return " ".join(lemma(word) for word in phrase.split() if word != "the")


def _canonical(words: str) -> frozenset[str]:
    return frozenset(CLASS_OF.get(lemma(word), lemma(word)) for word in words.split())


_SAFE_LETTERS = frozenset("两妈爸狗犬娃买怕")
CHINESE_LIGHT = frozenset(
    ("喜欢", "工作", "管", "理", "管理", "每", "更", "换", "次", "一", "教", "老师", "办", "公", "工", "位",
     "购买", "房", "子", "负责", "学习", "坐", "写", "觉", "尽", "量", "请", "希望", "求", "样", "最", "起", "来",
     "从", "自", "起床", "每天", "早上", "晚上", "他们", "它们", "里面", "今", "年")
)  # fmt: skip
"""Words and letters that may be missing where four others agree."""
"""Chinese words of one letter that are seldom part of another word."""


def _chinese_classes() -> dict[str, str]:
    classes: dict[str, str] = {}
    for line in CHINESE_WORDS.splitlines():
        words = line.split()
        for word in words:
            if len(word) > 1 or word in _SAFE_LETTERS:
                classes.setdefault(word, words[0])
    return classes


CHINESE_CLASS_OF = _chinese_classes()
CHINESE_WORD = re.compile(
    "|".join(map(re.escape, sorted({*CHINESE_CLASS_OF, *CHINESE_WEAK}, key=len, reverse=True)))
)
CLASS_OF = _english_classes()
"""The stem that stands for a stem's class."""
ENGLISH_WEAK = _canonical(_WEAK)
"""Words that tell nothing by themselves when the rest of two statements is the same."""
ENGLISH_TOOLS = _canonical(_TOOLS)
"""Verbs that may be missing where two telling words agree."""
ENGLISH_LIGHT = _canonical(_LIGHT)
"""Verbs that may be missing where at least three telling words agree."""
PHRASES = _phrases()
PHRASE = re.compile(
    r"(?<!\S)(?:" + "|".join(map(re.escape, sorted(PHRASES, key=len, reverse=True))) + r")(?!\S)"
)
