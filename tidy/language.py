"""The words that the rules know, by language, and which language a text is in. Pure.

Every list is closed: what is not in it has no say. Words are case-folded; Chinese entries are runs of characters.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import Literal

from search.text import is_cjk, runs

Language = Literal["en", "de", "zh", "ja", "ko"]


def words(text: str) -> frozenset[str]:
    """Return the words of a list, case-folded."""
    return frozenset(text.casefold().split())


def runs_of(text: str) -> tuple[str, ...]:
    """Return the runs of characters of a list, for scripts that do not part words."""
    return tuple(text.split())


FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: 0x20}
"""What full-width letters and signs are otherwise, for str.translate."""
TOLD_BY = 2000
"""Characters from the beginning that tell a text's language."""
ARTICLES = words("a an the")
TIME_ADVERBS = words("currently now derzeit jetzt aktuell")
FREE_ADVERBS = TIME_ADVERBS | {"however"}
"""May stand elsewhere in a statement, or be missing, and it says the same."""
BEFORE_BOUND_ADVERBS = words(
    "until till by from since just right even only up before than as a an the every bis ab von erst schon noch "
    "gerade "
    "nur eben auch ein eine der die das"
)
AFTER_BOUND_ADVERBS = words("and or that then und oder noch schon erst ab")
"""Beside these a free adverb is not free: until now, now and then, ab jetzt."""
BEING = words("is are was were am has have had ist sind war waren bin hat haben hatte hatten")
LABELS = words("note notiz info hinweis memo 备注 注")
"""Before a colon they say that a note follows, and nothing else."""
ARTICLE_TELLS = words(
    "few little bit lot number couple good great dozen hundred thousand million more most less least first second "
    "third fourth fifth next last only same other others another certain while part time times people poor rich room "
    "way place charge question case order fact front power force control sight favour favor cold glass paper iron "
    "business drink chicken fish lamb turkey light work life death love nature history art music society man woman "
    "god law science food water milk bread coffee tea beer wine rice sugar salt fruit cheese butter oil gas "
    "electricity money gold silver wood cotton meat information advice software hardware data traffic weather rain "
    "snow air fire home school church prison jail hospital university college court bed sea town class men women "
    "children youth one two three four five six seven eight nine ten"
)
"""Before these an article changes what is meant: few is not a few, water not the water, in charge not in the charge."""
SMALL_WORDS = words(
    "is are was were am be been has have had do does did can could will would may must shall of in on at to for with "
    "by from into over under about as than then and or but not no nor if so that which who whom whose when where "
    "while because he she it we they you i his her its our their my your this these those a an the"
)
"""Before these a is no article but a letter: plan a is fine."""
LETTERED = words(
    "plan option team vitamin class group type grade block room level hepatitis variant version model section part "
    "exhibit column row unit series gate wing hall platform side blood item step point case"
)
"""Behind these a may be a letter, as in vitamin a deficiency."""
SUBORDINATING = words(
    "who whom whose which that what where when while because since if unless until although though as so than whether"
)
"""A comma before these has a sense: who smoke are some, commas make it all of them."""
REPORTING = words(
    "say says said tell tells told ask asks asked think thinks thought claim claims claimed believe believes "
    "believed "
    "reply replied answer answered write writes wrote sagt sagte sagen meint meinte glaubt glaubte fragt "
    "fragte denkt "
    "dachte schreibt schrieb behauptet behauptete antwortet antwortete"
)
CJK_REPORTING = runs_of("说 認為 认为 表示 称 告诉 问 觉得 回答 写道 言う 言った")
"""Where somebody is reported, commas tell who says it of whom."""
LEANING = words(
    "another other others else rest remaining same previous following above below likewise similarly either neither "
    "each even already only now just too well andere anderer anderen anderes weitere weiterer übrigen gleiche "
    "gleichen vorige obige ebenfalls ebenso gleichfalls schon bereits nur sogar jetzt nun "
    "today tomorrow yesterday tonight inside outside upstairs downstairs nearby opposite beside heute morgen gestern "
    "drinnen draußen oben unten nebenan gegenüber"
)
CJK_LEANING = runs_of(
    "另 其他 其余 其它 同样 以上 以下 上述 都 只 仍 了 别的 今天 昨天 明天 楼上 楼下 里面 外面 旁边 上面 下面 "
    "左边 右边 对面 附近 前面 后面"
)
"""Who says so rests on what was said before."""
HAVING = words("has have hat haben is are ist sind")
DONE = words(
    "left quit gone come become begun run won lost sold bought made met sent kept built paid read set put cut hit "
    "shut told said found had done been got gotten grown flown shown known born worn torn sworn withdrawn"
)
"""Participles without an ending of their own, behind a form of have."""
KEPT_CAPITALS = words("sie ihr ihnen ihre ihrer ihrem ihren ihres")
"""German words that mean somebody else with a small letter, at the beginning of a statement too."""

NUMBERS: dict[str, dict[str, str]] = {
    "en": {
        **{"two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9"},
        **{"ten": "10", "eleven": "11", "twelve": "12", "twenty": "20"},
    },
    "de": {
        **{"zwei": "2", "drei": "3", "vier": "4", "fünf": "5", "sechs": "6", "sieben": "7", "neun": "9", "zehn": "10"},
        **{"elf": "11", "zwölf": "12", "zwanzig": "20"},
    },
}
"""Number words with one meaning, by language: acht is also heed, one and ein are articles, and an elf is no 11."""

NEGATIONS = words(
    "not no never none nobody nothing neither nor without cannot nicht kein keine keinen keinem keiner keines nie "
    "niemals niemand nichts weder ohne"
)
CJK_NEGATIONS = runs_of("不 没 沒 未 无 無 非 别 別 莫 ない ません なかっ 안 않 없 못")
MODALS = words(
    "can could may might must shall should will would ought need needs maybe perhaps possibly probably likely "
    "unlikely apparently supposedly reportedly allegedly seems seemed appears hopefully almost nearly kann können "
    "könnte könnten konnte konnten darf dürfen durfte muss müssen musste mussten müsste soll sollen sollte sollten "
    "mag möchte möchten will wollen wollte wollten wird werden würde würden vielleicht möglicherweise wahrscheinlich "
    "vermutlich wohl angeblich anscheinend offenbar eventuell hoffentlich fast beinahe"
)
CJK_MODALS = runs_of(
    "可能 也许 或许 大概 应该 应当 必须 可以 能够 想要 打算 计划 准备 将要 好像 似乎 恐怕 差点 几乎 据说 听说 "
    "希望 如果 假如 要是 愿意 得去 需要 会议记录"
)
PRONOUNS = words(
    "he she it they him her them his hers its their theirs this that these those there here one both former latter "
    "such er es ihn ihm ihr ihnen sein seine seinen seinem seiner ihre ihren ihrem dieser diese dieses diesen diesem "
    "jener jene dort da hier beide der die das"
)
CJK_PRONOUNS = runs_of("他 她 它 牠 这 那 此 其 前者 后者 同上 彼 それ これ あれ 그 이것")
ORDER_WORDS = words(
    "first firstly second secondly third then next after afterwards before later finally last lastly subsequently "
    "meanwhile so thus therefore hence because but yet and or also too otherwise instead still again until "
    "since when "
    "while if unless zuerst erst dann danach nachdem bevor vorher später schließlich zuletzt anschließend deshalb "
    "daher darum also weil denn aber doch und oder auch sonst stattdessen noch wieder bis seit wenn während falls "
    "sobald"
)
CJK_ORDER = runs_of(
    "首先 然后 接着 之后 以后 之前 以前 最后 随后 后来 于是 所以 因此 因为 但是 可是 不过 而且 并且 还有 也 又 "
    "再 先 才 就 否则 如果 当"
)
STATES = words(
    "is are has have lives live works work likes like loves love prefers prefer uses use wants want speaks speak "
    "plays play knows know owns own hates hate dislikes dislike eats eat drinks drink drives drive studies study ist "
    "sind hat haben wohnt wohnen lebt leben arbeitet arbeiten mag mögen liebt lieben nutzt nutzen benutzt spricht "
    "sprechen spielt spielen kennt kennen besitzt besitzen hasst isst trinkt fährt studiert heißt bevorzugt"
)
"""Verbs that say how something is: statements of nothing else may stand in any order."""
CJK_STATES = runs_of("是 有 住 喜欢 讨厌 偏好 使用 会说 工作 过敏 属于 位于 岁")

OPPOSITES = (
    *(("all", "some"), ("all", "no"), ("always", "never"), ("up", "down"), ("before", "after"), ("open", "closed")),
    *(("on", "off"), ("enabled", "disabled"), ("more", "less"), ("cheap", "expensive"), ("hot", "cold")),
    *(
        ("alle", "einige"),
        ("alle", "keine"),
        ("immer", "nie"),
        ("vor", "nach"),
        ("ab", "bis"),
        ("offen", "geschlossen"),
    ),
    *(("an", "aus"), ("mehr", "weniger"), ("auf", "zu"), ("涨", "跌"), ("开", "关")),
    *(("true", "false"), ("yes", "no"), ("ja", "nein")),
)

UNITS = words(
    "kb mb gb tb kib mib gib ms s sec min h km m cm mm kg g mg l ml kwh kw w v hz khz mhz ghz eur usd gbp chf "
    "jpy cny "
    "euro euros dollar dollars pound pounds percent prozent seconds minutes hours days weeks months years sekunden "
    "minuten stunden tage wochen monate jahre am pm uhr % € $ £ ¥ ° 元 美元 欧元 公里 米 厘米 公斤 斤 克 小时 "
    "分钟 秒 天 周 月 年"
)

_TELLING = {
    "en": words(
        "the a is are was were and of to in on at for with he she they we it my his her our not has have had "
        "this that be been will do does did likes lives works uses prefers wants from by you your but or if "
        "there when who which what can could should would must may about into than then very also only never "
        "always use"
    ),
    "de": words(
        "der die das den dem des ein eine einen einem einer ist sind war waren und von zu im in am auf für mit "
        "sie wir ich es mein meine nicht hat haben hatte bei nach seit um bis wird dass mag wohnt arbeitet "
        "trinkt isst nutzt spielt spricht kommt geht fährt macht kein keine keinen oder aber auch sehr nur "
        "noch schon sich aus über unter vom zum zur ins mich mir dich ihm uns kann muss soll alle wenn weil "
        "durch gegen ohne jetzt derzeit"
    ),
}
_OTHER = words(
    "le la les un une du de et est dans pour avec je il elle nous el los las una y es por con yo lo gli che di "
    "per het een niet van op og ikke jeg det som inte och jag met voor zijn naar ik je maar os um uma do não "
    "da em com para que sono att är på ett er et w na się jest nie bir ve bu için ja ei se ne su del della qui "
    "sur au aux ce"
) - words("do er in")
"""Words of languages that the rules do not know, which share letters and words with those that they do."""
_UMLAUTS = frozenset("äöü")
_FOREIGN = frozenset("åøşğıőűñãõłąężśćčšžřěțăîàèòùçéêâáíóúý")


def language_of(text: str) -> Language | None:
    """Return the language of a text, None for one that the rules do not know or cannot tell."""
    return _language_of(text[:TOLD_BY])


@lru_cache(maxsize=4096)
def _language_of(text: str) -> Language | None:
    scripts = _scripts(text)
    if scripts["han"] + scripts["kana"] + scripts["hangul"]:
        if scripts["hangul"] > scripts["kana"]:
            return "ko"
        if scripts["kana"]:
            return "ja"
        return "zh" if 2 * scripts["han"] >= scripts["latin"] else None
    votes = _votes(text)
    best: Literal["de", "en"] = "de" if votes["de"] > votes["en"] else "en"
    # Letters of other languages stand in names too, so they weigh less than words.
    strange = votes["strange"] + (votes["umlauts"] if best == "en" else 0)
    return None if votes[best] <= votes["other"] or votes[best] < strange else best


def tells_nothing(text: str) -> bool:
    """Return whether a text of plain Latin letters has no word that tells its language."""
    return text.translate(FULL_WIDTH).isascii() and not any(_votes(text).values())


def _scripts(text: str) -> Counter[str]:
    """Return how many characters are Han, kana and Hangul, and how many words Latin."""
    found: Counter[str] = Counter()
    for run in (match[0] for match in runs(text.casefold()[:TOLD_BY])):
        if is_cjk(run):
            found.update(
                "kana" if "\u3040" <= one <= "\u30ff" else "han" if one < "\uac00" else "hangul" for one in run
            )
        elif any("a" <= letter <= "z" for letter in run):
            found["latin"] += 1
    return found


def _votes(text: str) -> dict[str, int]:
    """Return how many words tell of each language that is known, and of others, by themselves or by their letters."""
    plain = text[:TOLD_BY].translate(FULL_WIDTH)
    folded = plain.casefold()
    found = [word.strip('.,;:!?"()') for word in folded.replace("'", " ").replace("’", " ").split()]
    votes = {name: sum(word in told for word in found) for name, told in _TELLING.items()}
    votes["en"] += plain.startswith(("I ", "I'")) + plain.count(" I ")
    votes["umlauts"] = sum(not _UMLAUTS.isdisjoint(word) for word in found)
    if votes["de"] or "ß" in plain:  # Umlauts alone are Swedish, Finnish or Turkish too.
        votes["de"] += votes["umlauts"] + plain.count("ß")
    votes["other"] = sum(word in _OTHER for word in found)
    votes["strange"] = sum(not _FOREIGN.isdisjoint(word) for word in found)
    return votes
