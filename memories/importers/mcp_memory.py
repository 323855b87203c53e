"""The JSON Lines of the MCP memory server and its descendants: entities with observations, and relations.

An entity is a subject. Each observation is a memory of kind ``observation`` under it, an entity without any is one
memory that names it, and a relation is one of kind ``relationship`` whose subject is where it starts. The entity's type
becomes a tag and stands in the metadata, with every field of the line that has no place of its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from memories.importers.base import Bad, Document, Report, Target, check_json, check_text, moment
from memories.importers.loading import Item, Loader, Trace, digest
from memories.models import CONTENT_MAX, NAME_MAX, TAG_MAX, Kind, Source, content_hash
from memories.plain_text import cut
from memories.schemas import METADATA_MAX

NAME = "mcp_memory"
DESCRIPTION = "JSON Lines of the MCP memory server (entities with observations, and relations)"
ENTITY_NAME_MAX = 2000
"""Characters of an entity's name or a relation's type; a subject shows the first 200 of them."""
ODD_TIME = "a time that makes no sense was kept in the metadata only"
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
_SHAPE = ("type", "_type")
_NAME = ("name",)
_ENTITY_TYPE = ("entityType", "entity_type")
_OBSERVATIONS = ("observations",)
_RELATION_TYPE = ("relationType", "relation_type")
_TEXT = ("text", "content")
_CREATED = ("timestamp", "ts", "createdAt", "created_at")
_UPDATED = ("updatedAt", "updated_at")
_SAVED = ("_savedAt",)


@dataclass(frozen=True, slots=True)
class Line:
    """Where a memory comes from and goes to."""

    number: int
    target: Target
    now: datetime


def recognises(document: Document) -> bool:
    """Return whether one of the first lines is an entity or a relation."""
    return any(shape_of(value) is not None for value in document.first_values)


def load(document: Document, target: Target, report: Report, *, now: datetime) -> None:
    """Load the file's observations, relations and bare entities, each as one memory."""
    loader = Loader(target, report, now=now)
    for number, _, value in document.values(report):
        for part in parts_of(value, Line(number, target, now), report):
            if isinstance(part, Bad):
                report.skip(number, part)
            else:
                loader.add(part)
    loader.finish()


def shape_of(value: Any) -> Literal["entity", "relation"] | None:
    """Return what a line holds: as its ``type`` (or ``_type``) says, or without one by its fields."""
    if not isinstance(value, dict):
        return None
    said = next((value[name] for name in _SHAPE if value.get(name) in ("entity", "relation")), None)
    names = value.keys()
    if said != "entity" and {"from", "to"} <= names and not names.isdisjoint(_RELATION_TYPE):
        return "relation"
    if said != "relation" and "name" in names and not names.isdisjoint(_ENTITY_TYPE + _OBSERVATIONS):
        return "entity"
    return None


def parts_of(value: Any, line: Line, report: Report) -> Iterator[Item | Bad]:
    """Yield the memories of a line, and what is wrong with the parts that are none."""
    shape = shape_of(value)
    try:
        if shape == "relation":
            report.found["relations"] += 1
            yield _relation(value, line)
        elif shape == "entity":
            report.found["entities"] += 1
            yield from _entity(value, line, report)
        else:
            yield Bad("neither an entity nor a relation")
    except Bad as bad:
        yield bad


def _entity(value: dict[str, Any], line: Line, report: Report) -> Iterator[Item | Bad]:
    observations = value.get("observations")
    if not isinstance(observations, list | None):
        raise Bad("the entity's observations are no list")
    observations = observations or []
    report.found["observations"] += len(observations)
    try:
        name = check_text(value["name"], what="the entity's name", most=ENTITY_NAME_MAX)
        kind = _type_of(value, _ENTITY_TYPE, what="the entity's type")
        rest = _rest(value, _SHAPE + _NAME + _ENTITY_TYPE + _OBSERVATIONS, what="the entity")
    except Bad as bad:
        # Each observation counts, so that what was found and what became of it add up.
        yield from [bad] * max(len(observations), 1)
        return
    metadata = {"entity": name, "entity_type": kind, "entity_fields": rest}
    tags = [kind.strip()] if kind and len(kind) <= TAG_MAX and not _CONTROLS.search(kind) else []
    if not observations:
        report.found["entities without observations"] += 1
        content = f"{name} ({kind})" if kind else name
        yield _item(line, Kind.OTHER, name, content, metadata, tags=tags, times=[rest], key=digest("entity", name))
    for observation in observations:
        try:
            text, said = _observation(observation)
            yield _item(
                line,
                Kind.OBSERVATION,
                name,
                text,
                metadata | {"observation_fields": said},
                tags=tags,
                times=[said, rest],
                key=digest("observation", name, text.strip()),
            )
        except Bad as bad:
            yield bad


def _observation(value: Any) -> tuple[str, dict[str, Any]]:
    """Return the text of an observation, and what an observation that is an object says beside it."""
    if not isinstance(value, dict):
        return check_text(value, what="an observation", most=CONTENT_MAX), {}
    name = next((name for name in _TEXT if name in value), None)
    if name is None:
        raise Bad("an observation has no text")
    text = check_text(value[name], what="an observation", most=CONTENT_MAX)
    return text, _rest(value, (name,), what="an observation")


def _relation(value: dict[str, Any], line: Line) -> Item:
    start = check_text(value["from"], what="the relation's start", most=ENTITY_NAME_MAX)
    end = check_text(value["to"], what="the relation's end", most=ENTITY_NAME_MAX)
    kind = _type_of(value, _RELATION_TYPE, what="the relation's type")
    if kind is None:
        raise Bad("the relation's type is missing or blank")
    rest = _rest(value, (*_SHAPE, "from", "to", *_RELATION_TYPE), what="the relation")
    metadata = {"from": start, "relation_type": kind, "to": end, "relation_fields": rest}
    # The parts are kept as they are; who reads or searches the sentence is served better by spaces.
    content = f"{start} {kind.replace('_', ' ').strip() or kind} {end}"
    key = digest("relation", start, kind, end)
    return _item(line, Kind.RELATIONSHIP, start, content, metadata, tags=[], times=[rest], key=key)


def _type_of(value: dict[str, Any], names: Sequence[str], *, what: str) -> str | None:
    """Return the type that one of the names holds, None where there is none or it is blank."""
    found = next((value[name] for name in names if value.get(name) is not None), None)
    if found is None or (isinstance(found, str) and not found.strip()):
        return None
    return check_text(found, what=what, most=ENTITY_NAME_MAX)


def _rest(value: dict[str, Any], known: Sequence[str], *, what: str) -> dict[str, Any]:
    rest = {name: part for name, part in value.items() if name not in known}
    check_json(rest, what=what)
    return rest


def _item(
    line: Line,
    kind: Kind,
    name: str,
    content: str,
    metadata: dict[str, Any],
    *,
    tags: list[str],
    times: Sequence[dict[str, Any]],
    key: str,
) -> Item:
    """Return the memory. ``times`` are the objects that may tell when it was written, the nearest to it first."""
    metadata = {name: value for name, value in metadata.items() if value}
    if len(json.dumps(metadata, ensure_ascii=False)) > METADATA_MAX:
        raise Bad(f"the fields beside the text take more than {METADATA_MAX:,} characters")
    if len(content) > CONTENT_MAX:
        raise Bad(f"the sentence is longer than {CONTENT_MAX:,} characters")
    created_at, updated_at, odd = _times(times, now=line.now)
    return Item(
        line=line.number,
        size=2 * len(content) + 500,
        agent=line.target.agent,
        fields={
            "content": content,
            "subject": cut(_CONTROLS.sub(" ", name).strip(), NAME_MAX),
            "kind": kind.value,
            "tags": tags,
            "scope": line.target.scope,
            "source": Source.IMPORT.value,
            "metadata": metadata,
        },
        traces=(Trace(line.target.scope, NAME, key, content_hash(content)),),
        created_at=created_at,
        updated_at=updated_at,
        notes=(ODD_TIME,) if odd else (),
    )


def _times(objects: Sequence[dict[str, Any]], *, now: datetime) -> tuple[datetime | None, datetime | None, bool]:
    """Return when it was created and updated, as the nearest object that knows tells, and whether a time was odd."""
    odd = False
    for said in objects:
        found: list[datetime | None] = []
        for names in (_CREATED, _UPDATED, _SAVED):
            values = [said[name] for name in names if said.get(name) is not None]
            moments = [moment(value, now=now) for value in values]
            odd = odd or None in moments
            found.append(next((one for one in moments if one is not None), None))
        created_at, updated_at, saved_at = found
        first = created_at or updated_at or saved_at
        if first is not None:
            return first, max(first, updated_at or first), odd
    return None, None, odd
