"""Made-up memories in English, German and Chinese, from small word lists. The same seed gives the same texts."""

from __future__ import annotations

import random

LEAST, MOST = 40, 400
"""Characters of a text."""


def _words(text: str) -> dict[str, list[str]]:
    """Return word lists by their place in a sentence from lines such as ``who: Anna | Tom``."""
    lists = (line.split(": ") for line in text.strip().splitlines())
    return {place: words.split(" | ") for place, words in lists}


ENGLISH = _words("""
who: Anna | the gardener | our neighbour | Tom | the printer | the night shift | Maria | the courier | the old \
server | Ben
does: prefers | moved | repaired | forgot | ordered | returned | checked | keeps | labelled | promised
what: the spare key | a blue folder | two boxes of screws | the weekly report | the tea kettle | a train ticket \
| the backup disk | the yellow bicycle | the guest list | a bag of coffee beans
where: in the left cupboard | at the back door | on the third shelf | near the harbour | under the stairs | in \
the small office | at the bakery | beside the window | in the cellar | on the balcony
when: since last spring | every Tuesday | before lunch | after the meeting | at half past nine | in the first \
week of May | on rainy days | until the end of the year | twice a month | as agreed by phone
""")
GERMAN = _words("""
who: Jürgen | die Gärtnerin | unser Nachbar | Frau Schäfer | der Drucker | die Spätschicht | Käthe | der Bote | \
der alte Rechner | Björn
does: bevorzugt | verlegte | reparierte | vergaß | bestellte | brachte | prüfte | behält | beschriftete | \
versprach
what: den Ersatzschlüssel | eine blaue Mappe | zwei Kisten Schrauben | den Wochenbericht | den Wasserkessel | \
eine Fahrkarte | die Sicherungsplatte | das gelbe Fahrrad | die Gästeliste | einen Beutel Kaffeebohnen
where: im linken Schrank | an der Hintertür | auf dem dritten Brett | nahe am Hafen | unter der Treppe | im \
kleinen Büro | beim Bäcker | neben dem Fenster | im Keller | auf dem Balkon
when: seit dem Frühjahr | jeden Dienstag | vor dem Mittagessen | nach der Besprechung | um halb zehn | in der \
ersten Maiwoche | bei Regen | bis zum Jahresende | zweimal im Monat | wie am Telefon besprochen
""")
CHINESE = _words("""
who: 小李 | 园丁 | 我们的邻居 | 王老师 | 打印机 | 夜班同事 | 张阿姨 | 快递员 | 旧服务器 | 小陈
does: 喜欢 | 搬走了 | 修好了 | 忘记了 | 订购了 | 归还了 | 检查了 | 保管着 | 标记了 | 答应准备
what: 备用钥匙 | 蓝色文件夹 | 两盒螺丝 | 每周报告 | 烧水壶 | 一张火车票 | 备份硬盘 | 黄色自行车 | 客人名单 |\
 一袋咖啡豆
where: 放在左边的柜子里 | 在后门旁边 | 在第三层架子上 | 靠近港口的地方 | 在楼梯下面 | 在小办公室里 | 在面包店 | \
在窗户旁边 | 在地下室 | 在阳台上
when: 从去年春天开始 | 每个星期二 | 午饭之前 | 会议结束以后 | 早上九点半 | 五月的第一个星期 | 下雨的时候 | \
直到年底 | 每个月两次 | 电话里已经约定
""")


def _sentence(pick: random.Random, words: dict[str, list[str]]) -> str:
    who, does, what, where, when = (pick.choice(words[part]) for part in ("who", "does", "what", "where", "when"))
    if words is CHINESE:
        return f"{who}{when}{does}{what}，{where}。"
    order = f"{who} {does} {what} {where} {when}"
    return f"{order[0].upper()}{order[1:]}."


class Writer:
    """Writes texts of LEAST to MOST characters: half English, three in ten German, two in ten Chinese."""

    def __init__(self, seed: int) -> None:
        self._pick = random.Random(seed)
        self._pools = [[_sentence(self._pick, words) for _ in range(2000)] for words in (ENGLISH, GERMAN, CHINESE)]

    def text(self, number: int) -> str:
        """Return a text; the number in it makes it unlike every other."""
        chance = self._pick.random
        share = chance()
        language = 0 if share < 0.5 else 1 if share < 0.8 else 2
        pool, gap = self._pools[language], "" if language == 2 else " "
        length = LEAST + int((MOST - LEAST) * chance() ** 2)
        mark = f"Nr. {number}:" if language == 1 else f"第{number}号：" if language == 2 else f"No. {number}:"
        text = mark + gap + pool[int(chance() * len(pool))]
        while len(text) < length:
            text += gap + pool[int(chance() * len(pool))]
        return text[:MOST]
