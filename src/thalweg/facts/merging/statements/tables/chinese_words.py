"""Words of Chinese that tell the same, as classes: the first of a line stands for all of them.

Words are found where they stand, the longest first.
"""

import re

from thalweg.facts.merging.statements.tables.rows import rows

_CLASSES = """
喜欢 喜爱 热爱 爱好 钟爱 偏爱 很爱 最爱 特别爱 酷爱 偏好 更喜欢 倾向于
    更愿意 更偏好
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
收藏 收集 搜集
旅行 旅游 出游 游玩
坐 乘 乘坐 搭乘
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
北京大学 北大
清华大学 清华
浙江大学 浙大
复旦大学 复旦
武汉大学 武大
上海交通大学 上海交大
中国人民大学 人民大学 人大
""".strip()

WEAK = frozenset(
    """
    用户 本人 自己 我们 我的 我 咱们 的 了 着 地 得 是 在 有 一个 一名 一位 一只 一条 一款 一种
    一家 名 位 个 只 款 很 非常 特别 十分 比较 挺 真的 都 也 就 会 能 可以 目前 现在 如今 当前
    一直 通常 一般 平时 平常 主要 这个 那个 这 那 他 她 它 其 对 于 为 和 与 及 被 把 给 让 所 而
    并 且 吗 呢 吧 啊 呀 方面 以及 还 已经 已 正在 正 去 进行 做 东西 食物 习惯 一些 之 里 上 中
    使用 时候 时 该 家 要 用 拿 套 再 从事 担任 当 作为 身份 一份
    """.split()
)


LIGHT = frozenset(
    """
    养
    喜欢 工作 管 理 管理 每 更 换 次 一 教 老师 办 公 工 位 购买 房 子 负责 学习 坐 写 觉 尽 量 请
    希望 求 样 最 起 来 从 自 起床 每天 早上 晚上 他们 它们 里面 今 年
    """.split()
)
"""Words and letters that may be missing where four others agree."""
_SAFE_LETTERS = frozenset("两妈爸狗犬娃买怕坐乘")
"""Words of one letter that are seldom part of another word."""


def _classes() -> dict[str, str]:
    classes: dict[str, str] = {}
    for row in rows(_CLASSES):
        words = row.split()
        for word in words:
            if len(word) > 1 or word in _SAFE_LETTERS:
                classes.setdefault(word, words[0])
    return classes


CLASS_OF = _classes()
"""The word that stands for a word's class."""
WORD = re.compile("|".join(map(re.escape, sorted({*CLASS_OF, *WEAK}, key=len, reverse=True))))
