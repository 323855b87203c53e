"""Sentences with what may become of them: event (may be archived by itself), keep (never by itself)."""

EN = """
event | Rosa called the bakery on 4 March 2026.
event | On 2026-01-11 Hana and I watched Stalker at the cinema.
event | I went to the barber on 6 July 2026 at 10:15.
event | On July 6, 2026 Omar missed his bus at 8:05.
event | On 14 May 2026 we walked around the harbour.
event | I met Boris for coffee on 9 June 2026.
event | Alma slept badly on 2 October 2026.
event | Luc cooked goulash on 17 February 2026.
event | The owner waited 25 minutes for the ferry on 3 August 2026.
event | I ran 8 km on 20 September 2026.
event | We ordered soup on 2026-09-30.
event | Ivo took a photo of the comet on 1 April 2026.
event | The backup failed on 2026-03-02 at 04:10.
event | On 11 May 2026 Rita sang at the office party.
event | Olga sent the agenda on 2026-08-02.
event | We visited the castle on 12 April 2025.
keep | Rosa gets up at 5:50 and takes the 6:31 tram.
keep | I usually call my aunt after 20:00.
keep | Since 3 March 2025 Omar goes swimming before work.
keep | The backup runs nightly at 03:00.
keep | We met every second Monday in spring 2026.
keep | On 3 May 2026, I would call my grandfather each evening.
keep | My alarm rings at 05:20.
keep | On 3 May 2026, Luc often worked past midnight.
keep | On 3 May 2026, she goes to the pool on Tuesdays.
keep | On 3 May 2026, we used to walk around the lake.
keep | On 3 May 2026, Rita never ate meat.
keep | On 3 May 2026, we played cards at weekends.
keep | On 3 May 2026, I drink tea at 16:00.
keep | Ivo was born on 2 August 1981 in Split.
keep | The office opens at 8:30.
keep | The contract was signed on 3 March 2026.
keep | Rosa's scooter is a green 2018 Vespa.
keep | We have known each other since 1 May 2014.
keep | Version 3.1 shipped on 9 March 2026.
keep | Olga had surgery on her hip on 8 January 2026.
keep | Tom married Ines on 6 June 2023.
keep | We adopted a parrot on 2 November 2025.
keep | She started at Lumen on 2 May 2022.
keep | Omar broke his wrist on 14 February 2026.
keep | The team switched to Redis on 2026-02-15.
keep | We met for the first time on 5 May 2018.
keep | On 9 September 2026 we cancelled the lease.
keep | Vera was promoted on 1 August 2026.
keep | On 12 August 2026 Ines went vegan.
keep | On 3 March 2026 he visited the notary and sold the flat.
keep | On 28 November 2026 we visited the museum.
keep | We visit the zoo on 9 December 2026.
keep | Luc watched Stalker again.
keep | Perhaps Alma went to Paris on 4 May 2026.
keep | Did Rosa call the bakery on 4 March 2026?
keep | Omar went to Japan on 4 April 2026 and still lives there.
keep | On 4 March 2026 Rosa called the parrot Kiki.
keep | We decided on 4 May 2026 to paint the shed.
keep | I did not go to the barber on 6 July 2026.
keep | Rosa met her new boss on 4 March 2026.
keep | On 4 March 2026 Rosa moved to Graz.
keep | Rosa bought a kayak on 4 March 2026.
keep | On 4 March 2026 and 5 March 2026 we walked around the harbour.
keep | Rosa called the bakery in March 2026.
keep | The owner joined the choir on 4 March 2026.
keep | On 3 May 2026, the river flooded the cellar.
event | On 3 May 2026 Nora took a quick nap in the garden.
event | We had dinner with Ivo at the pier on 3 May 2026.
event | Ivo visited Nora on 3 May 2026.
event | On 3 May 2026 we chatted with the neighbours.
event | The owner went for a walk on 3 May 2026.
event | The upload failed on 3 May 2026.
event | On 3 May 2026 we played cards until 2 am.
keep | I met Anna on 3 May 2026.
keep | On 3 May 2026 Rosa called off the wedding.
keep | Omar had a stroke at lunch on 3 May 2026.
keep | On 3 May 2026 I attended my father's funeral.
keep | I visited the oncologist on 3 May 2026.
keep | On 3 May 2026 Nora walked down the aisle.
keep | On 3 May 2026 Nora went to prison.
keep | On 3 May 2026 Nora went out with Omar.
keep | On 3 May 2026 Nora ordered a kayak.
keep | On 3 May 2026 Nora sent the resignation.
keep | Nora missed the deadline on 3 May 2026.
keep | Nora called the police on 3 May 2026.
keep | On 3 May 2026 Omar called his brother a thief.
keep | Nora drove into a tree on 3 May 2026.
keep | Nora took a job near the tram on 3 May 2026.
keep | Nora saw Omar kiss Ivo on 3 May 2026.
keep | Nora played for Rapid on 3 May 2026.
keep | I talked to Omar about the diagnosis on 3 May 2026.
keep | On 3 May 2026 I walked to school.
keep | Omar told the truth on 3 May 2026.
keep | The marriage failed on 3 May 2026.
keep | On 3 May 2026 Omar waited 3 years for Nora.
"""

DE = """
event | Am 4. März 2026 habe ich mit Luc am Fluss gegessen.
event | Am 11. Januar 2026 haben wir das Schloss in Graz besucht.
event | Omar hat am 17. April 2025 die Eröffnung besucht.
event | Der Besitzer trank am 8. August 2026 mit Ivo Kakao.
event | Rosa fuhr am 2. September 2026 nach Linz.
event | Boris hat am 4. Oktober 2026 um 20:40 Uhr angerufen.
event | Am 15. August 2026 wanderte die Familie am See.
event | Sie hatte am 3. September 2026 um 15 Uhr ein Gespräch mit der Gärtnerin.
event | Am 1. April 2026 hat Luc eine Geschichte erzählt.
event | Alma sah am 18. März 2026 einen Luchs.
event | Ivo fotografierte am 12. August 2026 den Mond.
event | Das Backup ist am 02.03.2026 um 4:10 Uhr fehlgeschlagen.
event | Am 28. Mai 2026 sang Rita auf der Feier.
event | Hana verpasste am 9. März 2026 den Zug um 7:20.
event | Am 20. September 2026 kochte Olga Suppe.
event | Wir haben am 30.09.2026 Suppe bestellt.
keep | Rosa steht um 5:50 Uhr auf.
keep | Ich bin meistens bis 23 Uhr wach.
keep | Seit dem 3. März 2025 schwimmt Omar vor der Arbeit.
keep | Das Backup läuft nächtlich um 3 Uhr.
keep | Am 3. Mai 2026 trafen wir uns alle zwei Wochen.
keep | Am 3. Mai 2026 ließ Rita das Frühstück gern aus.
keep | Mein Wecker klingelt um 5:20 Uhr.
keep | Am 3. Mai 2026 trank ich morgens Kaffee.
keep | Am 3. Mai 2026 aßen wir sonntags Kuchen.
keep | Am 3. Mai 2026 besuchte Luc regelmäßig seine Tante.
keep | Am 3. Mai 2026 schlief Alma oft schlecht.
keep | Am 3. Mai 2026 sah Omar jeden Abend fern.
keep | Am 3. Mai 2026 isst Ivo nie Fleisch.
keep | Dienstags und freitags geht Rita ins Bad.
keep | Der Hochzeitstag von Ana und Luc ist der 2. Juni 2012.
keep | Der Mietvertrag läuft bis zum 31. März 2027.
keep | Ich bin 41 Jahre alt.
keep | Der Vertrag wurde am 12. Februar 2026 unterschrieben.
keep | Wir kennen uns seit dem 1. Mai 2014.
keep | Version 3.1 erschien am 9. März 2026.
keep | Am 1. März 2024 bin ich nach Linz gezogen.
keep | Am 3. Februar 2026 wurde Vera Leiterin.
keep | Luc hat am 1. Januar 2025 mit dem Rauchen aufgehört.
keep | Am 10. April 2026 kaufte der Besitzer ein Boot.
keep | Am 7. Juli 2025 habe ich die Prüfung bestanden.
keep | Am 2. Juni 2026 wurde bei Rosa Asthma festgestellt.
keep | Omar hat am 30. September 2026 seine Stelle verloren.
keep | Olga bekam am 24. Dezember 2020 ihren Hund.
keep | Am 3. März 2026 besuchte er den Notar und verkaufte das Haus.
keep | Ich habe am 27. November 2026 mit Luc gegessen.
keep | Am 9. Dezember 2026 besuchen wir den Zoo.
keep | Ich war am 6. Juli 2026 nicht beim Friseur.
keep | Am 4. März 2026 aß ich mit Luc, der mein neuer Chef ist.
keep | Omar flog am 4. April 2026 nach Japan und lebt noch dort.
keep | Hat Rosa am 4. März 2026 angerufen?
keep | Vielleicht fuhr Alma am 4. Mai 2026 nach Paris.
keep | Am 4. Mai 2026 einigte sich das Team auf Redis.
keep | Am 9. November 1989 fiel die Mauer.
keep | Am 4. März 2026 habe ich mich verlobt.
keep | Rosa und Omar haben am 4. März 2026 geheiratet.
keep | Am 4. März 2026 und am 5. März 2026 wanderte die Familie am See.
keep | Rosa fuhr im März 2026 nach Linz.
keep | Am 4. März 2026 trat Luc dem Chor bei.
keep | Am 4. März 2026 wurde das Tor repariert.
keep | Der Rückflug geht am 2. Januar 2027.
keep | Rosa mag keine lauten Lokale.
event | Omar hat am 3. Mai 2026 die Eröffnung der Messe besucht.
event | Am 3. Mai 2026 haben wir bis 2 Uhr Karten gespielt.
event | Am 3. Mai 2026 hat Omar Nora zum Essen getroffen.
event | Am 3. Mai 2026 fuhr Omar mit dem Rad nach Graz.
keep | Am 3. Mai 2026 traf der Vorstand die Entscheidung.
keep | Am 3. Mai 2026 traf ich meine Frau.
keep | Am 3. Mai 2026 verpasste Omar die Frist.
keep | Am 3. Mai 2026 fuhr Omar gegen einen Baum.
keep | Am 3. Mai 2026 schickte Omar die Kündigung.
keep | Am 3. Mai 2026 bestellte Omar ein Auto.
keep | Am 3. Mai 2026 besuchte ich das Gymnasium.
keep | Am 3. Mai 2026 schlief Nora mit Omar.
keep | Am 3. Mai 2026 hat der Richter das Urteil gesprochen.
keep | Am 3. Mai 2026 fuhr ich zur Arbeit.
keep | Am 3. Mai 2026 spielte Nora Fußball bei Rapid.
keep | Am 3. Mai 2026 hat Omar die Polizei angerufen.
keep | Am 3. Mai 2026 haben wir die Beerdigung besucht.
keep | Am 3. Mai 2026 hat das Haus Omar gehört.
keep | Am 3. Mai 2026 wanderte Omar nach Kanada.
keep | Am 3. Mai 2026 ist die Ehe fehlgeschlagen.
keep | Am 3. Mai 2026 trank Omar Gift.
"""

ZH = """
event | 小罗2026年3月4日给面包店打了电话
event | 2026年1月11日我和小花去电影院看了《潜行者》
event | 我2026年7月6日10:15去看了理发师
event | 2026年7月6日小奥错过了8:05的公交
event | 2026年5月14日我们绕港口散了步
event | 我2026年6月9日和小波见面喝了咖啡
event | 2026年8月3日主人等渡轮等了25分钟
event | 我2026年9月20日跑了8公里
event | 2026年9月30日我们点了汤
event | 备份2026年3月2日04:10失败了
event | 2026年5月11日小丽在聚会上唱了歌
event | 2026年4月12日我们参观了城堡
event | 小陆2026年2月17日炒了米粉
event | 2026年4月1日小伊拍了月亮的照片
event | 2026年10月3日全家爬了山
keep | 小罗5:50起床
keep | 我通常20:00后给姑姑打电话
keep | 从2025年3月3日起小奥坚持游泳
keep | 备份凌晨三点运行
keep | 2026年5月3日我们隔周见一次面
keep | 2026年5月3日我每天喝了咖啡
keep | 2026年5月3日她常去罗马
keep | 我的闹钟5:20响
keep | 2026年5月3日小陆从不吃肉
keep | 2026年5月3日他总是喝了酒才睡
keep | 2026年5月3日我们周末打了球
keep | 2026年5月3日爷爷饭后散了步
keep | 每年5月1日我们都去爬山
keep | 2026年5月3日我习惯了早起
keep | 2026年5月3日小丽一直在唱歌
keep | 租约到2027年3月31日为止
keep | 我今年41岁
keep | 合同2026年2月12日签了
keep | 公司成立于2010年7月1日
keep | 主人偏好简短的回答
keep | 奥尔加2026年1月8日做了髋部手术
keep | 这个端口非常不正常
keep | 2023年6月6日小汤和小伊结婚了
keep | 2025年11月2日我们收养了一只鹦鹉
keep | 她2022年5月2日入职了Lumen
keep | 小奥2026年2月14日摔断了手
keep | 团队2026年2月15日换成了Redis
keep | 2018年5月5日我们第一次见面
keep | 2026年9月9日我们退了租
keep | 2026年3月3日他去见了公证人，把房子卖了
keep | 2026年8月1日小薇升了职
keep | 我2026年11月27日和老陆吃了午饭
keep | 2026年12月9日我们去动物园
keep | 我2026年7月6日没去理发
keep | 2026年3月4日我和小陆吃了饭，他是我的新上司
keep | 小奥2026年4月4日去了日本，现在还住在那里
keep | 小罗2026年3月4日打了电话吗？
keep | 也许小花2026年5月4日去了巴黎
keep | 2026年5月4日团队决定用Redis
keep | 2026年3月4日小罗搬到了林茨
keep | 2026年3月4日小罗买了一条船
keep | 小罗2026年3月给面包店打了电话
keep | 2026年3月4日和2026年3月5日我们绕港口散了步
keep | 2026年5月12日议会通过了预算
keep | 2014年7月13日德国队赢得了决赛
keep | 2026年3月4日老陆去世了
keep | 2026年3月4日主人加入了合唱团
event | 小葛2026年5月3日没睡好
event | 阿尼2026年5月3日做了蛋糕
event | 2026年5月3日小罗打了网球
event | 2026年5月3日备份失败了
keep | 2026年5月3日小王看了医生
keep | 2026年5月3日小王的老婆跑了
keep | 2026年5月3日小王吃了官司
keep | 2026年5月3日小王炒了鱿鱼
keep | 2026年5月3日合作泡了汤
keep | 2026年5月3日小王和小李睡了
keep | 2026年5月3日老板拍了板
keep | 2026年5月3日老板点了头
keep | 2026年5月3日小王寄了辞职信
keep | 2026年5月3日小王拍了婚纱照
keep | 2026年5月3日小王和网友见了面
keep | 2026年5月3日小王错过了截止日期
keep | 2026年5月3日小王喝了农药
keep | 2026年5月3日小王走了3年
keep | 2026年5月3日婚姻失败了
keep | 2026年5月3日小王最近没睡好
keep | 2026年5月3日小王离开北京喝了茶
event | 2026年5月3日小羅給麵包店打了電話
keep | 2026年5月3日他總喝了茶
keep | 2026年5月3日我習慣喝了茶
keep | 2026年5月3日小羅週六爬了山
keep | 2026年5月3日小羅飯後散了步
keep | 2026年5月3日小羅看了醫生
"""


def texts(listed: str) -> list[tuple[str, str]]:
    """Return what may become of each text, and the text."""
    rows = [line.split(" | ", 1) for line in listed.strip().splitlines()]
    return [(verdict, text) for verdict, text in rows]
