"""What tells how a Chinese statement is meant: that it is new, over, a wish, one more.

Phrases of a table are parted by bars, and are patterns.
"""


def pattern(table: str) -> str:
    """Give a table as one pattern."""
    return table.replace("\n", "")


NOW = pattern(r"""
现在|目前|如今|当前|已经|已|最近|刚刚?|正在|这两天|近来|这阵子|眼下|以来|从此|今后|以后|往后|
终于|新的?|今天|昨[晚天]
""")
"""It holds now, and perhaps did not before."""
CHANGE = pattern(r"""
改[成为到用由向主]?|换[成到了用]?|搬[到去进家]|变[成为更]|转[到用岗向投为]|迁移?[到至]?|升级|
降级|跳槽|离职|辞职|入职|加入|调整|推迟|提前|延长|延期|缩短|涨到|降到|提高|增加|减少|交接|移交|
接手|接替|接管|取代|替换|代替|放弃|取消|停用|下线|废弃|不再|不.{1,4}了|没再|没有再|戒了?|分手|
离婚|结婚|毕业|退休|完成|修好|修复|看完|读完|学完|出院|去世|走了|回家|卖[掉了]|扔|买了|开始|
切换|重装|更新|重新|调到|升为|晋升|降为|弃用|迁至|搬|怀孕|出生了|退出|解散|合并|搞定|关闭了|
上线了|恢复|康复|从.{1,12}[到换转改]|之后|定了|决定|第一天|告别|接任|当上|成了|长到|瘦到|胖到|
涨了|降了|升到|提到|缩到|续[到至期签费约订]|延至|录取|考上
""")
"""It is told as a change."""
CORRECTION = pattern(r"""
说错|记错|打错|看错|写错|弄错|搞错|不对|更正|纠正|其实|应该是|不是|实际上|准确地?说|抱歉|口误|
笔误|误会|更准确|改主意|澄清|查了|确认过|核对过|核实过|搞混|弄混|漏了
""")
"""It is told as a correction."""
OVER = pattern(r"""
不再|不.{1,5}了|没再|没有再|戒了?|停用|离职|辞职|离开|放弃|取消|下线|废弃|弃用|分手|去世|走了|
卖[掉了]|退出|停了|不用了|曾经?|以前|过去|(?<![0-9])之前|原来|从前|注销|退订|告别
""")
"""It held, and does no more."""
NEGATION = pattern(r"""
不|没|无|别|未|讨厌|避免|拒绝
""")
"""It is not so."""
NOT_NEGATION = pattern(r"""
不对|不是|不过|不仅|不久|不少|不同|没错|差不多|不错|别的|别人|特别|无论|未来|不用谢|分别|
不好意思|不耐受
""")
"""What only looks like it."""
WISH = pattern(r"""
打算|计划|准备|考虑|可能|也许|或许|将要?|即将|如果|要是|面试|申请|梦想|争取|有意|想学|想去|
想买|想要?|希望(?!.{0,4}(?:回|答|用|注释))
""")
"""It does not hold yet: a plan, a hope, a chance."""
ADDITION = pattern(
    r"""也|还有|另外|此外|同时|兼职|副业|另一[个只名位]|第二[个份]|又养|又有|再加|除了"""
)
"""It holds beside what was known."""
PAST = pattern(r"""
(?:\d{4}|@\S+)年?[到至~-]+(?:\d{4}|@)|曾经?|以前|过去|当年|小时候|的时候(?=[^。.,,])|从前|
(?<![0-9])之前|原来|(?<!到)\d{4}年|\d{2}年生|上大学时
""")
"""It held once; nothing is told of now."""
EVENT = pattern(
    r"""去了|买了|参加了|看了|吃了|见了|跑了|花了|拿了|获得了|考了|写了|去过|看过|参加过|[读看听学]完了"""
)
"""It happened; nothing that happens later replaces it."""
NO_ANCHOR = pattern(r"""
用户|我们|本人|自己|现在|目前|已经|改成|改为|改到|换成|搬到|升级|迁移|其实|应该|不是|说错|记错|
看错|写错|打错|以后|今天|昨天|昨晚|上周|上个?月|下个?月|去年|明年|这个|那个|一个|之后|之前|
全部|一律|希望|喜欢|开始|使用|每天|上班|工作|没有|周[1-7]|\d\d:\d\d|@[\d-]+|\d+(?:\.\d+)*|
[我的了是在有把被从到用为和也就都会要不没个名位只这那他她它很]
""")
"""What two statements may share without being about one matter."""
LEAD_INS = pattern(r"""
其实|更正|说错了|不对|对了|顺便|另外|请?记住|备注|注意|实际上|抱歉|听说|所以|以后|从今天起|
(?:我?(?:媳妇|老婆|老公|妈妈?|爸爸?)|老板|同事|客户|朋友|医生)说|.{2,8}以后$
""")
"""What a statement may begin with and be the same without it."""
