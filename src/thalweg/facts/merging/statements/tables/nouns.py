"""Nouns that tell what a sentence is about: slots with one value, and jobs."""

SLOTS = """
deadline budget price cost rent salary version port host hostname url endpoint domain address path
directory branch region timezone timeout limit size capacity threshold ttl interval frequency
duration length width height weight colour font theme language locale currency format encoding
name nickname title status state priority owner lead manager sponsor maintainer reviewer contact
captain president director ceo cto director's mentor coach dentist doctor therapist landlord tutor
birthday age birthplace nationality religion pronoun gender email phone number extension zip
postcode username handle password pin id model framework library database editor browser shell
terminal os operating-system license licence provider supplier vendor host hosting platform
engine runtime compiler formatter linter scheduler schedule time date day venue location place
room floor seat office headquarters hometown home employer job profession role position school
university major degree advisor supervisor spouse diet wake bedtime alarm breakfast lunch dinner
goal target revenue headcount quota balance score grade rank level tier plan subscription target
ratio rate percentage temperature speed latency memory cpu disk ram storage bucket queue topic
table schema prefix suffix separator delimiter indentation indent style convention tool stack
backend frontend deployment environment cluster namespace image tag channel mailbox flight gate
hotel destination departure arrival expiry expiration due blood type shoe zodiac sign
marital relationship commute bank insurance carrier gym backup retention
""".strip()
"""Nouns of which what is named has one at a time: `the deadline of the project is …`."""

OCCUPATIONS = """
engineer developer designer manager teacher nurse doctor lawyer accountant student professor
scientist researcher analyst consultant architect writer journalist editor artist musician chef
cook driver pilot farmer electrician plumber carpenter mechanic salesperson cashier waiter waitress
barista photographer translator interpreter librarian pharmacist dentist veterinarian vet surgeon
psychologist therapist counselor banker economist statistician biologist chemist physicist
mathematician programmer administrator admin director ceo cto cfo coo founder cofounder co-founder
entrepreneur freelancer contractor intern apprentice assistant secretary recruiter marketer
copywriter producer actor actress singer dancer athlete coach trainer firefighter policeman officer
soldier judge politician diplomat tutor lecturer principal nanny babysitter realtor agent broker
trader auditor planner strategist specialist technician operator supervisor foreman executive lead
head vp president partner associate paramedic midwife geologist archaeologist historian philosopher
tester sre devops postdoc fellow curator animator illustrator stylist hairdresser barber baker
butcher fisherman sailor captain guard detective janitor cleaner housekeeper courier postman
retiree machinist welder optometrist radiologist pediatrician cardiologist owner
""".strip()

CHINESE_OCCUPATIONS = """
工程师|程序员|开发|设计师|经理|老师|教师|护士|医生|律师|会计|会计师|学生|教授|科学家|研究员|
分析师|顾问|架构师|作家|记者|编辑|艺术家|音乐家|厨师|司机|飞行员|农民|电工|销售|服务员|咖啡师|
摄影师|翻译|图书管理员|药剂师|牙医|兽医|心理咨询师|咨询师|经济学家|管理员|总监|创始人|创业者|
自由职业者|实习生|助理|秘书|运营|产品|测试|演员|歌手|运动员|教练|消防员|警察|军人|法官|公务员|
主任|校长|部长|组长|技术员|博主|主播|店长|店主|老板|博士生|研究生|大学生|高中生|负责人|主管|编剧|
导演|插画师|化妆师|理发师|面包师|保安|快递员|退休教师|总裁|副总裁|策划|文案
""".replace("\n", "")
CHINESE_SLOTS = """
截止日期|截止时间|期限|预算|价格|费用|端口号?|版本号?|密码|代号|名称|域名|地址|路径|目录|分支|
超时时间|超时|时区|负责人|联系人|接口人|邮箱|手机号码?|电话号码|电话|手机|编辑器|框架|数据库|
语言|主题|字体|日志级别|级别|上限|下限|限制|间隔|频率|容量|大小|体重|身高|年龄|生日|血型|星座|
国籍|民族|专业|学校|公司|职业|职位|职务|汇率|利率|房租|租金|工资|薪水|月薪|车牌|牙医|教练|导师|
班主任|座位|房间|楼层|工位|商户号|账号|用户名|昵称|网名|目标|状态|进度|优先级|保留时间|保留期|
节奏|颜色|温度|时间|日期|地点|会议室|酒店|航班|代码注释|注释|日志保留|保留|领导|上司|老板|主管|
直属领导|经理|名字|姓名|系统|操作系统|浏览器|部署|前端|后端|缓存|消息队列|笔记本|电脑|显示器|
键盘|车|座驾|口味|首选|默认分支|环境|平台|供应商|仓库|支付方式|付款方式|银行|健身房|作息|
发布时间|周期|发布周期|人数|团队规模|规模|定价|折扣|税率|门槛|阈值|步数|学费|房贷|存款|押金|库存|
销量|营收|收入|网速|带宽|内存|并发|限流|配额|重试次数|次数|批次|婚姻状况|住址|老家|家乡|母语|
鞋码|尺码|衣服尺码|过敏原|主治医生|律师|房东|中介|门禁|wifi|网络|邮编|工号|学号|座机|网址|链接|
域
""".replace("\n", "")
"""As `SLOTS`."""
CHINESE_IS = """
是|为|叫做?|定在了?|定为|设的是|设为|设置为|设成|改成了?|改为了?|改到了?|改用|变成了?|变为|
换成了?|换到了?|换为|调整为|调整到|调到|调成|延长到|缩短到|推迟到|延期到|提前到|升级到了?|升级成|
升级为|涨到了?|降到了?|提高到|增加到|减少到|更新为|更新到|用的是|用|一律写|一律用|应该是|写|
装的是|重装成了?|采用|走|全部走|迁移到了?|切换到了?|切到|改走|放在|存在|在
""".replace("\n", "")
"""What stands between a slot and its value."""
