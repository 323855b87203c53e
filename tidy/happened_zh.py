"""What happened once and left nothing behind, in Chinese: closed lists of verbs, each with what may follow it. Pure.

Without blanks between words a verb alone tells nothing at all: who ate a lawsuit (吃了官司) was sued, and who
fried squid (炒了鱿鱼) was dismissed.
"""

from __future__ import annotations

import re

from tidy.language import runs_of

BEFORE_MAX, AFTER_MAX = 16, 12
"""Characters before and behind a verb; who tells more tells something else too."""
_NUMBER = r"(?:\d+(?:\.\d+)?|[一二两三四五六七八九十几半]+)"
_FOOD = (
    r"(?:早|午|晚|中)?(?:饭|餐|面|菜|汤|粥|饼|糕|茶|咖啡|啤酒|果汁|牛奶|奶茶|豆浆|可乐|柠檬水|热可可|可可|酒|火锅|寿司|披萨|比萨"
    r"|烧烤|饺子|包子|馄饨|汤圆|汉堡|薯条|三明治|沙拉|牛排|拉面|意面|炒饭|烩饭|米粉|米线|蛋糕|面包|饼干|冰淇淋|水果|西瓜|苹果"
    r"|外卖|快餐|自助餐|大餐|夜宵|点心|小吃|粽子|月饼|煎饼|烤鸭|烤肉|海鲜|鱼|鸡|排骨|馒头|布丁|巧克力|粉|串)"
)
_SOME = rf"(?:{_NUMBER}?[杯碗份个块瓶顿盘锅只条串张场部集首次会天圈局盘把封些点])?"
_VERBS = (
    r"打了(?:一?个|一?通)?(?:长途)?电话$",
    rf"看了{_SOME}(?:《[^》]{{1,20}}》|\S{{0,4}}(?:电影|演出|展览|画展|比赛|球赛|日出|日落|话剧|京剧|音乐剧|音乐会|流星雨|月亮|星星|烟花"
    r"|表演|动画片|纪录片|书展|牙医|理发师|月食|日食))$",
    r"错过了\S{0,8}(?:火车|公交|公交车|巴士|班车|末班车|地铁|航班|飞机|渡轮|轮船|高铁|电车|校车|大巴|动车)$",
    rf"散了{_SOME}(?:一会儿)?步$",
    rf"(?:喝|吃|点|煮|炒|烤|做|泡(?!了汤))了{_SOME}\S{{0,4}}?{_FOOD}$",
    rf"泡了{_SOME}(?:温泉|澡|脚)$",
    rf"等了(?:{_NUMBER}(?:个)?(?:分钟|小时|钟头|刻钟)|很久|半天|好久|一会儿)$",
    rf"(?:跑|走|骑|游|爬)了{_NUMBER}(?:公里|里|米|步|圈|分钟|个小时|小时)$",
    r"游了泳$",
    rf"唱了{_SOME}\S{{0,4}}(?:歌|卡拉OK|曲|戏|京剧)$",
    r"(?:参观|逛)了\S{1,8}$",
    r"聊了(?:天|一会儿|很久|半天|会儿天)$",
    rf"聊了{_NUMBER}(?:个)?(?:分钟|小时)$",
    r"开了(?:一?个|一次)?(?:短|长)?会$",
    rf"听了{_SOME}\S{{0,4}}(?:音乐|歌|音乐会|演唱会|讲座|相声|广播|播客|歌剧|评书)$",
    rf"拍了{_SOME}\S{{0,8}}(?:照|照片|视频)$",
    r"爬了\S{0,4}(?:山|长城)$",
    r"骑了\S{0,3}(?:车|自行车|马)$",
    rf"寄了{_SOME}(?:明信片|贺卡|照片|卡片)$",
    rf"发了{_SOME}(?:议程|邮件|邀请|照片|会议纪要|提醒|贺卡)$",
    r"打了(?:一场|一局|一会儿)?(?:羽毛球|篮球|网球|乒乓球|排球|台球|高尔夫球|高尔夫|保龄球|壁球|牌|扑克|麻将|雪仗)$",
    rf"踢了{_SOME}(?:足球|球)$",
    rf"下了{_SOME}(?:象棋|围棋|棋)$",
    r"跳了(?:一会儿)?舞$",
    rf"睡了(?:{_NUMBER}(?:个)?小时|一?个?(?:懒觉|午觉)|很久)$",
    r"(?:没睡好|睡得不好|睡得很差)$",
    r"讲了(?:一?个)?(?:笑话|故事)$",
)
_VERB = re.compile("|".join(f"(?:{verb})" for verb in _VERBS))
_FAILED = re.compile(r"^(?:构建|备份|流水线|测试|导入|导出|同步|上传|下载|请求|查询|任务|定时任务|编译|打包)失败了?$")
GRAVE = runs_of(
    "离开 出国 回国 国外 父母 女朋友 男朋友 未婚 盖 退休 创业 倒闭 "
    "医生 大夫 医院 诊所 律师 法院 法官 警 派出所 狱 葬 墓 遗 癌 瘤 检查 化验 体检 心理 房子 看房 婚 前妻 前夫 "
    "前男友 前女友 药 毒 官司 辞 面试 录取 签证 护照 移民 贷款 银行 股票 事故 车祸 火灾 地震 吵架 分手 表白 "
    "求婚 相亲 出轨 孕 流产 自杀 跳楼 醉 酒驾 密码 秘密 决赛 冠军 最后 升 入学 开学 退学 学校 大学 监护 收养 "
    "孩子出生 证件 身份 X光 CT 核磁 急诊 疫苗 过敏 花生 麸质 离家 出走 老板 上司 辞职 裁 解雇 鱿鱼 合伙 网友 "
    "初恋 恋人 情人 教堂 清真寺 打仗 战争 枪 刀 尸 命 血 骨灰 鬼 祭 扫墓 生日 纪念日 告别 送别 洗礼 记录 纪录 "
    "破 马拉松 上班 公证 保险 赔 罚 债 赌 法庭 案子 案件"
)


def is_grave(rest: str) -> bool:
    """Return whether there is something that tells of health, law, money, work, birth or death."""
    return any(run in rest for run in GRAVE)


def verb_of(rest: str) -> str | None:
    """Return the verb of a sentence without its date and time if it and what follows is of the lists, else None."""
    if len(rest) > BEFORE_MAX + AFTER_MAX:
        return None
    failed = _FAILED.match(rest)
    if failed is not None:
        return failed[0]
    match = _VERB.search(rest)
    if match is None or is_grave(rest) or rest.count("了") != match[0].count("了"):
        return None
    before = rest[: match.start()]
    if not 0 < len(before) <= BEFORE_MAX:
        return None
    if match[0].startswith("睡了") and any(mark in before for mark in "和跟与同"):
        return None
    return match[0]
