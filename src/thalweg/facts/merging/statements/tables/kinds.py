"""What things are: kinds whose members take each other's place.

The table is small and known to be: it holds what people tell an assistant about themselves and
their work. What is not in it is not guessed at.
"""

from thalweg.facts.merging.statements.tables.rows import rows

_KINDS = """
editor : vscode, vs code, visual studio code, vim, neovim, nvim, emacs, sublime text, sublime,
  atom, intellij, intellij idea, pycharm, webstorm, goland, clion, rider, phpstorm,
  android studio, xcode, eclipse, netbeans, notepad++, zed, cursor, helix, nano, windsurf,
  spacemacs, jetbrains, visual studio, rstudio, kakoune, textmate, lapce
operating-system : linux, ubuntu, debian, fedora, arch linux, arch, manjaro, windows, windows 10,
  windows 11, macos, mac, nixos, mint, linux mint, centos, rhel, alpine, freebsd, pop os, pop!_os,
  chromeos, opensuse, gentoo
phone-system : android, ios
database : postgresql, mysql, mariadb, sqlite, mongodb, mongo, redis, cassandra, dynamodb, oracle,
  sql server, mssql, cockroachdb, clickhouse, duckdb, neo4j, supabase, firestore, firebase,
  elasticsearch, timescaledb, bigquery, snowflake, couchdb, scylladb, tidb, influxdb
programming-language : python, javascript, typescript, java, golang, rust, ruby, c, c++, c#, php,
  swift, kotlin, scala, haskell, elixir, erlang, clojure, perl, lua, r, julia, dart, zig, ocaml,
  f#, cobol, fortran, matlab, nim, crystal, bash, sql
framework : react, vue, angular, svelte, sveltekit, next.js, nuxt, nuxt.js, solid, solidjs, ember,
  django, flask, fastapi, rails, ruby on rails, spring, spring boot, express, nestjs, laravel,
  gin, actix, axum, phoenix, remix, astro, gatsby, qwik, htmx, jquery, starlette, echo, fiber,
  koa, symfony, asp.net, streamlit, gradio
deep-learning-framework : pytorch, tensorflow, jax, keras, mxnet, paddlepaddle
cloud : aws, azure, gcp, digitalocean, heroku, vercel, netlify, fly.io, railway, render,
  cloudflare, cloudflare workers, hetzner, linode, oracle cloud, alibaba cloud, 阿里云, 腾讯云,
  华为云, lambda, aws lambda, ecs, eks, gke, cloud run, ec2, on-premise, on-prem, github pages
ci : github actions, gitlab ci, jenkins, circleci, travis, travis ci, buildkite, drone, teamcity,
  azure pipelines, argo, woodpecker
package-manager : npm, yarn, pnpm, bun, pip, poetry, uv, conda, pipenv, pdm, hatch, rye, homebrew,
  cargo, mamba
test-framework : pytest, unittest, jest, vitest, mocha, nose, cypress, playwright, selenium
browser : chrome, google chrome, firefox, safari, edge, brave, opera, arc, vivaldi,
  microsoft edge, chromium, tor browser, zen browser
shell : zsh, fish, powershell, nushell, fish shell
terminal : iterm, iterm2, kitty, alacritty, wezterm, ghostty, warp, gnome terminal, hyper
phone-model : iphone, pixel, google pixel, galaxy, samsung galaxy, oneplus, huawei mate, xiaomi,
  samsung, nokia, 小米手机, 华为手机, 苹果手机, 安卓手机
chat-tool : slack, teams, microsoft teams, discord, zoom, google meet, webex, mattermost,
  telegram, whatsapp, signal, wechat, 微信, 钉钉, 飞书, 企业微信, qq
note-tool : notion, obsidian, evernote, onenote, roam, logseq, apple notes, bear, joplin, 语雀,
  印象笔记, 幕布, google keep
task-tool : jira, linear, trello, asana, monday.com, todoist, ticktick, things, clickup, basecamp,
  github projects, shortcut, youtrack
design-tool : figma, sketch, adobe xd, photoshop, illustrator, canva, affinity designer, gimp
version-control : git, svn, mercurial, perforce
code-host : github, gitlab, bitbucket, gitea, codeberg, gitee
search-engine : google, duckduckgo, bing, kagi, baidu, 百度
message-queue : kafka, rabbitmq, nats, sqs, pulsar, celery, activemq, redis streams
container-tool : docker, podman, kubernetes, nomad, docker swarm, docker compose, containerd
assistant : chatgpt, claude, gemini, copilot, github copilot, cursor, deepseek, kimi
laptop : macbook, macbook pro, macbook air, thinkpad, surface, surface laptop, dell xps, xps,
  zenbook, chromebook, ideapad, matebook, imac, mac mini
car-make : tesla, toyota, honda, ford, bmw, audi, volkswagen, vw, mercedes, mercedes-benz, volvo,
  mazda, subaru, nissan, hyundai, kia, lexus, porsche, jeep, chevrolet, skoda, renault, peugeot,
  fiat, mini, prius, civic, corolla, golf, polo, byd, rivian, polestar, camry, accord, model 3,
  model y, 比亚迪, 特斯拉, 丰田, 本田, 大众, 宝马, 奔驰, 奥迪, 蔚来, 小鹏, 理想, 日产, 吉利,
  沃尔沃, 马自达, 福特, 问界
air-line : lufthansa, delta, united, ryanair, easyjet, emirates, klm, air france, ana, jal
bank : n26, revolut, chase, hsbc, wise, barclays, monzo, ing, 招商银行, 工商银行, 建设银行,
  中国银行, 农业银行, 招行, 工行, 建行
streaming : spotify, apple music, tidal, deezer, youtube music, qq音乐, 网易云音乐, 网易云
licence : mit, apache 2.0, apache, gpl, gplv3, agpl, bsd, mpl, lgpl, proprietary
payment : stripe, paypal, adyen, square, braintree, paddle, 支付宝, 微信支付
colour : red, blue, green, yellow, orange, purple, pink, black, white, grey, gray, brown, teal,
  turquoise, violet, navy, beige, 红色, 蓝色, 绿色, 黄色, 橙色, 紫色, 粉色, 黑色, 白色, 灰色,
  棕色
weekday : monday, tuesday, wednesday, thursday, friday, saturday, sunday, 周一, 周二, 周三, 周四,
  周五, 周六, 周日, 星期一, 星期二, 星期三, 星期四, 星期五, 星期六, 星期日, 星期天
country : germany, france, italy, spain, portugal, united states, united kingdom, england,
  scotland, ireland, canada, mexico, brazil, argentina, chile, china, japan, korea, south korea,
  india, singapore, australia, new zealand, netherlands, belgium, switzerland, austria, poland,
  sweden, norway, denmark, finland, greece, turkey, egypt, kenya, nigeria, south africa, israel,
  vietnam, thailand, indonesia, malaysia, philippines, taiwan, europe, asia, africa,
  czech republic, hungary, romania, ukraine, russia, iceland, peru, colombia, 中国, 美国, 日本,
  德国, 法国, 英国, 加拿大, 澳大利亚, 新加坡, 韩国, 意大利, 西班牙, 荷兰, 瑞士, 俄罗斯, 印度,
  泰国, 越南, 马来西亚, 新西兰, 瑞典, 丹麦, 挪威, 芬兰
"""


def _members() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for row in rows(_KINDS):
        kind, _, members = row.partition(" : ")
        found[kind] = tuple(member.strip() for member in members.split(","))
    return found


KINDS = _members()
"""Kinds with their members, as they are written."""
SINGLE_KINDS = frozenset(
    {
        "editor",
        "browser",
        "laptop",
        "phone-model",
        "phone-system",
        "shell",
        "terminal",
        "search-engine",
    }
)
"""Kinds of which somebody who names one, and nothing to set it apart, has only that one."""
