"""Pairs of facts: what the second one is to the first."""

UPDATES = """
I live in Berlin|I moved to Munich
The user lives in Berlin|User relocated to Amsterdam in March
User works at Google|User now works at Microsoft
User works at Google|User joined Stripe last month
User is a junior developer|User was promoted to senior developer
User's favorite color is blue|User's favorite color is green now
User prefers dark mode|User prefers light mode
User uses VS Code|User switched to Neovim
The project uses MySQL|The project migrated from MySQL to PostgreSQL
The deadline for project Atlas is June 5|Project Atlas deadline was moved to June 20
User is single|User got married
User is vegetarian|User started eating meat again and is no longer vegetarian
User is 34 years old|User turned 35
User has two children|User now has three children
User drinks coffee every morning|User stopped drinking coffee
User has a dog named Rex|User's dog Rex died
The meeting is on Tuesday at 10am|The meeting was rescheduled to Wednesday at 2pm
The budget is $5,000|The budget was increased to $8,000
The app is deployed on Heroku|The app is now deployed on Fly.io
User's phone number is 555-1234|User's new phone number is 555-9876
User's email is a@x.com|User changed email to b@y.com
User runs 5 km every day|User runs 10 km every day
User goes to the gym three times a week|User goes to the gym five times a week
User drives a Honda Civic|User sold the Honda and bought a Tesla
User wakes up at 6 am|User wakes up at 7:30 now
User's weight is 80 kg|User's weight is 75 kg
User's manager is Anna|User's manager is now Peter
User is learning Spanish|User gave up Spanish
User likes coffee|User doesn't like coffee anymore
The API runs on port 8080|The API runs on port 9090
Python version is 3.11|We upgraded to Python 3.12
User is on a keto diet|User quit keto
User's gym is Planet Fitness|User switched gyms to Anytime Fitness
User works remotely|User works in the office again
User plans to visit Japan in May|User cancelled the Japan trip
User's flight is at 9 am|User's flight was delayed to 11 am
The release is planned for March 1|The release slipped to March 15
User uses Windows|User moved from Windows to Linux
User is a smoker|User quit smoking
User's rent is $1200 a month|User's rent went up to $1400 a month
User subscribes to Netflix|User cancelled Netflix
User prefers tea over coffee|User prefers coffee over tea
The server is in Frankfurt|The server moved to Dublin
User is unemployed|User found a job at Siemens
Team standup is daily|Team standup is weekly now
User's laptop is a MacBook Pro|User replaced the MacBook with a ThinkPad
CI runs on Jenkins|CI runs on GitHub Actions
User's girlfriend is Emma|User broke up with Emma
User studies at MIT|User graduated from MIT
The ticket ABC-12 is open|The ticket ABC-12 is closed
用户住在北京|用户搬到了上海
用户在谷歌工作|用户现在在微软工作
我喜欢喝咖啡|我不再喝咖啡了
我每天跑5公里|我每天跑10公里
用户是初级工程师|用户晋升为高级工程师
用户单身|用户结婚了
用户今年30岁|用户今年31岁
会议在周二上午10点|会议改到周三下午两点
项目使用MySQL|项目改用PostgreSQL
用户喜欢深色模式|用户现在喜欢浅色模式
用户的手机号是13800000000|用户的新手机号是13900000000
用户养了一只狗叫旺财|旺财去世了
用户用VS Code写代码|用户换成了Neovim
截止日期是6月5日|截止日期推迟到6月20日
用户有两个孩子|用户现在有三个孩子
用户的领导是张三|用户的领导换成了李四
用户开本田|用户换了一辆特斯拉
用户早上六点起床|用户现在七点半起床
用户体重80公斤|用户体重降到75公斤
服务部署在阿里云|服务迁移到了腾讯云
用户计划去日本旅行|用户取消了日本旅行
用户抽烟|用户戒烟了
预算是五千元|预算增加到八千元
用户坐公交上班|用户现在开车上班
用户在学西班牙语|用户放弃学西班牙语了
API端口是8080|API端口改成了9090
用户失业了|用户在西门子找到了工作
房租每月3000元|房租涨到3500元
用户的女朋友是小美|用户和小美分手了
每周开一次例会|例会改成每两周一次
User is a barista at Blue Bottle|User left Blue Bottle and is a shift lead at Verve now
The retro is on Friday at 15:00|The retro got moved to Monday
We host the docs on Netlify|The docs are on Vercel these days
My brother's name is Marc with a c|Typo, my brother is called Mark with a k
User's thesis advisor is Prof. Lindgren|User's new advisor is Prof. Okoye since Lindgren retired
I ride a Yamaha MT-07|I sold the Yamaha and ride a Ducati Monster
The upload limit is 20 MB|The upload limit was raised to 50 MB
Redis listens on 6379|Redis was moved to port 6380
User's lease ends in June 2025|User extended the lease until June 2026
Daniel is the on-call engineer|Fatima took over on-call from Daniel
User takes the bus to the office|User walks to the office now
User weighs 70 kg|User is at 67 kg now
Our sprint length is two weeks|Sprints are three weeks long now
The flag dark_launch is disabled|dark_launch is enabled for beta users
User has no children|User's first daughter was born in May
User is reading Middlemarch|User finished Middlemarch and started Emma
User's Slack handle is @kim|User changed the Slack handle to @kimberly
User prefers answers in German|User now prefers answers in English
The invoice is unpaid|The invoice was paid yesterday
User's son is in fourth grade|User's son started fifth grade
Node version in CI is 18|CI was upgraded to Node 20
The client's contact is Mrs. Baker|Correction: the client's contact is Mr. Barker
User trains for a marathon|User gave up on the marathon because of a knee injury
用户在美团做产品经理|用户跳槽到滴滴了
周会在周三上午十点|周会改到周四下午三点了
缓存用的是 Memcached|缓存换成 Redis 了
用户的健身教练是小刘|用户换了教练，现在跟小陈练
接口限流是每分钟100次|接口限流调到每分钟300次
用户住在天津|用户上个月搬到苏州了
车险是平安的|车险换成人保了
我弟弟叫陈浩|打错了，我弟弟叫陈皓
团队有八个人|团队现在十个人了
用户喝全脂牛奶|用户改喝燕麦奶了
登录模块归小张管|登录模块现在由小吴负责
合同到期日是2025年3月1日|合同延期到2026年3月1日
用户的电脑是 ThinkPad|用户换了 MacBook
""".strip()

SAME = """
User lives in Berlin|The user resides in Berlin
I live in Berlin|User's home city is Berlin
User works at Google|The user is employed by Google
User works for Google|User's employer is Google
User loves hiking|The user enjoys hiking
User is allergic to peanuts|User has a peanut allergy
User has two kids|The user has 2 children
User's birthday is March 3|User was born on March 3rd
User is 34 years old|User's age is 34
User prefers dark mode|The user prefers dark theme
User's wife is Anna|User is married to Anna
User has a dog named Rex|User's dog is called Rex
User hates mushrooms|User can't stand mushrooms
User speaks fluent Spanish|User is fluent in Spanish
User wakes up at 6 am|The user gets up at 6:00
The deadline is June 5|The deadline is on June 5th
The API listens on port 8080|The port of the API is 8080
User goes running every morning|User runs each morning
User is learning Japanese|The user is studying Japanese
User wants concise answers|User prefers short responses
User plans to move to Spain|User intends to relocate to Spain
User is a software engineer|User works as a software engineer
User doesn't eat meat|User is a vegetarian
Project Atlas is due on June 5|The deadline for project Atlas is June 5
User bought a new car|The user purchased a new car
User is afraid of spiders|User has a fear of spiders
User likes tea more than coffee|User prefers tea to coffee
User uses PostgreSQL|User uses Postgres
User's favourite colour is blue|Blue is the user's favorite color
User has a PhD in physics|User holds a doctorate in physics
User's manager is Anna|Anna is the user's boss
User can play the guitar|User plays guitar
User goes to the gym 3 times a week|The user works out at the gym three times per week
User exercises daily|The user works out every day
User lives in New York|User lives in NYC
User dislikes long emails|User doesn't like long emails
The user works from home|User works remotely
User uses VS Code|User uses Visual Studio Code as editor
The meeting is at 3pm|The meeting starts at 15:00
User's sister is a doctor|The user's sister works as a doctor
用户住在北京|用户居住在北京
我在谷歌上班|我在谷歌工作
用户喜欢爬山|用户爱爬山
用户对花生过敏|用户花生过敏
用户有两个孩子|用户有2个孩子
用户的生日是3月3日|用户生日在3月3号
用户讨厌香菜|用户不喜欢香菜
用户的妻子叫安娜|用户的老婆叫安娜
用户是软件工程师|用户的职业是软件工程师
用户每天早上六点起床|用户每天早晨6点起床
用户喜欢简洁的回答|用户希望回答简短
用户正在学习日语|用户在学日语
用户偏好深色模式|用户喜欢深色主题
用户会说英语|用户会讲英语
用户经常跑步|用户常常跑步
用户怕蜘蛛|用户害怕蜘蛛
用户是素食者|用户吃素
用户用VS Code|用户使用VS Code编辑器
项目截止日期是6月5日|项目的截止时间为6月5号
用户的领导是张三|用户的上司是张三
用户打算去日本旅行|用户计划去日本旅游
用户毕业于清华大学|用户从清华大学毕业
API端口是8080|API的端口号为8080
用户家有一只猫叫咪咪|用户的猫叫咪咪
用户35岁|用户今年35岁
User is vegan|User follows a vegan diet
I work as a nurse at St. Mary's|I'm a nurse at St. Mary's
User's daughter is named Lily|The user has a daughter called Lily
User dislikes being interrupted|User hates being interrupted
User usually works late at night|At night the user usually works late
User takes the train to work|User commutes by train
User studied economics at LSE|User graduated in economics from LSE
The rate limit is 60 requests per minute|At most 60 requests per minute are allowed
User needs a window seat|User requires a window seat
User plays chess every Sunday|Every Sunday the user plays chess
User is married|User has a wife
User's phone is a Pixel 8|User uses a Pixel 8
Deploys happen every Tuesday|We deploy on Tuesdays
The backup runs at 2 am|Backups run at 02:00
User was born in 1985|User's year of birth is 1985
User's native language is Polish|Polish is the user's mother tongue
User wants code examples in TypeScript|User would like TypeScript code examples
User collects vinyl records|User has a vinyl record collection
User's mother lives in Porto|The user's mom lives in Porto
用户在杭州生活|用户住在杭州
用户养了一只猫|用户有一只猫
用户爱喝绿茶|用户喜欢喝绿茶
用户的女儿叫小雨|用户女儿名叫小雨
用户每天坐地铁上班|用户每天乘地铁上班
用户的爱好是摄影|用户喜欢摄影
用户今年四十岁|用户40岁了
部署在每周二进行|每周二部署
用户不吃辣|用户吃不了辣
用户毕业于复旦大学|用户是复旦大学毕业的
""".strip()

DISTINCT = """
User lives in Berlin|User's parents live in Munich
User likes tea|User likes coffee
User likes Italian food|User likes Japanese food
User speaks English|User speaks German
Alice lives in Berlin|Bob lives in Munich
The API port is 8080|The database port is 5432
User visited Paris in 2019|User visited Paris in 2022
User works at Google|User's wife works at Microsoft
User is allergic to peanuts|User is allergic to shellfish
User's work email is a@x.com|User's personal email is b@y.com
User has a brother|User has a sister
Project Atlas deadline is June 5|Project Zeus deadline is July 1
User uses Python for data science|User uses Rust for systems programming
User plays guitar|User plays piano
User's daughter is 5|User's son is 8
User read Dune|User read Neuromancer
User wants to learn Rust|User wants to learn Go
User's dog is called Rex|User's cat is called Tom
User lives in Berlin|User plans to move to Munich
User works at Google|User used to work at Amazon
User drinks coffee in the morning|User drinks tea in the evening
User is a software engineer|User is a father of two
User has a meeting on Monday|User has a meeting on Friday
User's first car was a Golf|User's current car is a Tesla
The staging database is MySQL|The production database is PostgreSQL
User bought a bike on May 3|User bought a car on May 10
User runs on Mondays|User swims on Tuesdays
User is from Italy|User lives in Berlin
User has visited Japan|User has visited Korea
Version 2.0 was released in May|Version 2.1 was released in June
User's mother is a teacher|User's father is a doctor
User prefers tea in the morning|User prefers wine in the evening
User likes dogs|User dislikes cats
User prefers window seats on flights|User prefers aisle seats on trains
The backend is written in Go|The frontend is written in TypeScript
User's laptop runs macOS|User's desktop runs Windows
User finished the marathon in 4 hours|User finished the half marathon in 2 hours
The build takes 10 minutes|The tests take 5 minutes
Anna manages Bob|Bob manages Anna
User's left knee hurts|User's right knee hurts
User went to Rome with Anna|User went to Rome with Peter
User is learning Spanish|User also started learning French
User works at Acme|User volunteers at the Red Cross
User owns a Tesla|User also owns a Honda
User's bank is Chase|User's broker is Fidelity
User is interested in AI|User is interested in history
The daily backup runs at 02:00|The weekly backup runs at 04:00
User has a subscription to Spotify|User has a subscription to Netflix
User's grandmother lives in Rome|User's aunt lives in Milan
User studied physics at MIT|User studied law at Harvard
User teaches math|User teaches physics
User ate sushi on Friday|User ate pizza on Saturday
User eats breakfast at 8|User eats dinner at 19:00
Alice is the CTO|Bob is the CEO
User prefers Postgres for OLTP|User prefers ClickHouse for analytics
User takes vitamin D|User takes vitamin B12
User takes ibuprofen for headaches|User now also takes melatonin
The user's blog is at a.com|The user's portfolio is at b.com
User's meeting with Anna is at 10:00|User's meeting with Peter is at 11:00
User's son Max is 5|User's son Tom is 7
用户喜欢喝茶|用户喜欢喝咖啡
用户住在北京|用户的父母住在上海
用户会说英语|用户会说日语
用户对花生过敏|用户对海鲜过敏
用户在谷歌工作|用户的妻子在微软工作
用户2019年去了巴黎|用户2022年去了巴黎
用户的猫叫咪咪|用户的狗叫旺财
用户住在北京|用户打算搬到上海
用户弹吉他|用户弹钢琴
API端口是8080|数据库端口是5432
用户有一个哥哥|用户有一个妹妹
用户想学Rust|用户想学Go
用户周一跑步|用户周二游泳
用户的工作邮箱是a@x.com|用户的私人邮箱是b@y.com
用户喜欢川菜|用户喜欢粤菜
用户的女儿五岁|用户的儿子八岁
阿特拉斯项目截止日期是6月5日|宙斯项目截止日期是7月1日
用户来自四川|用户住在北京
用户读了三体|用户读了活着
用户早上喝咖啡|用户晚上喝茶
用户是工程师|用户是两个孩子的父亲
用户以前在百度工作|用户在腾讯工作
测试数据库是MySQL|生产数据库是PostgreSQL
用户喜欢狗|用户不喜欢猫
用户的妈妈是老师|用户的爸爸是医生
用户周五吃了寿司|用户周六吃了披萨
张三管理李四|李四管理张三
用户和小王去了罗马|用户和小李去了罗马
用户左膝疼|用户右膝疼
用户在学西班牙语|用户还在学法语
User's older brother lives in Oslo|User's younger brother lives in Bergen
The billing service uses PostgreSQL|The search service uses Elasticsearch
User bought apples on Monday|User bought pears on Tuesday
User now has a second dog called Luna|User has a dog called Bruno
I'm meeting Tom at 10:00|I'm meeting Jane at 11:00
User's checking account is at Chase|User's savings account is at Ally
The API key for staging expires in June|The API key for production expires in August
User speaks Danish at home|User speaks English at work
User is allergic to cats|User is now also allergic to pollen
The red line stops at 7:10|The blue line stops at 7:20
User's favourite fruit is mango|User's favourite vegetable is kale
User's favourite author is Borges|User's favourite film is Stalker
Server alpha has 16 GB of RAM|Server beta has 32 GB of RAM
User moved to Berlin in 2015|User started at SAP in 2016
User likes the new iPhone|User uses a Pixel 8
User's aunt Maria is 60|User's aunt Elena is 65
The Tuesday class is yoga|The Thursday class is pilates
PR 412 was merged|PR 421 was closed
User has visited Norway twice|User has visited Sweden three times
User prefers tabs in Go|User prefers spaces in Python
User is switching teams in May|User is travelling in June
Project Orion uses React|Project Lyra switched to Vue
Anna's birthday is 3 May|Ben's birthday is 9 June
User wants shorter commutes|User wants longer holidays
User's landlord is Mr. Chen|User's lawyer is Ms. Chang
The free plan has 3 seats|The pro plan has 10 seats
User drinks coffee without sugar|User drinks tea with honey
Lisa moved to the data team|Omar moved to the platform team
User's grandson is 2 years old now|User's granddaughter is 5 years old now
User's son moved to Denver|User lives in Boston
用户的大女儿上初中|用户的小女儿上小学
订单服务用 MySQL|用户服务用 PostgreSQL
用户周三开会|用户周五开会
用户喜欢的歌手是周杰伦|用户喜欢的演员是周星驰
张伟调到上海了|李娜调到北京了
用户现在也喝红茶|用户喝绿茶
开发库端口是3306|生产库端口是3307
用户的奶奶90岁|用户的外婆88岁
任务A截止6月1日|任务B截止6月15日
用户的弟弟换工作了，在华为|用户在中兴工作
主分支叫main|发布分支叫release
用户会弹吉他|用户现在在学小提琴
甲方对接人是王总|乙方对接人是李总
用户的儿子搬到了广州|用户住在深圳
用户今年读了十本书|用户去年读了八本书
""".strip()
