"""Conditions that exclude each other where all else that is told is the same."""

SCALES = """
like | dislike
single | engaged | married | divorced | widowed | separated
vegetarian | vegan | omnivore | pescatarian | carnivore | keto | meat
dark theme | light theme
tab | space
short | detailed | long
formal | casual
enable | disable
open | close
public | private
active | paus | inactive
in progress | finish | block | cancel | on hold | in review | draft | not start | review
beginner | intermediate | advanc | expert
junior | senior | staff | principal
remote | hybrid | in-office
full-time | part-time | freelance | unemploy | retir
morning person | night owl
morning | afternoon | evening | night
daily | weekly | monthly | yearly | biweekly | fortnightly | quarterly | hourly | twice week
metric | imperial
celsius | fahrenheit
left-hand | right-hand
introvert | extrovert
aisl | window
hot | iced
window seat | aisle seat
pass | fail
stable | unstable
required | optional
allow | forbid
manual | automatic
sync | async
monorepo | polyrepo
rent | own
low | medium | high | critical
small | medium | big
approve | reject | pending
online | offline
paid | unpaid
spicy | mild
merged | unmerged
hot tea | cold tea
decaf | regular
先生 | 女士
单身 | 已婚 | 离婚 | 离异 | 订婚
深色 | 浅色
简短 | 详细
正式 | 随意
开启 | 关闭
启用 | 禁用
公开 | 私有
素食 | 纯素 | 荤食
初级 | 中级 | 高级 | 资深
进行中 | 完成 | 暂停 | 取消 | 延期 | 上线 | 搁置
远程 | 坐班 | 混合办公
全职 | 兼职 | 自由职业 | 失业 | 退休
早起 | 晚睡
靠窗 | 靠过道
每天 | 每周 | 每月 | 每年
早上 | 下午 | 晚上
自动 | 手动
租房 | 买房
公制 | 英制
摄氏度 | 华氏度
内向 | 外向
通过 | 失败
必填 | 选填
繁体 | 简体
""".strip()
