"""What happened once and left nothing behind, in German: closed lists of verbs, and what may stand beside each. Pure.

As in English, the verb alone tells little: a decision is met (getroffen) as a friend is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidy.language import words
from tidy.tokens import Token

PRONOUNS = words("ich wir er sie du ihr")
OWNERS = words("der die das mein meine unser unsere sein seine ihre")
_AUXILIARIES = words("habe hat haben hast bin ist sind")
_DETERMINERS = words(
    "der die das den dem des ein eine einen einem einer mein meine meinen meinem meiner sein seine seinen "
    "seinem seiner ihr ihre ihren ihrem ihrer unser unsere unseren unserem unserer"
)
_PREPOSITIONS = words(
    "mit am im an in bei beim zu zum zur nach vom von auf um durch aus für ins ans aufs entlang gegen bis"
)
_ADVERBS = words("zusammen gemeinsam allein draußen drinnen schlecht gut lange kaum zu früh spät mittag abend")

GRAVE = words(
    "alkohol fleisch feuerwehr hebamme vermieter vermieterin pflegeheim heim taxi investor käufer käuferin vegan "
    "arzt ärztin klinik krankenhaus spital praxis therapie therapeut therapeutin psychiater notaufnahme op "
    "diagnose krebs tumor infarkt schlaganfall anfall befund ergebnis entzug beerdigung begräbnis grab "
    "friedhof trauerfeier testament erbe hochzeit verlobung braut bräutigam antrag scheidung sorgerecht "
    "gericht richter richterin prozess verhandlung urteil anwalt anwältin notar notarin polizei gefängnis haft "
    "botschaft konsulat visum pass reisepass amt behörde vertrag miete kredit bank steuer insolvenz "
    "versicherung unfall brand feuer flut einbruch diebstahl prüfung abitur examen vorstellungsgespräch schule "
    "gymnasium universität uni hochschule studium ausbildung arbeit büro firma chef chefin stelle job "
    "kündigung beförderung entscheidung beschluss wahl streik baby geburt schwangerschaft adoption gift "
    "bleiche gluten erdnüsse nüsse allergie medikament medikamente tablette tabletten droge drogen impfung "
    "frist finale meisterschaft rekord marathon haus wohnung grundstück schlüssel passwort kennwort code "
    "geheimnis taufe kirche moschee krieg waffe mord leiche leichnam verein chor kurs training abschied "
    "jubiläum sommer winter frühling herbst geburtstag tod präsident präsidentin minister baum wand mauer "
    "freundin freund diamant diamanten ring wahrheit beichte geständnis absage zusage angebot rechnung mahnung "
    "klage anzeige"
)
_GRAVE_ENDINGS = (
    *("arzt", "ärztin", "klinik", "anwalt", "anwältin", "prüfung", "hochzeit", "beerdigung", "gericht", "vertrag"),
    *("kündigung", "schule", "arbeit", "unfall", "krankenhaus", "operation", "therapie", "urteil", "entscheidung"),
    *("amt", "behörde", "antrag", "geburt", "impfung", "allergie", "untersuchung", "verhandlung", "abschluss", "wahl"),
)
_HARMLESS = words("zahnarzt zahnärztin tierarzt tierärztin auswahl")

_FOOD = words(
    "pizza pizzen suppe suppen sushi ramen nudeln pasta lasagne curry burger pommes salat salate steak steaks "
    "döner falafel frühstück mittagessen abendessen essen dessert nachtisch kuchen torte kaffee tee bier wein "
    "cocktails limonade saft risotto paella schnitzel pfannkuchen waffeln eis gulasch eintopf knödel tapas "
    "snacks popcorn maultaschen bowl"
)
_RIDES = words(
    "zug bus fähre tram straßenbahn flug flieger anschluss boot bahn u-bahn s-bahn schiff regionalzug nachtzug "
    "ice anschlusszug"
)
_MAIL = words(
    "agenda tagesordnung postkarte postkarten einladung einladungen erinnerung mail mails e-mail nachricht "
    "nachrichten foto fotos bild bilder newsletter protokoll grüße gruß karte karten zusammenfassung folien "
    "rezept bericht"
)
_TOLD = words("witz witze geschichte geschichten anekdote anekdoten märchen rätsel")
_GAMES = words(
    "schach dame karten poker skat fußball tennis golf basketball volleyball badminton squash darts billard "
    "scrabble monopoly catan domino hockey handball minigolf klavier gitarre geige boule tischtennis mensch "
    "federball kegeln uno go"
)
_HEARD = words("musik konzert podcast hörbuch album radio lied lieder oper")
_RIDDEN = words("rad ski schlitten kajak boot karussell fahrrad")
_MEETINGS = words("besprechung termin gespräch abendessen mittagessen frühstück treffen telefonat videokonferenz")
_DRINKS = words("kaffee tee essen mittagessen abendessen frühstück bier brunch eis kuchen")
_SONGS = words("lied lieder karaoke kanon")
_MACHINES = words(
    "build backup job pipeline test import export sync upload download lauf ci deployment synchronisation "
    "sicherung cronjob"
)


@dataclass(frozen=True, slots=True)
class _Frame:
    """What may stand beside a verb: an object, none, or one of a list, and which prepositions may not."""

    has_object: bool | None = False  # None: with or without
    objects: frozenset[str] | None = None
    never: frozenset[str] = frozenset()
    needs: frozenset[str] = frozenset()


_NO_AGAINST = words("gegen für")
_EATEN = _Frame(has_object=None)
_SEEN = _Frame(has_object=True)
_MOVED = _Frame(has_object=None, objects=_RIDDEN, never=_NO_AGAINST)
_FRAMES = {
    **dict.fromkeys(
        words(
            "aß aßen gegessen trank tranken getrunken kochte kochten gekocht backte backten gebacken grillte "
            "grillten gegrillt frühstückte frühstückten gefrühstückt las lasen gelesen"
        ),
        _EATEN,
    ),
    **dict.fromkeys(
        words(
            "besuchte besuchten besucht fotografierte fotografierten fotografiert sah sahen gesehen angeschaut "
            "angesehen"
        ),
        _SEEN,
    ),
    **dict.fromkeys(words("wanderte wanderten gewandert"), _Frame(never=words("gegen für nach aus"))),
    **dict.fromkeys(
        words(
            "fuhr fuhren joggte joggten gejoggt schwamm schwammen geschwommen "
            "spazierte spazierten spaziert ruderte ruderten gerudert radelte radelten geradelt"
        ),
        _MOVED,
    ),
    **dict.fromkeys(words("sang sangen gesungen"), _Frame(has_object=None, objects=_SONGS)),
    **dict.fromkeys(words("spielte spielten gespielt"), _Frame(True, _GAMES, never=words("bei beim für"))),
    **dict.fromkeys(words("erzählte erzählten erzählt"), _Frame(True, _TOLD, never=words("von vom"))),
    **dict.fromkeys(words("schlief schliefen geschlafen"), _Frame(never=words("mit nach"))),
    **dict.fromkeys(
        words("wartete warteten gewartet"), _Frame(has_object=None, objects=words("minuten stunden stunde"))
    ),
    **dict.fromkeys(words("telefonierte telefonierten telefoniert"), _Frame(never=words("nach von wegen"))),
    "angerufen": _Frame(has_object=None, never=words("wegen für")),
    **dict.fromkeys(words("geredet gesprochen geplaudert"), _Frame(needs=words("mit"))),
    **dict.fromkeys(
        words("tanzte tanzten getanzt duschte geduscht picknickte picknickten gepicknickt plauderte plauderten"),
        _Frame(),
    ),
    "gehört": _Frame(True, _HEARD),
    **dict.fromkeys(words("verpasste verpassten verpasst"), _Frame(True, _RIDES)),
    **dict.fromkeys(words("bestellte bestellten bestellt"), _Frame(True, _FOOD)),
    **dict.fromkeys(words("schickte schickten geschickt"), _Frame(True, _MAIL)),
    **dict.fromkeys(words("hatte hatten"), _Frame(True, _MEETINGS)),
}
PAST = frozenset(_FRAMES) | words("traf trafen")


def is_grave(said: Sequence[str]) -> bool:
    """Return whether a word tells of health, law, money, work, birth or death."""
    return any((word in GRAVE or word.endswith(_GRAVE_ENDINGS)) and word not in _HARMLESS for word in said)


def is_verb(word: str) -> bool:
    """Return whether a word, case-folded, may begin what a sentence tells."""
    return word in _AUXILIARIES or word in PAST


def verb_of(subject: Sequence[Token], verb: Token, after: Sequence[Token]) -> str | None:
    """Return the verb if it and all that stands beside it is of the lists, else None."""
    if verb.text.casefold() in _AUXILIARIES:
        if not after or after[-1].kind != "word":
            return None
        verb, after = after[-1], after[:-1]
    chunks = _chunks(after)
    return verb.text if chunks is not None and _happened(subject, verb.text.casefold(), after, chunks) else None


def _happened(subject: Sequence[Token], name: str, after: Sequence[Token], chunks: Sequence[tuple[str, ...]]) -> bool:
    if name == "fehlgeschlagen":
        fails = bool(subject) and subject[-1].text.casefold() in _MACHINES
        return fails and all(chunk[0] == "um" for chunk in chunks)
    if is_grave([token.text.casefold() for token in (*subject, *after) if token.kind == "word"]):
        return False
    if name in ("traf", "trafen", "getroffen"):
        return _met(chunks)
    frame = _FRAMES.get(name)
    return frame is not None and ("zur", "see") not in chunks and _fits(frame, chunks)


def _met(chunks: Sequence[tuple[str, ...]]) -> bool:
    """Return whether somebody was met for coffee or the like: otherwise it may have been for the first time."""
    return any(chunk[0] in ("zum", "zu", "auf") and chunk[-1] in _DRINKS for chunk in chunks)


def _fits(frame: _Frame, chunks: Sequence[tuple[str, ...]]) -> bool:
    objects = [chunk for chunk in chunks if chunk[0] not in _PREPOSITIONS and chunk[0] not in _ADVERBS]
    if len(objects) == 2 and objects[1][0] in ("der", "des"):
        objects.pop()  # die Eröffnung der Messe
    used = {chunk[0] for chunk in chunks}
    if used & frame.never or not frame.needs <= used or len(objects) > 1:
        return False
    if not objects:
        return frame.has_object is not True
    if frame.has_object is False:
        return False
    return frame.objects is None or objects[0][-1] in frame.objects


def _chunks(tokens: Sequence[Token]) -> list[tuple[str, ...]] | None:
    """Return the words, case-folded, phrase by phrase, None where there is more than phrases and adverbs."""
    found: list[tuple[str, ...]] = []
    place = 0
    while place < len(tokens):
        start, folded = place, tokens[place].text.casefold()
        if folded in _PREPOSITIONS:
            place += 1
            if folded in ("gegen", "bis", "um") and not _is_number(tokens, place):
                return None  # Gegen 8 Uhr is a time, gegen den Baum an accident.
        elif folded in _ADVERBS:
            found.append((folded,))
            place += 1
            continue
        end = _noun_phrase(tokens, place)
        if end is None:
            return None
        found.append(tuple(token.text.casefold() for token in tokens[start:end]))
        place = end
    return found


def _is_number(tokens: Sequence[Token], place: int) -> bool:
    return place < len(tokens) and tokens[place].kind == "number"


def _noun_phrase(tokens: Sequence[Token], place: int) -> int | None:
    """Return where a noun with what belongs to it ends; German nouns have a capital letter."""
    if _is_number(tokens, place):
        place += 1
        return place + 1 if place < len(tokens) and tokens[place].shown[:1].isupper() else place
    if place < len(tokens) and tokens[place].text.casefold() in _DETERMINERS and not tokens[place].shown[:1].isupper():
        place += 1
    if place < len(tokens) and _is_adjective(tokens[place]):
        place += 1
    begin = place
    while place < len(tokens) and tokens[place].kind == "word" and tokens[place].shown[:1].isupper():
        place += 1
    return place if place > begin else None


def _is_adjective(token: Token) -> bool:
    folded = token.text.casefold()
    is_small = token.kind == "word" and token.shown[:1].islower()
    return is_small and folded.endswith(("e", "en", "er", "es", "em")) and folded not in _PREPOSITIONS | _DETERMINERS
