"""What things are: kinds whose members take each other's place, and conditions that exclude.

The tables are small and known to be: they hold what people tell an assistant about themselves
and their work. What is in none of them is not guessed at.
"""

KINDS = {
    "editor": "vscode, vs code, visual studio code, vim, neovim, nvim, emacs, sublime text, sublime, atom, intellij, intellij "
    "idea, pycharm, webstorm, goland, clion, rider, phpstorm, android studio, xcode, eclipse, "
    "netbeans, notepad++, zed, cursor, helix, nano, windsurf, spacemacs, jetbrains, visual studio, "
    "rstudio, kakoune, textmate, lapce",
    "operating-system": "linux, ubuntu, debian, fedora, arch linux, arch, manjaro, windows, "
    "windows 10, windows 11, macos, mac, nixos, mint, linux mint, centos, rhel, alpine, freebsd, "
    "pop os, pop!_os, chromeos, opensuse, gentoo",
    "phone-system": "android, ios",
    "database": "postgresql, mysql, mariadb, sqlite, mongodb, mongo, redis, cassandra, dynamodb, "
    "oracle, sql server, mssql, cockroachdb, clickhouse, duckdb, neo4j, supabase, firestore, "
    "firebase, elasticsearch, timescaledb, bigquery, snowflake, couchdb, scylladb, tidb, influxdb",
    "programming-language": "python, javascript, typescript, java, golang, rust, ruby, c, "
    "c++, c#, php, swift, kotlin, scala, haskell, elixir, erlang, clojure, perl, lua, r, julia, "
    "dart, zig, ocaml, f#, cobol, fortran, matlab, nim, crystal, bash, sql",
    "framework": "react, vue, angular, svelte, sveltekit, next.js, nuxt, nuxt.js, solid, solidjs, "
    "ember, django, flask, fastapi, rails, ruby on rails, spring, spring boot, express, nestjs, "
    "laravel, gin, actix, axum, phoenix, remix, astro, gatsby, qwik, htmx, jquery, starlette, "
    "echo, fiber, koa, symfony, asp.net, streamlit, gradio",
    "deep-learning-framework": "pytorch, tensorflow, jax, keras, mxnet, paddlepaddle",
    "cloud": "aws, azure, gcp, digitalocean, heroku, vercel, netlify, fly.io, railway, render, "
    "cloudflare, cloudflare workers, hetzner, linode, oracle cloud, alibaba cloud, 阿里云, 腾讯云, "
    "华为云, lambda, aws lambda, ecs, eks, gke, cloud run, ec2, on-premise, on-prem, github pages",
    "ci": "github actions, gitlab ci, jenkins, circleci, travis, travis ci, buildkite, drone, "
    "teamcity, azure pipelines, argo, woodpecker",
    "package-manager": "npm, yarn, pnpm, bun, pip, poetry, uv, conda, pipenv, pdm, hatch, rye, "
    "homebrew, cargo, mamba",
    "test-framework": "pytest, unittest, jest, vitest, mocha, nose, cypress, playwright, selenium",
    "browser": "chrome, google chrome, firefox, safari, edge, brave, opera, arc, vivaldi, "
    "microsoft edge, chromium, tor browser, zen browser",
    "shell": "zsh, fish, powershell, nushell, fish shell",
    "terminal": "iterm, iterm2, kitty, alacritty, wezterm, ghostty, warp, gnome terminal, hyper",
    "phone-model": "iphone, pixel, google pixel, galaxy, samsung galaxy, oneplus, huawei mate, "
    "xiaomi, samsung, nokia, 小米手机, 华为手机, 苹果手机, 安卓手机",
    "chat-tool": "slack, teams, microsoft teams, discord, zoom, google meet, webex, mattermost, "
    "telegram, whatsapp, signal, wechat, 微信, 钉钉, 飞书, 企业微信, qq",
    "note-tool": "notion, obsidian, evernote, onenote, roam, logseq, apple notes, bear, joplin, "
    "语雀, 印象笔记, 幕布, google keep",
    "task-tool": "jira, linear, trello, asana, monday.com, todoist, ticktick, things, clickup, "
    "basecamp, github projects, shortcut, youtrack",
    "design-tool": "figma, sketch, adobe xd, photoshop, illustrator, canva, affinity designer, gimp",
    "version-control": "git, svn, mercurial, perforce",
    "code-host": "github, gitlab, bitbucket, gitea, codeberg, gitee",
    "search-engine": "google, duckduckgo, bing, kagi, baidu, 百度",
    "message-queue": "kafka, rabbitmq, nats, sqs, pulsar, celery, activemq, redis streams",
    "container-tool": "docker, podman, kubernetes, nomad, docker swarm, docker compose, containerd",
    "assistant": "chatgpt, claude, gemini, copilot, github copilot, cursor, deepseek, kimi",
    "car-make": "tesla, toyota, honda, ford, bmw, audi, volkswagen, vw, mercedes, mercedes-benz, "
    "volvo, mazda, subaru, nissan, hyundai, kia, lexus, porsche, jeep, chevrolet, skoda, renault, "
    "peugeot, fiat, mini, prius, civic, corolla, golf, polo, byd, rivian, polestar, camry, accord, "
    "model 3, model y, 比亚迪, 特斯拉, 丰田, 本田, 大众, 宝马, 奔驰, 奥迪, 蔚来, 小鹏, 理想, 日产, 吉利, "
    "沃尔沃, 马自达, 福特, 问界",
    "air-line": "lufthansa, delta, united, ryanair, easyjet, emirates, klm, air france, ana, jal",
    "bank": "n26, revolut, chase, hsbc, wise, barclays, monzo, ing, 招商银行, 工商银行, 建设银行, "
    "中国银行, 农业银行, 招行, 工行, 建行",
    "streaming": "spotify, apple music, tidal, deezer, youtube music, qq音乐, 网易云音乐, 网易云",
    "licence": "mit, apache 2.0, apache, gpl, gplv3, agpl, bsd, mpl, lgpl, proprietary",
    "payment": "stripe, paypal, adyen, square, braintree, paddle, 支付宝, 微信支付",
    "colour": "red, blue, green, yellow, orange, purple, pink, black, white, grey, gray, brown, "
    "teal, turquoise, violet, navy, beige, 红色, 蓝色, 绿色, 黄色, 橙色, 紫色, 粉色, 黑色, 白色, 灰色, 棕色",
    "weekday": "monday, tuesday, wednesday, thursday, friday, saturday, sunday, 周一, 周二, 周三, 周四, "
    "周五, 周六, 周日, 星期一, 星期二, 星期三, 星期四, 星期五, 星期六, 星期日, 星期天",
    "country": "germany, france, italy, spain, portugal, united states, united kingdom, england, "
    "scotland, ireland, canada, mexico, brazil, argentina, chile, china, japan, korea, south korea, "
    "india, singapore, australia, new zealand, netherlands, belgium, switzerland, austria, poland, "
    "sweden, norway, denmark, finland, greece, turkey, egypt, kenya, nigeria, south africa, israel, "
    "vietnam, thailand, indonesia, malaysia, philippines, taiwan, europe, asia, africa, "
    "czech republic, hungary, romania, ukraine, russia, iceland, peru, colombia, 中国, 美国, 日本, 德国, "
    "法国, 英国, 加拿大, 澳大利亚, 新加坡, 韩国, 意大利, 西班牙, 荷兰, 瑞士, 俄罗斯, 印度, 泰国, 越南, 马来西亚, "
    "新西兰, 瑞典, 丹麦, 挪威, 芬兰",
}
"""Kinds with their members, as they are written."""

SINGLE_KINDS = frozenset(
    {"editor", "browser", "phone-model", "phone-system", "shell", "terminal", "search-engine"}
)
"""Kinds of which somebody who names one, and nothing to set it apart, has only that one."""

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
daily | weekly | monthly | yearly | biweekly | fortnightly | quarterly | hourly | weekday | weekend | twice week
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
"""Conditions that exclude each other where all else that is told is the same."""

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

CHINESE_OCCUPATIONS = (
    "工程师|程序员|开发|设计师|经理|老师|教师|护士|医生|律师|会计|会计师|学生|教授|科学家|研究员|分析师|顾问|架构师|作家|"
    "记者|编辑|艺术家|音乐家|厨师|司机|飞行员|农民|电工|销售|服务员|咖啡师|摄影师|翻译|图书管理员|药剂师|牙医|兽医|"
    "心理咨询师|咨询师|经济学家|管理员|总监|创始人|创业者|自由职业者|实习生|助理|秘书|运营|产品|测试|演员|歌手|运动员|"
    "教练|消防员|警察|军人|法官|公务员|主任|校长|部长|组长|技术员|博主|主播|店长|店主|老板|博士生|研究生|大学生|"
    "高中生|负责人|主管|编剧|导演|插画师|化妆师|理发师|面包师|保安|快递员|退休教师|总裁|副总裁|策划|文案"
)
