"""Pairs of sentences with the verdict that a careful person gives.

merge: they state the same, and the rules see it. same: they state the same, in a way that the rules leave to people.
contained, contradicts, different: must never be merged without a person.
"""

EN = r"""
merge | The kiosk sells milk, bread and tea. | The kiosk sells tea, milk and bread.
merge | Note: Nora works at Lumen. | Nora works at Lumen.
merge | The key is also kept in Leeds. | The key is kept also in Leeds.
different | Luc went to Rome, Bari and Nice. | Luc went to Nice, Bari and Rome.
different | Also Nora saw the fox. | Nora saw also the fox.
merge | The heater is in the attic. | the heater is in the attic
merge | Nora has four goats. | Nora has 4 goats.
merge | The permit ends on 7 June 2027. | The permit ends on 2027-06-07.
merge | The permit ends on June 7, 2027. | The permit ends on 7 June 2027.
merge | It's due on the 1st of March 2027 | It's due on 2027-03-01.
merge | I'm allergic to latex. | I am allergic to latex.
merge | The gate doesn't close. | The gate does not close.
merge | Omar can't swim. | Omar cannot swim.
merge | The deploy key is "teal otter". | The deploy key is “teal otter”.
merge | Printer, scanner and fax work. | Printer, scanner, and fax work.
merge | - likes chess\n- lives in Graz | * lives in Graz\n* likes chess
merge | Runs on (old) hardware. | Runs on old hardware
merge | Ｕｓｅｓ Ｖｉｍ | Uses Vim
merge | The well-known bakery is closed. | The well known bakery is closed.
merge | The office is in Leeds. | Office is in Leeds.
merge | The library is currently closed. | The library is closed.
merge | Currently the library is closed. | The library is currently closed.
merge | Nora works at Lumen. Nora lives in Graz. | Nora lives in Graz. Nora works at Lumen.
merge | We'll use port 9000. | We will use port 9000.
merge | The door won't open! | The door will not open.
same | Hana wrote the memo. | The memo was written by Hana.
same | Hana bought the boat from Luc. | Luc sold the boat to Hana.
same | The rope is 2 m long. | The rope is 200 cm long.
same | The shop shuts at six. | The shop closes at six.
contradicts | Nora has four goats. | Nora has five goats.
contradicts | The service listens on port 9000. | The service listens on port 9001.
contradicts | The fee is 40 EUR. | The fee is 40 GBP.
contradicts | The talk starts at 9:15. | The talk starts at 19:15.
contradicts | Omar eats fish. | Omar does not eat fish.
contradicts | The alarm is on. | The alarm is off.
contradicts | The permit ends on 7 June 2027. | The permit ends on 6 July 2027.
contradicts | Set CACHE=on. | Set CACHE=off.
contradicts | Nora lives in Graz. | Nora lives in Linz.
contradicts | The limit is 5 MB. | The limit is 5 GB.
contradicts | The path is open. | The path is closed.
contained | Nora works at Lumen. | Nora works at Lumen in Graz.
contained | Omar is allergic to latex. | Omar is allergic to latex. Omar is 41. Omar lives in Linz.
contained | The boat is blue. | The boat is blue with a white stripe.
different | Alma reports to Boris. | Boris reports to Alma.
different | The ferry goes from Split to Bari. | The ferry goes from Bari to Split.
different | In 2018 there were 9, in 2020 12. | In 2018 there were 12, in 2020 9.
different | The lid must be shut. | The lid may be shut.
different | Ivo lives in Rome. | Ivo lived in Rome.
different | Few guests stayed. | A few guests stayed.
different | Stop the pump and open the valve. | Open the valve and stop the pump.
different | Stop the pump. Open the valve. | Open the valve. Stop the pump.
different | Rita is Olga's aunt. | Olga is Rita's aunt.
different | Rita is Olga's sister. | Rita is Olga's half-sister.
different | Does Ivo like tea? | Ivo likes tea.
different | The polish is on the shelf. | The Polish is on the shelf.
different | Send it to US. | Send it to us.
different | They're late. | They were late.
different | Use --force. | Use --no-force.
different | Run `make lint`. | Run `make lints`.
different | The docs are at https://docs.example/v1. | The docs are at https://docs.example/v2.
different | The note says "red door". | The note says "red floor".
different | Edit ~/notes/a.txt first. | Edit ~/notes/b.txt first.
different | Ivo likes jazz. He lives in Bonn. | He lives in Bonn. Ivo likes jazz.
different | Only Ivo saw the fox. | Ivo saw only the fox.
different | Rita sometimes drinks tea. | Rita drinks tea.
different | A king ruled. | The king ruled.
different | The offset is -5. | The offset is 5.
different | Ship 3-5 boxes. | Ship 35 boxes.
different | Perhaps the bridge is open. | The bridge is open.
merge | The lamp (old) is red. | The lamp old is red.
merge | The heater, bought in Bari, hums. | The heater bought in Bari hums.
merge | Currently, the pier is shut. | The pier is currently shut.
merge | However, the pier is shut. | The pier is shut.
merge | Nora has goats, cats and dogs. | Nora has dogs, goats and cats.
merge | The API is down. | API is down.
different | Takes .5 mg at noon. | Takes 5 mg at noon.
different | The offset is - 5 at noon. | The offset is 5 at noon.
different | - 5 is the offset. | 5 is the offset.
different | The result is 10 - 5 here. | The result is 10 5 here.
different | The range is 10,20 here. | The range is 10 20 here.
different | The score is (5) 3. | The score is 5 (3).
different | Team A won the cup. | Team won the cup.
different | Vitamin A deficiency is rare. | Vitamin deficiency is rare.
different | Plan a is fine. | Plan is fine.
different | Nora is in charge of Omar. | Nora is in the charge of Omar.
different | The cats are in for milk. | Cats are in for milk.
different | The two sons live in Linz. | Two sons live in Linz.
different | There is a room for Omar. | There is room for Omar.
different | The water is cold. | Water is cold.
different | Omar stayed a while. | Omar stayed while.
different | Nora won the second prize. | Nora won second prize.
different | The Polish is on the left. | Polish is on the left.
different | Until now Omar was in the attic. | Until Omar was in the attic.
different | Now and then Omar is in Bari. | And then Omar is in Bari.
different | However hard it is, Ivo is calm. | Hard it is, Ivo is calm.
different | Ivo is currently not in Bari. | Ivo is not in Bari.
different | Nora is now in Graz and Omar is in Linz. | Nora is in Graz and Omar is now in Linz.
different | Patch it NOW. | Patch it.
different | The pier is NOW open. | The pier is open.
different | Ivo is now sure Nora is ill. | Ivo is sure Nora is now ill.
different | Nora has also told Omar. | Nora has told also Omar.
different | No, the gate is open. | No the gate is open.
different | Ivo, said Nora, is late. | Ivo said Nora is late.
different | The pupils, who passed, left. | The pupils who passed left.
different | Ask Nora, Omar. | Ask Nora Omar.
different | The shop is (not) open. | The shop is not open.
different | Nora calls f(x) here. | Nora calls f x here.
different | Nora reads a[0] here. | Nora reads a 0 here.
different | Nora got the job :( | Nora got the job :)
different | Graz -> Linz is full. | Graz > Linz is full.
different | The blood type is A- for Omar. | The blood type is A for Omar.
different | Nora knows .NET well. | Nora knows NET well.
different | [ ] call the plumber | call the plumber
different | if late:\n    wait\ngo on | if late:\n    wait\n    go on
different | Nora likes tea. Is 41. Ivo likes ale. Lives in Linz. | Nora likes tea. Lives in Linz. Ivo likes ale. Is 41.
different | Ivo has a dog. The dog is old. Nora has a cat. | The dog is old. Nora has a cat. Ivo has a dog.
different | Nora is 41. Another sister is 30. | Another sister is 30. Nora is 41.
different | Nora has quit. Omar has left. | Omar has left. Nora has quit.
different | Today is Monday. Omar is away. | Omar is away. Today is Monday.
different | Omar has laughed, cried and left. | Omar has left, laughed and cried.
different | Omar first uses tar, gzip and scp. | Omar first uses scp, gzip and tar.
different | The twenty five cats are here. | The 20 5 cats are here.
different | An elf is in Graz. | An 11 is in Graz.
"""

DE = r"""
merge | Der Kiosk verkauft Milch, Brot und Tee. | Der Kiosk verkauft Tee, Milch und Brot.
merge | Notiz: Nora arbeitet bei Lumen. | Nora arbeitet bei Lumen.
different | Luc fuhr nach Rom, Bari und Nizza. | Luc fuhr nach Nizza, Bari und Rom.
merge | Der Ofen steht im Keller. | der Ofen steht im Keller
merge | Nora hat vier Ziegen. | Nora hat 4 Ziegen.
merge | Die Frist endet am 7. Juni 2027. | Die Frist endet am 2027-06-07.
merge | Die Frist endet am 7.6.2027. | Die Frist endet am 07.06.2027.
merge | Schöne Grüße an Björn. | Schoene Gruesse an Bjoern.
merge | „Blauer Otter“ ist das Kennwort. | "Blauer Otter" ist das Kennwort.
merge | Luc ist derzeit in Linz. | Luc ist in Linz derzeit.
merge | Luc ist jetzt in Linz. | Luc ist in Linz.
merge | - mag Schach\n- wohnt in Graz | * wohnt in Graz\n* mag Schach
merge | Der Termin ist um 9:00 Uhr. | Der Termin ist um 9 Uhr.
merge | Die Lampe (alt) ist grün. | Die Lampe alt ist grün
merge | Nora arbeitet bei Lumen. Nora wohnt in Graz. | Nora wohnt in Graz. Nora arbeitet bei Lumen.
merge | Der E-Mail-Server läuft. | Der E-Mail Server läuft.
merge | Das Tor schließt nicht! | Das Tor schließt nicht.
merge | Der Hof ist groß, aber der Garten klein. | Der Hof ist groß aber der Garten klein.
different | Omar mag Nora, Ivo und Luc. | Omar mag Nora Ivo und Luc.
merge | Ｎｕｔｚｔ Ｖｉｍ auf dem Server | Nutzt Vim auf dem Server
merge | Omar wohnt in Wien · Nord. | Omar wohnt in Wien Nord.
merge | Das Büro ist aktuell zu. | Das Büro ist zu.
merge | Die Rechnung kam am 3. März 2026. | Die Rechnung kam am 3.3.2026.
merge | Der Kurs hat zwölf Plätze. | Der Kurs hat 12 Plätze.
same | Am Freitag ist das Büro zu. | Das Büro ist am Freitag zu.
same | Hana schrieb das Protokoll. | Das Protokoll wurde von Hana geschrieben.
same | Das Seil ist 2 m lang. | Das Seil ist 200 cm lang.
same | Omar wohnt nicht in Linz. | Omar wohnt in Linz nicht.
contradicts | Nora hat vier Ziegen. | Nora hat fünf Ziegen.
contradicts | Der Dienst lauscht auf Port 9000. | Der Dienst lauscht auf Port 9001.
contradicts | Die Gebühr ist 40 Euro. | Die Gebühr ist 40 Dollar.
contradicts | Der Vortrag beginnt um 9:15 Uhr. | Der Vortrag beginnt um 19:15 Uhr.
contradicts | Omar isst Fisch. | Omar isst nie Fisch.
contradicts | Das Limit ist 5 MB. | Das Limit ist 5 GB.
contradicts | Die Karte gilt ab Montag. | Die Karte gilt bis Montag.
contradicts | Die Frist endet am 7.6.2027. | Die Frist endet am 6.7.2027.
contradicts | Nora wohnt in Graz. | Nora wohnt in Linz.
contradicts | Das Fenster ist offen. | Das Fenster ist geschlossen.
contradicts | Das wiegt 2,5 kg. | Das wiegt 25 kg.
contained | Nora arbeitet bei Lumen. | Nora arbeitet bei Lumen in Graz.
contained | Omar ist 41. Omar wohnt in Linz. | Omar wohnt in Linz. Omar ist 41. Omar hat zwei Söhne.
contained | Das Boot ist blau. | Das Boot ist blau mit weißem Streifen.
different | Alma berichtet an Boris. | Boris berichtet an Alma.
different | Der Hund jagt den Fuchs. | Den Hund jagt der Fuchs.
different | Die Fähre fährt von Split nach Bari. | Die Fähre fährt von Bari nach Split.
different | Sie kennen den Weg. | sie kennen den Weg
different | Ihr habt recht. | ihr habt recht
different | Er trinkt in Maßen. | Er trinkt in Massen.
different | Die Buße war hoch. | Die Busse war hoch.
different | Ivo kommt. | Ivo kommt vielleicht.
different | Ivo kommt. | Ivo kam.
different | Der Deckel muss zu sein. | Der Deckel darf zu sein.
different | Nur Ivo sah den Fuchs. | Ivo sah nur den Fuchs.
different | Erst pumpen, dann öffnen. | Dann pumpen, erst öffnen.
different | Die Pumpe stoppen. Das Ventil öffnen. | Das Ventil öffnen. Die Pumpe stoppen.
different | Rita ist Olgas Tante. | Olga ist Ritas Tante.
different | Rita ist Olgas Schwester. | Rita ist Olgas Halbschwester.
different | Mag Ivo Tee? | Ivo mag Tee.
different | Das Tor im Norden klemmt. | Das Tor im Süden klemmt.
different | Der Zettel sagt „roter Turm“. | Der Zettel sagt „roter Wurm“.
different | Starte `make pruefen`. | Starte `make pruefe`.
different | Luc mag keine Pilze. | Luc mag keine Hunde.
different | Das Haus ist alt und der Hof neu. | Das Haus ist neu und der Hof alt.
different | Ivo mag Jazz. Er wohnt in Bonn. | Er wohnt in Bonn. Ivo mag Jazz.
different | Der Termin ist um halb neun. | Der Termin ist um neun.
different | Den Brief schrieb die Mutter. | Der Brief schrieb die Mutter.
different | Eine Frau rief an. | Die Frau rief an.
different | Alle Lampen brennen. | Manche Lampen brennen.
merge | Der Topf (alt) steht im Keller. | Der Topf alt steht im Keller.
merge | Aerzte sind gern im Garten. | Ärzte sind gern im Garten.
merge | Nora hat Ziegen, Hunde und Katzen. | Nora hat Hunde, Katzen und Ziegen.
different | Das Licht ist an im Keller. | Das Licht ist im Keller.
different | Omar hängt an Nora. | Omar hängt Nora.
different | Omar ist jetzt nicht im Garten. | Omar ist nicht im Garten.
different | Ab jetzt ist Omar Chef. | Ab ist Omar Chef.
different | Luc ist jetzt Chef und Nora ist weg. | Luc ist Chef und Nora ist jetzt weg.
different | Hängen, nicht laufen lassen. | Hängen nicht, laufen lassen.
different | Hana denkt, nicht Omar ist schuld. | Hana denkt nicht, Omar ist schuld.
different | Wir essen, Opa. | Wir essen Opa.
different | 1. Mai ist frei. | 2. Mai ist frei.
different | Der Lehrer(in) Graz ist da. | Der Lehrer in Graz ist da.
different | Omar hat Blutgruppe A- | Omar hat Blutgruppe A
different | Frau Mueller ist mit Frau Müller da. | Frau Müller ist mit Frau Mueller da.
different | Omar hat gelacht, geweint und geschlafen. | Omar hat geschlafen, gelacht und geweint.
different | Nora ist gegangen. Omar ist gekommen. | Omar ist gekommen. Nora ist gegangen.
different | Heute ist Montag. Nora ist krank. | Nora ist krank. Heute ist Montag.
"""

ZH = r"""
merge | 小店卖牛奶、面包和茶 | 小店卖茶、牛奶和面包
merge | 小诺和小陆是同事 | 小陆和小诺是同事
different | 小诺和小陆的妈妈见面 | 小陆和小诺的妈妈见面
different | 火车经过波恩、乌尔姆和格拉茨 | 火车经过格拉茨、乌尔姆和波恩
merge | 服务运行在9000端口。 | 服务运行在9000端口
merge | 小诺住在格拉茨，喜欢象棋。 | 小诺住在格拉茨, 喜欢象棋
merge | 合约二〇二七年六月七日到期 | 合约2027年6月7日到期
merge | 合约2027-06-07到期 | 合约2027年6月7日到期
merge | 主人使用Vim编辑器 | 主人使用 vim 编辑器
merge | 小诺与小陆是邻居 | 小诺和小陆是邻居
merge | 密码是“蓝水獭” | 密码是"蓝水獭"
merge | 小诺在Lumen工作。 | 小诺在 Lumen 工作。
merge | 阿马尔·汗住在林茨 | 阿马尔汗住在林茨
merge | 灯是绿的！ | 灯是绿的。
merge | 小诺住在格拉茨。小诺喜欢象棋。 | 小诺喜欢象棋。小诺住在格拉茨。
merge | - 喜欢象棋\n- 住在格拉茨 | * 住在格拉茨\n* 喜欢象棋
merge | 会议室（旧）在三楼 | 会议室旧在三楼
merge | 备份 存放 在 林茨 | 备份存放在林茨
merge | 小陆不吃鱼。 | 小陆不吃鱼
merge | 文件在《旧卷宗》里 | 文件在《旧卷宗》里。
merge | ＡＰＩ运行正常 | API运行正常
merge | 他的手机是Ｐｉｘｅｌ | 他的手机是Pixel
merge | 版本：2.1 | 版本:2.1
merge | 小诺有两只猫，一只狗 | 小诺有两只猫、一只狗
same | 小花写了纪要 | 纪要是小花写的
same | 绳子长2米 | 绳子长200厘米
same | 主人很喜欢象棋 | 主人非常喜欢象棋
same | 小花把船卖给了小陆 | 小陆从小花那里买了船
contradicts | 服务运行在9000端口 | 服务运行在9001端口
contradicts | 上限是5MB | 上限是5GB
contradicts | 演讲9:15开始 | 演讲19:15开始
contradicts | 小陆吃鱼 | 小陆不吃鱼
contradicts | 设置CACHE=1 | 设置CACHE=0
contradicts | 价格涨 | 价格跌
contradicts | 合约2027年6月7日到期 | 合约2027年7月6日到期
contradicts | 小诺有3只猫 | 小诺有4只猫
contradicts | 房租是900元 | 房租是950元
contradicts | 警报开着 | 警报关着
contained | 小诺在Lumen工作 | 小诺在格拉茨的Lumen工作
contained | 小陆41岁。小陆住在林茨。 | 小陆住在林茨。小陆41岁。小陆有两个儿子。
contained | 船是蓝色 | 船是蓝色带白条纹
different | 小诺把伞给了小陆 | 小陆把伞给了小诺
different | 渡轮从斯普利特开往巴里 | 渡轮从巴里开往斯普利特
different | 2018年有9人，2020年有12人 | 2018年有12人，2020年有9人
different | 我爱吃你做的面 | 你爱吃我做的面
different | 盖子必须盖上 | 盖子可以盖上
different | 她应该走了 | 她走了
different | 他抽烟 | 他抽烟了
different | 他的书 | 他书
different | 发给李蕾 | 发给李雷
different | 小兰是小伊的姑姑 | 小伊是小兰的姑姑
different | 墙是白的，门是黑的 | 墙是黑的，门是白的
different | 这是龙井吗？ | 这是龙井
different | 这是龙井吗 | 这是龙井
different | 他会说挪威语 | 他会说瑞典语
different | 海斗用emacs | 海斗用nano
different | 信给老汤 | 信来自老汤
different | 南门开着 | 北门开着
different | 我不得不走 | 我不得走
different | 存款三千五 | 存款三万五
different | 所有灯亮着 | 有些灯亮着
different | 她想起来 | 她想起来了
different | 先停泵再开阀 | 先开阀再停泵
different | 停泵。开阀。 | 开阀。停泵。
different | 小诺喜欢爵士。他住在波恩。 | 他住在波恩。小诺喜欢爵士。
different | 暗号是“红门” | 暗号是“红们”
different | 文档在https://docs.example/v1 | 文档在https://docs.example/v2
different | 也许桥开着 | 桥开着
different | 偏移是-5 | 偏移是5
merge | 小诺有两只猫（黑） | 小诺有两只猫黑
different | 小店有三种苹果、梨和李子 | 小店有三种梨、苹果和李子
different | 他有三个哥哥、姐姐和弟弟 | 他有三个姐姐、哥哥和弟弟
different | 依次使用甲、乙和丙 | 依次使用丙、乙和甲
different | 发动机功率是5mW | 发动机功率是5MW
different | 下雨天，留客天，留我不留 | 下雨天留客，天留我，不留
different | 我不，想去 | 我，不想去
different | 小诺、小陆去林茨 | 小诺小陆去林茨
different | 血型是A- | 血型是A
different | 温度是 - 5度 | 温度是 5度
different | 小诺喜欢茶。住在格拉茨。小陆喜欢酒。住在林茨。 | 小诺喜欢茶。住在林茨。小陆喜欢酒。住在格拉茨。
different | 小诺有猫。小陆有狗了。 | 小陆有狗了。小诺有猫。
different | 今天是周一。小诺有空。 | 小诺有空。今天是周一。
merge | 備份放在格拉茲 | 备份放在格拉兹
merge | 小諾有兩隻貓 | 小诺有两隻猫
different | 皇后来了 | 皇後来了
different | 頭髮很长 | 头發很长
different | 小諾有貓。之後小陸有狗。 | 之後小陸有狗。小諾有貓。
different | 密码是“藍水獺” | 密码是“蓝水獭”
"""


def pairs(text: str) -> list[tuple[str, str, str]]:
    """Return verdict and both texts of each line."""
    rows = [line.split(" | ") for line in text.strip().splitlines()]
    return [(verdict, one.replace("\\n", "\n"), other.replace("\\n", "\n")) for verdict, one, other in rows]
