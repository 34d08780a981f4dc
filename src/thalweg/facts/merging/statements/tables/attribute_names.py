"""Attributes by all their names, and those of which somebody has several."""

ALIASES = """
employer : company | workplace | works at | work at | works for | place of work
    | current employer | employment | organization | organisation | 公司 | 雇主 | 工作单位
    | 单位 | 就职公司 | current company
job title : job | title | role | occupation | profession | position | job role | works as
    | current role | 职业 | 职位 | 岗位 | 职务 | 工作
home : home city | residence | lives in | live in | city | location | place of residence
    | current city | current location | home location | address city | living place | 住址
    | 居住地 | 所在城市 | 城市 | 住所 | 家
birthplace : place of birth | born in | hometown | origin | 出生地 | 家乡 | 老家 | 籍贯
birthday : birth date | date of birth | birthdate | dob | born on | 生日 | 出生日期
birth year : year of birth | born | 出生年份
age : years old | 年龄
name : full name | first name | real name | 名字 | 姓名 | spelling of name
nickname : preferred name | goes by | 昵称 | 小名
spouse : wife | husband | married to | 妻子 | 丈夫 | 老婆 | 老公
partner : girlfriend | boyfriend | significant other | 女朋友 | 男朋友 | 对象
marital status : relationship status | civil status | married | 婚姻状况 | 婚姻状态
phone number : phone no | telephone | telephone number | mobile number | cell | 电话 | 手机号
    | 电话号码
phone : mobile phone | smartphone | phone model | 手机 | 手机型号
email : e-mail | email address | e-mail address | mail | 邮箱 | 电子邮箱
car : vehicle | drives | car model | 车 | 汽车
editor : code editor | ide | text editor | 编辑器
operating-system : os | operating system | 操作系统 | 系统
programming-language : main language | primary programming language | 编程语言
answer language : response language | reply language | language of answers
    | language of replies | 回答语言 | 回复语言
answer length : response length | answer style | response style | reply length | verbosity
    | 回答长度 | 回答风格
database : db | datastore | 数据库
framework : web framework | frontend framework | 框架
deployment : deployment target | deploy target | deployment platform | hosting | hosted on
    | deployed on | deployment tool | 部署方式 | 部署平台
deadline : due date | due | 截止日期 | 截止时间 | 期限 | 交付日期
day : date | weekday | 日期 | 星期
time : start time | meeting time | 时间 | departure | departure time | 出发时间
budget : 预算
price : cost | 价格 | 费用
version : 版本
port : port number | 端口 | 端口号
size : team size | headcount | number of people | 规模 | 人数
manager : boss | supervisor | reports to | line manager | 上司 | 领导 | 经理
owner : responsible | responsible person | lead | maintainer | 负责人
diet : eating habits | dietary preference | dietary restriction | 饮食 | 饮食习惯
goal : aim | objective | 目标
status : state | condition | 状态
weight : 体重
height : 身高
wake time : wake-up time | wakes up at | gets up at | 起床时间
bedtime : sleep time | goes to bed at | 睡觉时间
commute : commuting | way to work | transport to work | 通勤 | 通勤方式
timezone : time zone | 时区
url : link | address | website
path : location of file | file path | 路径
native language : mother tongue | first language | 母语
"""
"""The one name of an attribute, and what else learners call it."""
MULTIPLE = """
pet hobby interest skill expertise like dislike preference speaks child kid son daughter sibling
brother sister friend colleague allergy intolerance fear visited trip event purchase bought owns
possession wish dream plays condition symptom illness disease certification degree achievement
    award
task todo reminder note experience knowledge knows learned studies membership ingredient
    requirement
constraint quote opinion belief strength weakness past former previous history read watched
    attended
injury ailment disorder surgery dialect
met family relative competitor dependency integration collects gift mention preferences fact
爱好 兴趣 宠物 喜欢 不喜欢 讨厌 技能 过敏 朋友 孩子 经历 去过 愿望 运动
方言 伤病 疾病 病史 症状 旧伤 手术
""".split()
"""Attributes of which somebody has several at a time, by their last word."""
MULTIPLE_ALONE = """
language instrument tool uses technology travel goal plan sport game book movie film song band
    artist
music food drink dish cuisine medication course project habit routine learning subject topic
subscription account club member feature rule value activity appointment meeting decision idea
question problem issue recommendation employer education contribution customer client library
    service
newspaper magazine podcast show series collection contact link device vehicle
stay hospitalization hospitalisation race marathon
语言 乐器 计划 习惯 书 电影 工具 偏好 食物 项目
""".split()
"""The same, where nothing tells which: `drink`, though there is one `morning drink`."""
