"""Which texts tell of something that happened once and left nothing behind, and which tell of a habit. Pure.

A habit archived as an event would be forgotten for good, so events are a closed list: one statement with exactly one
full date that is past, whose subject is followed by a verb of the list, and not one word that lasts, repeats, may be or
is not. A clock time makes no event.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from tidy import han, happened_de, happened_en, happened_zh, language
from tidy.dates import MONTH_NAMES, dates
from tidy.facts import LONGEST, statements
from tidy.language import runs_of, words
from tidy.tokens import Token

WORDS_MAX = 16
"""A longer statement tells more than one thing."""


@dataclass(frozen=True, slots=True)
class Event:
    """A day, and the verb that tells what happened on it."""

    date: date
    verb: str
    why: tuple[str, ...]


HABITS = words(
    "every each daily weekly monthly yearly annual annually nightly hourly always usually often sometimes "
    "rarely seldom never normally generally typically regularly occasionally mostly tend tends tended habit "
    "habits habitually routine routinely whenever frequently constantly repeatedly weekday weekdays weekends "
    "weekend mornings evenings afternoons nights mondays tuesdays wednesdays thursdays fridays saturdays "
    "sundays used would ever anymore again once twice times per most many weeknight weeknights summers winters "
    "nowadays lately recently whole entire season several lots other years months weeks days jede jeden jedes "
    "jedem jeder täglich wöchentlich monatlich jährlich nächtlich stündlich immer meist meistens oft häufig "
    "manchmal selten nie niemals normalerweise gewöhnlich üblicherweise regelmäßig gelegentlich ständig "
    "dauernd ab gewohnheit gewohnheiten routine werktags wochentags wochenends morgens abends mittags nachts "
    "vormittags nachmittags montags dienstags mittwochs donnerstags freitags samstags sonnabends sonntags "
    "pflegte pflegt gern gerne alle wieder erneut einmal zweimal dreimal mal mehrmals jeweils fast gewohnt "
    "stets sommers winters feiertags tagelang wochenlang monatelang jahrelang stundenlang neuerdings"
)
HABIT_RUNS = runs_of(
    "习惯 经常 常常 常年 常态 常在 常去 时常 往往 总是 反复 长期 一直 持续 例行 惯例 每 天天 作息 规律 平时 "
    "平常 一向 向来 从来 从不 通常 大多 有时 偶尔 偏向 偏好 倾向 喜欢 一般 很少 周一 周二 周三 周四 周五 周六 "
    "周日 周末 星期 工作日 饭后 睡前 以来 定期 准时 隔周 隔天 时不时 一到 一年一度 常 总 爱 又 一次 两次 几次 "
    "多次 晨跑 坚持 最近 近来 近日 这阵子 这段 整天 凡是 照例 依旧 依然 年年 月月 夜夜 频繁 时时 不时 隔三差五 "
    "三天两头 都 老是 动不动 习 晚上都 早上都"
)
LASTING = words(
    "is are has have having been being since until still now already yet ago forever permanently finally who "
    "which whose "
    "whom that because so if when while before after first last new became become becomes remains stayed "
    "lives live works "
    "today yesterday tomorrow ago will going supposed planned maybe perhaps probably apparently "
    "ist sind bin hat noch seit seitdem bis jetzt nun schon bereits weil dass wenn als während bevor nachdem "
    "erste ersten "
    "erstes erstmals endlich neue neuer neuen neues wurde wurden worden geworden blieb bleibt wohnt lebt "
    "arbeitet heute "
    "gestern morgen vielleicht wohl angeblich geplant"
)
LASTING_RUNS = runs_of(
    "是 成为 当上 当了 住 买 卖 签 搬 入职 离职 结婚 离婚 订婚 开始 停 戒 加入 换 修 决定 第一 首次 终于 "
    "手术 出生 去世 死 毕业 退 升 病 确诊 摔 断 领养 收养 成立 发布 通过 赢 输 改 现在 还 仍 已经 曾 过去 "
    "以前 如果 因为 所以 但 不过 可能 也许 大概 应该 必须 想 要 会 将 打算 计划 听说 好像 似乎 据说 希望 "
    "没 不 未 无 别 非 吗 呢 今天 昨天 明天 新 恋 怀孕 学会 完成 认识 同意 答应 合同 公司 关闭 删除 部署 "
    "上线 迁移 取消 拿到 考"
)
HARMLESS_RUNS = runs_of("没睡好 睡得不好 会议 聚会 年会 音乐会 演唱会 晚会 非常 还原 要塞 不锈钢 新闻 新鲜 公会")

_AUXILIARIES = words("habe hat haben hast bin ist sind hatte hatten")
"""German forms of the past, that tell of what lasts too."""
# "Bis 2 Uhr" ends the same night.
_UNTIL = re.compile(r"\b(?:bis(?= \d{1,2}(?:[:.]\d\d)? Uhr\b)|until(?= \d{1,2}(?::\d\d)? ?(?:am|pm)\b))", re.IGNORECASE)
# A month or a year beside the date tells of another time.
_MORE_TIME = re.compile(rf"(?<!\d)(?:19|20)\d\d(?!\d)|\d\s?月|\b(?:{MONTH_NAMES})\b", re.IGNORECASE)
_CLOCK = re.compile(r"\d{1,2}[:：]\d{2}|(?:上午|下午|早上|晚上|中午|凌晨)?\d{1,2}点(?:\d{1,2}分|半)?")


def looks_like_habit(text: str) -> bool:
    """Return whether a text has a word of what repeats or lasts, or tells a clock time without a full date."""
    if len(text) > LONGEST:
        return True
    said = {word for statement in statements(text) for word in statement.words}
    if said & HABITS:
        return True
    bare = _without_harmless(text)
    if any(run in bare for run in HABIT_RUNS):
        return True
    return _CLOCK.search(han.as_listed(text)) is not None and next(dates(text), None) is None


def _without_harmless(text: str) -> str:
    """Return the text as closed lists have it, without what only looks like their words."""
    text = han.as_listed(text)
    for run in HARMLESS_RUNS:
        text = text.replace(run, " ")
    return text


def one_off_event(text: str, *, today: date, grace_days: int = 14) -> Event | None:
    """Return the event that a text tells of and nothing else, None where there is the least doubt."""
    event = possible_event(text, today=today, grace_days=grace_days)
    if event is None:
        return None
    found = statements(text)
    if len(found) != 1 or len(found[0].tokens) > WORDS_MAX + (40 if language.language_of(text) == "zh" else 0):
        return None
    verb = _verb_of(text, found[0].tokens)
    if verb is None:
        return None
    why = (f"Its only date, {event.date}, is past.", f"What happened is told by {verb!r}, which leaves nothing behind.")
    return Event(event.date, verb, why)


def possible_event(text: str, *, today: date, grace_days: int = 14) -> Event | None:
    """Return what a person may want to archive: one full past date, and no word that repeats, lasts or may be."""
    if len(text) > LONGEST or looks_like_habit(text):
        return None
    days = [dated.day for dated in dates(text)]
    if len(days) != 1 or days[0] > today - timedelta(days=grace_days):
        return None
    if _MORE_TIME.search(_after_date(text)):
        return None
    found = statements(_UNTIL.sub("at" if language.language_of(text) == "en" else "um", text))
    if any(statement.is_question for statement in found) or language.language_of(text) not in ("en", "de", "zh"):
        return None
    for statement in found:
        said = _words(statement.tokens)
        if set(said) & (LASTING - _AUXILIARIES | language.NEGATIONS | language.MODALS):
            return None
    bare = _without_harmless(text)
    if any(run in bare for run in LASTING_RUNS):
        return None
    return Event(days[0], "", (f"Its only date, {days[0]}, is past, and nothing in it says that it lasts or repeats.",))


def _words(tokens: Sequence[Token]) -> list[str]:
    return [token.text.casefold() for token in tokens if token.kind == "word"]


def _verb_of(text: str, tokens: Sequence[Token]) -> str | None:
    spoken = language.language_of(text)
    if spoken == "zh":
        rest = _CLOCK.sub("", han.as_listed(_after_date(text))).strip("，。.!！ ")
        return None if any(mark in rest for mark in '，,；;。、：:“"') else happened_zh.verb_of(rest)
    if "," in _after_date(text) or any(token.kind in ("raw", "symbol") for token in tokens):
        return None
    return _english_verb(_undated(tokens)) if spoken == "en" else _german_verb(_undated(tokens))


def _after_date(text: str) -> str:
    """Return the text without a date, and without the comma behind one in front."""
    dated = next(dates(text))
    return text[: dated.start] + text[dated.end :].removeprefix(",")


def _undated(tokens: Sequence[Token]) -> list[Token]:
    """Return the tokens without the date and the preposition before it."""
    place = next(place for place, token in enumerate(tokens) if token.kind == "date")
    before = tokens[place - 1] if place else None
    start = place - 1 if before is not None and before.text.casefold() in ("on", "am", "vom") else place
    return [*tokens[:start], *tokens[place + 1 :]]


def _subject_end(tokens: Sequence[Token], pronouns: frozenset[str], owners: frozenset[str], joint: str) -> int | None:
    """Return where the subject ends that the tokens begin with, None where they begin with no simple one."""
    place = 0
    while place < len(tokens):
        folded = tokens[place].text.casefold()
        if tokens[place].kind != "word":
            return None
        if folded in pronouns:
            place += 1
        elif folded in owners and place + 1 < len(tokens) and tokens[place + 1].kind == "word":
            place += 2
        elif tokens[place].shown[:1].isupper():
            place += 1
            while place < len(tokens) and tokens[place].kind == "word" and tokens[place].shown[:1].isupper():
                place += 1
        else:
            return None
        if place < len(tokens) and tokens[place].text.casefold() == joint:
            place += 1
            continue
        return place
    return None


def _english_verb(tokens: list[Token]) -> str | None:
    return happened_en.verb_of(tokens, _subject_end(tokens, happened_en.PRONOUNS, happened_en.OWNERS, "and"))


def _german_verb(tokens: list[Token]) -> str | None:
    if not tokens or tokens[0].kind != "word":
        return None
    # Am 3. Mai sah Alma einen Luchs: behind a date in front the verb comes first.
    start = 1 if happened_de.is_verb(tokens[0].text.casefold()) else 0
    length = _subject_end(tokens[start:], happened_de.PRONOUNS, happened_de.OWNERS, "und")
    if length is None:
        return None
    subject, after = tokens[start : start + length], tokens[start + length :]
    if start:
        return happened_de.verb_of(subject, tokens[0], after)
    return happened_de.verb_of(subject, after[0], after[1:]) if after else None
