"""memoryweb's own JSON Lines: what export_memories writes, and what people write by hand in its manner.

A line needs ``content`` alone. With ``origin`` or ``revisions`` it is taken exactly as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from memories.importers.base import Bad, Document, Report, Target, Unreadable, check_json
from memories.importers.loading import Item, Loader, Mention, Trace, digest
from memories.json_lines import FORMAT, ORIGIN, REFERENCES, VERSION, WHOLE_WORKSPACE
from memories.models import CONTENT_MAX, NAME_MAX, TAG_MAX, Status, content_hash
from memories.revisions import TEXT_FIELDS, Past
from memories.schemas import Flag, Importance, KindName, ScopeName, SourceName, StatusName, Time

NAME = "memoryweb"
DESCRIPTION = f'memoryweb\'s own JSON Lines (first line {{"format": "{FORMAT}", "version": {VERSION}}})'
HAND_WRITTEN = "memoryweb-line"
"""``ImportedItem.source`` of a line without an origin."""
NUMBER_MAX = 2**31 - 1


def _lasting_time(value: str | None) -> str | None:
    # The text stays as it was written: it stands in a revision, which is given back as it came.
    if value is not None:
        try:
            aware = datetime.fromisoformat(value).tzinfo is not None
        except ValueError:
            aware = False
        if not aware:
            raise PydanticCustomError("time", "must be a time such as 2026-03-01T09:00:00Z")
    return value


Count = Annotated[int, Field(ge=1, le=NUMBER_MAX)]
Ref = Annotated[int, Field(ge=1, le=2**63 - 1)]
Text = Annotated[str, Field(max_length=NAME_MAX)]
NameText = Annotated[str, Field(min_length=1, max_length=NAME_MAX)]
TagText = Annotated[str, Field(min_length=1, max_length=TAG_MAX)]
Hash = Annotated[str, Field(max_length=64)]
TimeText = Annotated[str | None, AfterValidator(_lasting_time)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Fields(_Strict):
    """What a memory and its revisions say alike."""

    subject: Text = ""
    key: NameText | None = None
    kind: KindName = "observation"
    content: Annotated[str, Field(max_length=CONTENT_MAX)] = ""
    tags: list[TagText] = []
    importance: Importance = 3
    source: SourceName = "import"
    status: StatusName = "active"
    merged_into: Ref | None = None
    archive_reason: Text = ""
    kept_beside: Ref | None = None
    pinned: Flag = False
    metadata: dict[str, Any] = {}


class Values(_Fields):
    """Fields of a memory as a revision holds them before and after; only those that changed."""

    scope: ScopeName = "agent"
    merged_at: TimeText = None
    archived_at: TimeText = None
    expires_at: TimeText = None


class RevisionLine(_Strict):
    """One revision of a memory."""

    number: Count
    verb: Annotated[str, Field(min_length=1, max_length=40)]
    before: Values
    after: Values
    actor: Annotated[str, Field(max_length=300)]
    reason: Annotated[str, Field(max_length=500)] = ""
    request_id: Annotated[str, Field(max_length=64)] = ""
    at: Time


class ImportedFrom(_Strict):
    """What another import remembers of the memory."""

    format: Annotated[str, Field(min_length=1, max_length=40)]
    scope: ScopeName
    id: NameText
    hash: Hash


class MemoryLine(_Fields):
    """A line of the file."""

    ref: Ref | None = None
    origin: NameText | None = None
    agent: NameText | None = None
    scope: ScopeName | None = None
    merged_at: Time | None = None
    archived_at: Time | None = None
    expires_at: Time | None = None
    seen_count: Count = 1
    last_seen_at: Time | None = None
    created_at: Time | None = None
    updated_at: Time | None = None
    revision: Count | None = None
    imported_from: list[ImportedFrom] = []
    revisions: list[RevisionLine] = []

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> Self:
        status = str(self.status)
        erased = status == Status.ERASED
        if erased and any(getattr(self, name) for name in TEXT_FIELDS):
            raise PydanticCustomError("erased", "an erased memory must carry no text")
        if erased and any(_says_text(one.before) or _says_text(one.after) for one in self.revisions):
            raise PydanticCustomError("erased", "the revisions of an erased memory must carry no text")
        if not erased and not self.content.strip():
            raise PydanticCustomError("blank", "content must not be missing or blank")
        for state, name in ((Status.MERGED, "merged_at"), (Status.ARCHIVED, "archived_at")):
            if status == state and getattr(self, name) is None:
                raise PydanticCustomError(
                    "time", "a memory that is {status} needs {name}", {"status": status, "name": name}
                )
        numbers = [revision.number for revision in self.revisions] or [1]
        if numbers != list(range(1, (self.revision or numbers[-1]) + 1)):
            raise PydanticCustomError("history", "its revisions must be numbered from 1 to `revision` without a gap")
        return self


def _says_text(values: Values) -> bool:
    return not values.model_fields_set.isdisjoint(TEXT_FIELDS)


def recognises(document: Document) -> bool:
    """Return whether the file has our header, or lines like ours below a damaged one."""
    return any(_is_header(value) or _is_row(value) for value in document.first_values)


def load(document: Document, target: Target, report: Report, *, now: datetime) -> None:
    """Load the file's memories. Raises Unreadable for a newer version."""
    for value in document.first_values:
        _check_version(value)
    loader = Loader(target, report, now=now)
    for item in _items(document, target, report, loader):
        loader.add(item)
    loader.finish()


def _items(document: Document, target: Target, report: Report, loader: Loader) -> Iterator[Item]:
    headers, promised = 0, 0
    for line, size, value in document.values(report):
        if _is_header(value):
            # Another export may have been appended: its numbers start anew.
            loader.finish()
            _check_version(value)
            headers += 1
            promised += value["memories"] if isinstance(value.get("memories"), int) else 0
            continue
        if not headers:
            report.note(line, f"stands before any header and was read as version {VERSION}")
        report.found["memory lines"] += 1
        try:
            yield to_item(value, line=line, size=size, target=target)
        except Bad as bad:
            report.skip(line, bad)
    report.found["headers"] = headers
    if report.lines - report.blank - headers < promised:
        report.note(report.lines, f"the file ends early: its header promises {promised:,} memories")


def to_item(value: Any, *, line: int, size: int, target: Target) -> Item:
    """Return the memory of a line. Raises Bad."""
    if not isinstance(value, dict):
        raise Bad("not a JSON object")
    check_json(value, what="the line")
    try:
        row = MemoryLine.model_validate(value)
    except ValidationError as error:
        raise _as_bad(error) from None
    agent, scope = row.agent or target.agent, row.scope or target.scope
    fields = {name: getattr(row, name) for name in Values.model_fields if name not in REFERENCES.values()}
    past = [_past(revision, sent) for revision, sent in zip(row.revisions, value.get("revisions", ()), strict=True)]
    first_text = past[0].after.get("content", "") if past else row.content
    its_hash = content_hash(first_text) if first_text else ""
    created = None if row.created_at is None else row.created_at.isoformat()
    if row.origin is not None:
        own = Trace(WHOLE_WORKSPACE, ORIGIN, row.origin, its_hash)
    else:
        own = Trace(scope, HAND_WRITTEN, digest(row.subject, row.key, created, first_text), its_hash)
    traces = [own, *(Trace(one.scope, one.format, one.id, one.hash) for one in row.imported_from)]
    return Item(
        line=line,
        size=size,
        agent=agent,
        fields=fields | {"scope": scope},
        traces=tuple(dict.fromkeys(traces)),
        created_at=row.created_at,
        updated_at=row.updated_at,
        last_seen_at=row.last_seen_at,
        seen_count=row.seen_count,
        exact=row.origin is not None or bool(past),
        past=past,
        ref=row.ref,
        mentions=tuple(_mentions(row)),
    )


def _past(revision: RevisionLine, sent: dict[str, Any]) -> Past:
    return Past(
        number=revision.number,
        verb=revision.verb,
        before=_stored(sent["before"]),
        after=_stored(sent["after"]),
        actor=revision.actor,
        reason=revision.reason,
        request_id=revision.request_id,
        at=revision.at,
    )


def _stored(values: dict[str, Any]) -> dict[str, Any]:
    """Return a revision's values as the store holds them, references left open."""
    stored = {name: value for name, value in values.items() if name not in REFERENCES.values()}
    return stored | {column: None for column, name in REFERENCES.items() if name in values}


def _mentions(row: MemoryLine) -> Iterator[Mention]:
    last = row.revisions[-1].number if row.revisions else 1
    places: list[tuple[int, Any, _Fields]] = [(last, "row", row)]
    # A memory without a history gets its first revision from the row.
    places += [(1, "after", row)] if not row.revisions else []
    for revision in row.revisions:
        places += [(revision.number, "before", revision.before), (revision.number, "after", revision.after)]
    for number, part, values in places:
        if values.merged_into is not None:
            yield Mention(number, part, "merged_into_id", values.merged_into)
        if values.kept_beside is not None:
            yield Mention(number, part, "kept_beside_id", values.kept_beside)


def _is_header(value: Any) -> bool:
    return isinstance(value, dict) and value.get("format") == FORMAT and "version" in value


def _is_row(value: Any) -> bool:
    return isinstance(value, dict) and {"ref", "agent", "content"} <= value.keys()


def _check_version(value: Any) -> None:
    if _is_header(value) and (type(value["version"]) is not int or not 1 <= value["version"] <= VERSION):
        raise Unreadable(
            f"the file has version {value['version']!r} of memoryweb's format and this program reads"
            f" versions up to {VERSION}: update memoryweb before the import"
        )


def _as_bad(error: ValidationError) -> Bad:
    first = error.errors(include_url=False, include_input=False)[0]
    # Places in a list differ from line to line; the reason should not.
    where = ".".join(str(part) for part in first["loc"] if not isinstance(part, int))
    if first["type"] == "extra_forbidden":
        return Bad("a field that version 1 does not know", where)
    return Bad(f"{where}: {first['msg']}" if where else first["msg"])
