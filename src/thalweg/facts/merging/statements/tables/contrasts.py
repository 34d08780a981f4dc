"""Words that set facts apart: a line holds what excludes each other."""

ENGLISH = """
work home private personal school office weekend leisure
weekday weekend sunday saturday
production staging development test sandbox live qa preview canary local
frontend backend mobile web desktop server client
least most minimum maximum min max
older younger eldest youngest oldest elder twin
outbound return inbound
q1 q2 q3 q4
summer winter spring autumn
breakfast lunch dinner
sister brother mother father wife husband son daughter cousin aunt uncle nephew niece friend
    girlfriend boyfriend neighbour neighbor colleague grandmother grandfather boss manager
    dentist doctor gp roommate partner landlord therapist child
dog cat rabbit hamster parrot horse fish bird turtle
left right
unit integration e2e
primary secondary backup
read write
upload download
ios android
customer team
laptop desktop tablet phone watch
morning evening afternoon night
incoming outgoing input output
north south east west
internal external
public private
buy sell
arrival departure
landline mobile
red white
adult child
scripting frontend backend data
bachelor master phd
1th 2th 3th 4th 5th current latest next previous
single double
""".strip()

CHINESE = """
公司 在家 家里 上班 单位
工作日 周末
生产 测试 开发环境 预发 正式 沙箱 线上 本地
前端 后端 移动端 客户端 服务端
最少 最多 至少 至多 最大 最小 上限 下限 最低 最高
大儿子 小儿子 大女儿 小女儿
大姐 二姐 三姐 小妹 大哥 二哥 小弟
去程 返程 回程
1季度 2季度 3季度 4季度 一季度 二季度 三季度 四季度
夏天 冬天 春天 秋天
早餐 午餐 晚餐 早饭 午饭 晚饭
母亲 父亲 姐姐 妹妹 哥哥 弟弟 丈夫 妻子 儿子 女儿 朋友 女朋友 男朋友 邻居 同事 奶奶 爷爷 外公
    外婆 老板 牙医 医生 室友 对象 表姐 表弟 堂哥 舅舅 姑姑 姨妈 叔叔
猫 狗 兔 仓鼠 鹦鹉 鱼 乌龟
左 右
读 写
上传 下载
客户 我们
私人 个人 工作
报警 日报 周报 月报
入口 出口
输入 输出
早上 下午 晚上
本科 硕士 博士
登录 搜索 支付 订单
收入 支出
国内 国外
脚本 前端
""".strip()
