"""What happened once and left nothing behind, in English: closed lists of verbs, each with what may follow it. Pure.

The verb alone tells little: who ordered soup was hungry, who ordered a passport will have one. So behind each verb come
only objects of its own list or plain phrases, and no word of weight anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidy.language import words
from tidy.tokens import Token

PRONOUNS = words("i we he she they you")
OWNERS = words("the my our his her their your")
_DETERMINERS = words("the a an my our his her their your some this that")
_PREPOSITIONS = words("at in on with by near around along through across past for to from of over beside")
_ADVERBS = words("together alone outside outdoors badly well poorly late early soundly home")
# No nouns: what they would begin changes what was told.
_NO_NOUNS = (
    _PREPOSITIONS
    | _ADVERBS
    | PRONOUNS
    | words(
        "off out away up down back into onto about against after before without within than as and or but then "
        "so if because that who which when while where me him us them it was were did got made gave said "
        "bought sold too also very all both until off under upon toward towards between among per only just even"
    )
)
_NOUNS = words(
    "meeting evening morning ceiling building opening training bed red shed ring string thing pudding dumpling dressing"
)
_LONG_NAME = 3

GRAVE = words(
    "alcohol meat landlord brigade investor founder buyer evidence care nursing vegan vegetarian "
    "hospital clinic hospice ward surgery surgeon doctor physician therapist therapy psychiatrist midwife "
    "ambulance emergency scan mri biopsy test tests result results diagnosis cancer tumour tumor stroke attack "
    "seizure overdose rehab detox funeral grave cemetery burial wake memorial morgue coroner testament "
    "inheritance wedding engagement bride groom fiance fiancee altar aisle proposal honeymoon divorce custody "
    "court judge trial hearing lawyer solicitor attorney notary police prison jail arrest bail embassy "
    "consulate visa passport immigration citizenship contract lease mortgage loan bank tax taxes bankruptcy "
    "insurance claim accident crash collision fire flood burglary theft exam exams interview graduation degree "
    "university college school job boss work employer offer resignation notice promotion election vote strike "
    "race campaign president minister baby birth pregnancy adoption bleach poison gluten peanut peanuts nuts "
    "allergy allergen medicine medication pill pills tablet tablets drug drugs drunk vaccine vaccination "
    "booster deadline closing final finals championship cup record marathon ex estate house flat apartment "
    "dealer key keys pin password code secret launch release deployment migration incident outage priest "
    "church mosque temple baptism christening gun weapon bomb war army navy battle enemy fight murder corpse "
    "body shelter orphanage die burn fall kiss propose choir band team club society gym course class lecture "
    "lesson lessons confession goodbye farewell anniversary birthday debt rent deposit summer winter spring autumn"
)
_GRAVE_ENDINGS = ("ologist", "ologists", "iatrist", "iatrists", "ectomy", "therapist")

_FOOD = words(
    "pizza pizzas soup soups sushi ramen noodles pasta lasagna lasagne curry curries burger burgers fries "
    "sandwich sandwiches salad salads steak steaks tacos kebab falafel dumplings takeaway takeout breakfast "
    "lunch dinner dessert cake cakes coffee coffees tea teas beer beers wine cocktail cocktails lemonade juice "
    "risotto paella schnitzel pancakes waffles croissants pho tapas food meal meals snacks popcorn gelato "
    "goulash stew"
)
_RIDES = words(
    "train trains bus ferry tram flight plane connection boat metro subway tube underground coach shuttle lift"
)
_MAIL = words(
    "agenda agendas postcard postcards invitation invitations invite invites reminder reminders email emails "
    "mail mails message messages photo photos picture pictures newsletter minutes greeting greetings card "
    "cards summary slides recipe"
)
_TAKEN = words(
    "photo photos picture pictures selfie selfies nap walk stroll taxi cab bus train ferry tram bath shower boat"
)
_HAD = words(
    "lunch dinner breakfast brunch supper coffee tea meeting call picnic chat meal beer barbecue snack drink drinks nap"
)
_TOLD = words("joke jokes story stories riddle riddles anecdote anecdotes tale")
_GAMES = words(
    "chess checkers cards poker bridge football soccer tennis golf basketball volleyball badminton squash darts pool "
    "bowling scrabble monopoly catan go dominoes billiards hockey cricket rugby frisbee minigolf piano guitar violin "
    "game games round match hide boules petanque charades uno mahjong"
)
_SHOWN = words("match game film movie show play episode concert sunset sunrise eclipse parade series documentary opera")
_SCREENS = words("cinema theatre theater opera museum tv television movies")
_PLACES = words(
    "cinema movies theatre theater museum gallery zoo aquarium park beach lake harbour harbor market "
    "supermarket bakery barber hairdresser dentist concert opera party pub bar café cafe restaurant sauna pool "
    "library circus fair festival exhibition mall shop playground castle garden river forest"
)
_DAILY = words("office kindergarten daycare station supermarket")
_OUTINGS = words("walk run swim hike ride drive stroll jog coffee beer drink meal picnic bike")
_DOING = words(
    "swimming hiking shopping running jogging dancing skiing sailing climbing bowling fishing cycling skating "
    "camping kayaking surfing sledging"
)
_DRINKS = words("coffee tea lunch dinner breakfast brunch drinks beer beers pizza cake supper")
_UNITS = words(
    "km kilometre kilometres kilometer kilometers mile miles metre metres meter meters minute minutes hour "
    "hours lap laps"
)
_MACHINES = words(
    "build job pipeline backup run import export sync upload download request query deployment ci cronjob"
)


@dataclass(frozen=True, slots=True)
class _Frame:
    """What may follow a verb: an object, one out of a list, a measure, phrases that begin with these prepositions."""

    has_object: bool = False
    objects: frozenset[str] | None = None
    nouns: int = 2
    prepositions: frozenset[str] = _PREPOSITIONS - {"of"}
    begins_with: frozenset[str] | None = None


_MOVED = _Frame(begins_with=words("around along through across past in at to with by for from near over home"))
_SAID = _Frame(prepositions=words("to with at in on over"), begins_with=words("to with"))
_OF = _PREPOSITIONS
_FRAMES = {
    **dict.fromkeys(words("walked hiked strolled jogged swam cycled rowed skated skied"), _MOVED),
    "drove": _Frame(begins_with=words("to through around along from home past")),
    **dict.fromkeys(words("danced napped picnicked dined lunched"), _Frame()),
    "waited": _Frame(begins_with=words("for at in")),
    "slept": _Frame(prepositions=words("at in on for"), begins_with=words("badly well poorly late soundly at in for")),
    "sang": _Frame(prepositions=words("at in on with for"), begins_with=words("at in on with")),
    **dict.fromkeys(words("chatted talked spoke"), _SAID),
    "listened": _Frame(prepositions=words("to at in on with"), begins_with=words("to")),
    **dict.fromkeys(
        words("visited toured photographed cooked baked ate drank"), _Frame(has_object=True, prepositions=_OF)
    ),
    "attended": _Frame(has_object=True, prepositions=_OF),
    **dict.fromkeys(words("watched saw"), _Frame(has_object=True, nouns=1, prepositions=words("at in on with from"))),
    **dict.fromkeys(words("called phoned emailed texted"), _Frame(has_object=True, prepositions=words("at from on"))),
    "ordered": _Frame(has_object=True, objects=_FOOD, prepositions=words("at from in with for")),
    "missed": _Frame(has_object=True, objects=_RIDES),
    "sent": _Frame(has_object=True, objects=_MAIL, prepositions=words("to from at in on of")),
    "took": _Frame(has_object=True, objects=_TAKEN, prepositions=_OF),
    "had": _Frame(has_object=True, objects=_HAD),
    "told": _Frame(has_object=True, objects=_TOLD, prepositions=words("at in on to")),
    "played": _Frame(has_object=True, objects=_GAMES, prepositions=words("of at in on with against")),
}


def is_grave(said: Sequence[str]) -> bool:
    """Return whether a word tells of health, law, money, work, birth or death."""
    return any(word in GRAVE or word.removesuffix("'s") in GRAVE or word.endswith(_GRAVE_ENDINGS) for word in said)


def verb_of(tokens: Sequence[Token], subject_end: int | None) -> str | None:
    """Return the verb behind the subject if it and all that follows is of the lists, else None."""
    if subject_end is None or subject_end >= len(tokens):
        return None
    verb, rest = tokens[subject_end].text.casefold(), tokens[subject_end + 1 :]
    if verb == "failed":
        fails = tokens[subject_end - 1].text.casefold() in _MACHINES
        return verb if fails and _is_clock(rest) else None
    if is_grave([token.text.casefold() for token in tokens if token.kind == "word"]):
        return None
    if verb in ("went", "met", "ran"):
        return verb if {"went": _went, "met": _met, "ran": _ran}[verb](rest) else None
    frame = _FRAMES.get(verb)
    return verb if frame is not None and _fits(verb, frame, rest) else None


def _is_clock(rest: Sequence[Token]) -> bool:
    """Return whether there is nothing, or a time of day."""
    return not rest or (len(rest) == 2 and rest[0].text == "at" and rest[1].kind == "number")


def _fits(verb: str, frame: _Frame, rest: Sequence[Token]) -> bool:
    place = 0
    if frame.has_object:
        end = _noun_phrase(rest, 0, frame.nouns)
        if end is None or (rest[0].kind == "number" and end == 1):
            return False
        if frame.objects is not None and rest[end - 1].text.casefold() not in frame.objects:
            return False
        if not _is_shown(verb, rest, end):
            return False
        place = end
    elif rest and rest[0].kind == "number":
        if len(rest) < 2 or rest[1].text.casefold() not in _UNITS:
            return False
        place = 2
    elif rest and frame.begins_with is not None and rest[0].text.casefold() not in frame.begins_with:
        return False
    return _phrases(rest, place, frame.prepositions)


def _is_shown(verb: str, rest: Sequence[Token], end: int) -> bool:
    """Return whether what was seen or attended is a show or a thing, and nobody who does something."""
    head = rest[end - 1]
    if verb == "attended":
        return head.shown[:1].islower()
    if verb == "saw" and head.shown[:1].isupper():
        return any(token.text.casefold() in _SCREENS for token in rest[end:])
    return True


def _noun_phrase(tokens: Sequence[Token], place: int, nouns: int = 2) -> int | None:
    """Return where a noun with what belongs to it ends, None where there is none."""
    start = place
    if place < len(tokens) and (tokens[place].kind == "number" or tokens[place].text.casefold() in _DETERMINERS):
        place += 1
    begin = place
    while place < len(tokens) and _is_name(tokens[place]) and place - begin < _LONG_NAME:
        place += 1
    named = place
    while place < len(tokens) and _is_noun(tokens[place]) and place - named < nouns:
        place += 1
    is_time = place > start and tokens[start].kind == "number"
    return place if place > begin or is_time else None


def _is_name(token: Token) -> bool:
    return token.kind == "word" and token.shown[:1].isupper()


def _is_noun(token: Token) -> bool:
    folded = token.text.casefold()
    if token.kind != "word" or folded in _NO_NOUNS or folded in _DETERMINERS or _is_name(token):
        return False
    return folded in _NOUNS or not folded.endswith(("ed", "ing"))


def _phrases(tokens: Sequence[Token], place: int, prepositions: frozenset[str]) -> bool:
    """Return whether from a place on there are only phrases like "at the pier", and adverbs of manner."""
    while place < len(tokens):
        if tokens[place].text.casefold() in _ADVERBS:
            place += 1
            continue
        # "Until" has come this far only before a time of day.
        if tokens[place].text.casefold() not in prepositions | {"until"}:
            return False
        end = _noun_phrase(tokens, place + 1)
        if end is None or (tokens[place].text == "to" and tokens[end - 1].text in _DAILY):
            return False
        place = end
    return True


def _went(rest: Sequence[Token]) -> bool:
    first = rest[0].text.casefold() if rest else ""
    if first in _DOING:
        return _phrases(rest, 1, _PREPOSITIONS - {"of", "to"})
    end = _noun_phrase(rest, 1)
    if first not in ("to", "for") or end is None:
        return False
    known = _PLACES if first == "to" else _OUTINGS
    return rest[end - 1].text.casefold() in known and _phrases(rest, end, _PREPOSITIONS - {"of", "to"})


def _met(rest: Sequence[Token]) -> bool:
    """Return whether somebody was met for coffee or the like: otherwise it may have been for the first time."""
    end = _noun_phrase(rest, 0)
    if end is None or end >= len(rest) or rest[end].text.casefold() != "for":
        return False
    over = _noun_phrase(rest, end + 1)
    return over is not None and rest[over - 1].text.casefold() in _DRINKS and _phrases(rest, over, words("at in on"))


def _ran(rest: Sequence[Token]) -> bool:
    is_measured = len(rest) > 1 and rest[0].kind == "number" and rest[1].text.casefold() in _UNITS
    return is_measured and _phrases(rest, 2, words("in at along around through with by"))
