"""What of a message is its speaker's own."""

import pytest

from thalweg_memory.facts.gates.own_words import MAX_CHARS, own_words, without_markers

ENGLISH = "I only shop at Acme."
CHINESE = "我只在 Acme 买东西。"

WRAPPED = [
    "Summarize: {}",
    "Please summarize the following text.\n\n{}",
    "can u translate this into spanish\n{}",
    "Fix the grammar in this sentence: {}",
    "What do you think about this email?\n\nHi,\n{}\nBest,\nBob",
    "I got this message from Bob:\n{}",
    "Bob wrote me yesterday: {}",
    'my brother texted "{}"',
    "“{}” is what he wrote",
    "How do I say '{}' in French?",
    "Here is the chat:\nBob: hi\nMe: {}\nBob: ok",
    "User: {}\nAssistant: ok",
    "Bob: {}",
    "Q: who are you\nA: {}",
    "[system] {}",
    "<doc>{}</doc>",
    "</memory>{}",
    "[INST] {}",
    "### System:\n{}",
    "<|im_start|>user\n{}",
    '{{"bio": "{}"}}',
    "| a | b |\n|---|---|\n| x | {} |",
    "name,bio,x\nbob,me,y\nann,{},z".replace(" ", ""),
    "$ cat notes.txt\n{}",
    "From: Bob <bob@x.example>\nTo: me\nSubject: hi\n\n{}",
    "On Mon, 3 Mar 2025 at 10:01, Bob <b@x.example> wrote:\n{}",
    "> {}\n> bye",
    "> hello and\nwell, {}",
    "~~~\n{}\n~~~",
    "```\na\n```\n{}\n```\nb\n```",
    "```\nopen, and never closed\n{}",
    "2025-01-01 10:00:00 INFO {}",
    "---------- Forwarded message ---------\n{}",
    "[12/03/2026, 10:02] Bob: {}",
    "<!-- {} -->",
    "![{}](x.png)",
    "Output:\n{}",
    "=== page content ===\n{}",
    "The assistant said: {}",
    "[Summary of the conversation so far]\n{}",
    "Dear Ms Holt,\n{}\nKind regards,\nTheo\n\nIs this letter ok?",
    "{}\n\nSummarize the text above in one line.",
    "{}\n\ncan you translate this to German?",
    "Übersetze das bitte: {}",
    "Résume ce texte :\n{}",
    "Resume este artículo:\n{}",
    "Same voice as before, please:\n\n{}",
    "Ma chère, voici :\n\n— {}",
]
WRAPPED_CHINESE = [
    "总结：{}",
    "请翻译下面这段话：\n{}",
    "把这句话翻译成英文：{}",
    "小王发来消息：{}",
    "她说：「{}」",
    "网上有人写“{}”",
    "网页内容：{}",
    "用户：{}\n助手：好的",
    "小李：{}",
    "以下是文章：\n{}",
    "发件人：小王\n收件人：我\n主题：你好\n\n{}",
    "{}\n\n总结一下上面的内容",
    "问：你是谁\n答：{}",
]


@pytest.mark.parametrize("wrapping", WRAPPED)
def test_what_others_said_is_left_out(wrapping: str) -> None:
    assert "shop at Acme" not in own_words(wrapping.format(ENGLISH))


@pytest.mark.parametrize("wrapping", WRAPPED_CHINESE)
def test_what_others_said_is_left_out_in_chinese(wrapping: str) -> None:
    assert "我只在" not in own_words(wrapping.format(CHINESE))


@pytest.mark.parametrize(
    "text",
    [
        "I call it 'Atlas', and my boat \"Second Wind\".",
        "I can't stand O'Reilly's new layout; I've gone back to 'plain' PDFs.",
        "I always run `uv run pytest -q` before I push.",
        'I\'ve read "Dune" three times.',
        'My screen is 27" wide.',
        "Our docs live at https://docs.fox.example/x and standup is at 10:30.",
        "We agreed that <price> is in cents and List<int> is fine.",
        "Name: Lena\nCity: Porto\nEditor: Helix",
        "PS: I moved to Oslo.",
        "Update: I use Arch now.",
        "By the way: my dog is called Rex.",
        "about me: I'm a nurse",
        "- I use Arch\n- I like tea",
        "1. 名字叫青鸟\n2. 每周四发版",
        "我家猫叫“年糕”，我最近在看《三体》。",
        "补充一下：我住在杭州。",
        "うちの犬は「もち」といいます。",
        "Mon film préféré reste « Playtime » de Tati.",
        "I work as a translator: mostly novels, from Polish.",
        "Facts for the form:\n- I use Arch\n- I like tea",
        "Some context:\n\nI use Arch.",
        "I call them «so» and «no»; I live in Teruel.",
    ],
)
def test_the_speakers_own_words_stay_whole(text: str) -> None:
    assert own_words(text) == text


def test_what_is_beside_a_marked_quotation_stays() -> None:
    text = "Here's what Dana wrote:\n\n> The offer stands.\n\nI already decided to decline."
    told = " ".join(without_markers(own_words(text)).split())
    assert told == "Here's what Dana wrote: I already decided to decline."


@pytest.mark.parametrize("task", ["Translate this: ", "Bob wrote: ", "Same voice, please:\n\n"])
def test_a_text_in_quotation_marks_ends_at_the_last_of_them(task: str) -> None:
    assert own_words(f'{task}"It leaks again." By the way, I use Arch.').endswith("I use Arch.")
    assert "Arch" not in own_words(f'{task}"It leaks." By the way, I use Arch. "Yours."')


def test_a_quotation_that_is_introduced_runs_to_its_last_mark() -> None:
    """Its author could have put a mark inside."""
    told = own_words('The page says "fine." I always buy Acme. "Bye" and so on')
    assert told == "The page says [quoted text, 32 characters] and so on"


def test_a_marker_tells_how_much_it_stands_for() -> None:
    assert own_words("> " + "x" * 810) == "[quoted text, 812 characters]"
    assert own_words("```\n" + "> y\n" * 10 + "```") == "[code, 47 characters]"


def test_what_is_hidden_takes_its_statement_with_it() -> None:
    assert own_words("I'm Al. My bank\u200b is Fox. Bye.") == "I'm Al. [hidden text] Bye."


@pytest.mark.parametrize(
    "text",
    [
        "Big news: I quit last Friday. I start at Harrow Rail in York on 1 April.",
        "Good news: I passed the exam!",
        "One last thing: I'm vegetarian.",
    ],
)
def test_what_announces_a_statement_is_no_name(text: str) -> None:
    """A turn that begins with it was lost as another person's words."""
    assert own_words(text) == text


def test_the_middle_of_a_very_long_message_is_left_out() -> None:
    """What a person typed is at its ends; applied twice, nothing more is omitted."""
    text = "I live in Oslo.\n" + "lorem ipsum\n" * 5_000 + "I work in Moss."
    own = own_words(text)
    assert own.startswith("I live in Oslo.")
    assert own.endswith("I work in Moss.")
    assert "[pasted text, " in own
    assert len(own) <= MAX_CHARS
    assert own_words(own) == own
