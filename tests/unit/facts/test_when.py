"""Times told in texts, and facts that are understood on any day."""

from datetime import date

import pytest

from thalweg.facts.dates.when import absolute, find_times

MONDAY = date(2023, 5, 8)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("last Friday", "2023-05-05", "2023-05-05"),
        ("next Friday", "2023-05-19", "2023-05-19"),
        ("this Friday", "2023-05-12", "2023-05-12"),
        ("yesterday morning", "2023-05-07", "2023-05-07"),
        ("the day before yesterday", "2023-05-06", "2023-05-06"),
        ("two weeks ago", "2023-04-21", "2023-04-27"),
        ("three months ago", "2023-02-01", "2023-02-28"),
        ("a couple of years ago", "2021-01-01", "2021-12-31"),
        ("last week", "2023-05-01", "2023-05-07"),
        ("the week before last", "2023-04-24", "2023-04-30"),
        ("next month", "2023-06-01", "2023-06-30"),
        ("last summer", "2022-06-01", "2022-08-31"),
        ("winter 2021", "2021-12-01", "2022-02-28"),
        ("on 8 May 2022", "2022-05-08", "2022-05-08"),
        ("on May 8th, 2022", "2022-05-08", "2022-05-08"),
        ("2022-05-08", "2022-05-08", "2022-05-08"),
        ("in May 2022", "2022-05-01", "2022-05-31"),
        ("in June", "2022-06-01", "2022-06-30"),
        ("what will happen in June", "2023-06-01", "2023-06-30"),
        ("in 2019", "2019-01-01", "2019-12-31"),
        ("since 2019", "2019-01-01", "2023-05-08"),
        ("from 2019 to 2021", "2019-01-01", "2021-12-31"),
        ("Q2 2022", "2022-04-01", "2022-06-30"),
        ("in the 1990s", "1990-01-01", "1999-12-31"),
        ("over the past two weeks", "2023-04-24", "2023-05-08"),
        ("last Christmas", "2022-12-25", "2022-12-25"),
        ("上周五", "2023-05-05", "2023-05-05"),
        ("昨天晚上", "2023-05-07", "2023-05-07"),
        ("大前天", "2023-05-05", "2023-05-05"),
        ("三个月前", "2023-02-01", "2023-02-28"),
        ("两周前", "2023-04-21", "2023-04-27"),
        ("去年夏天", "2022-06-01", "2022-08-31"),
        ("下个月3号", "2023-06-03", "2023-06-03"),
        ("上上周", "2023-04-24", "2023-04-30"),
        ("2023年5月8日", "2023-05-08", "2023-05-08"),
        ("二〇二二年十二月三十一日", "2022-12-31", "2022-12-31"),
        ("去年国庆", "2022-10-01", "2022-10-01"),
        ("从2019年到2021年", "2019-01-01", "2021-12-31"),
    ],
)
def test_a_time_is_found_with_its_days(text: str, first: str, last: str) -> None:
    found = find_times(text, MONDAY)
    assert [(str(when.first), str(when.last)) for when in found] == [(first, last)]


@pytest.mark.parametrize(
    "text",
    [
        "I may need help",
        "we march on",
        "port 2020 and 2000 tokens",
        "v2023.1.2.4",
        "2023-02-30",
        "99999999 years ago",
        "三年级有五天经验",
        "",
    ],
)
def test_what_only_looks_like_a_time_is_none(text: str) -> None:
    assert not find_times(text, MONDAY)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("User ran a race last Friday", "User ran a race on 5 May 2023"),
        ("Yesterday user bought a bike", "On 7 May 2023 user bought a bike"),
        ("User has to pay by tomorrow", "User has to pay by 9 May 2023"),
        ("User moved two years ago", "User moved in 2021"),
        ("User will travel next month", "User will travel in June 2023"),
        ("User has run for the past three years", "User has run since 2020"),
        ("User slept badly last night", "User slept badly on the night of 7 May 2023"),
        ("User is looking forward to next week's trip",
         "User is looking forward to the week of 15 May 2023's trip"),
        ("User meets Ann on Fridays", "User meets Ann on Fridays"),
        ('User likes "Last Friday Night"', 'User likes "Last Friday Night"'),
        ("User's birthday is on 8 May", "User's birthday is on 8 May"),
        ("用户上周五跑了比赛", "用户2023年5月5日跑了比赛"),
        ("用户去年夏天去了北京", "用户2022年夏天去了北京"),
        ("用户昨晚没睡好", "用户2023年5月7日晚上没睡好"),
        ("用户每周五开会", "用户每周五开会"),
        ("用户今年年底结婚", "用户2023年底结婚"),
    ],
)  # fmt: skip
def test_a_fact_is_told_so_that_it_is_understood_on_any_day(text: str, told: str) -> None:
    assert absolute(text, MONDAY) == told
    assert absolute(told, date(2030, 1, 1)) == told
