"""What every importer shares: reading a file piece by piece, saying what is wrong with it, times, and the report."""

from __future__ import annotations

import contextlib
import json
import math
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Protocol

from memories.access import Actor
from memories.errors import Refused
from memories.json_lines import LINE_MAX

HEAD_BYTES = 64 * 1024
HEAD_LINES = 100
HEAD_MOST = 16 * 2**20
"""How much of a file decides its format: so many lines, but none that begins after so many bytes."""
DEPTH_MAX = 100
"""Levels of nesting a value may have."""
SHOWN = 20
"""Line numbers that the report names for each reason."""
BOM = b"\xef\xbb\xbf"
_EARLIEST = datetime(1990, 1, 1, tzinfo=UTC)
_STEP = 1 << 20


class Unreadable(Refused):
    """The file as a whole cannot be imported; nothing was written."""

    code = "unreadable"


class Bad(ValueError):
    """A part of the file that cannot be imported. Equal faults share ``reason``; ``detail`` tells this one."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Let Ctrl-C wait for the end of the block, so that what was written is also counted. In other threads: nothing."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    waiting: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: waiting.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if waiting:
        signal.raise_signal(signal.SIGINT)


class NotFinite:
    """Stands in a parsed value where the file says NaN or Infinity, so that only what holds it is lost."""

    def __init__(self, name: str) -> None:
        self.name = name


@dataclass(frozen=True, slots=True)
class Target:
    """Where imported memories go, where the file itself does not say, and whose name stands in their revisions."""

    workspace: str
    agent: str
    scope: str
    actor: Actor
    dry_run: bool = False


@dataclass(slots=True)
class Tally:
    """How often something happened, and on which lines first."""

    count: int = 0
    lines: list[int | str] = field(default_factory=list)

    def add(self, line: int | str) -> None:
        self.count += 1
        if len(self.lines) < SHOWN and (not self.lines or self.lines[-1] != line):
            self.lines.append(line)


@dataclass
class Report:
    """What became of a file: every line and everything found on it is counted once."""

    format: str = ""
    lines: int = 0
    blank: int = 0
    found: Counter[str] = field(default_factory=Counter)
    created: int = 0
    present: int = 0
    skipped: dict[str, Tally] = field(default_factory=dict)
    notes: dict[str, Tally] = field(default_factory=dict)
    details: list[str] = field(default_factory=list)
    interrupted: bool = False

    def skip(self, line: int | str, bad: Bad) -> None:
        """Count something that is not imported."""
        self.skipped.setdefault(bad.reason, Tally()).add(line)
        if bad.detail and len(self.details) < SHOWN:
            self.details.append(f"line {line}: {bad}")

    def note(self, line: int | str, text: str) -> None:
        """Count something that was imported, or was there, and that the reader should know of."""
        self.notes.setdefault(text, Tally()).add(line)

    @property
    def skips(self) -> int:
        """Return how many things were skipped, for whatever reason."""
        return sum(tally.count for tally in self.skipped.values())

    @property
    def nothing_read(self) -> bool:
        """Return whether the file held something, and none of it could be imported."""
        return self.skips > 0 and not self.created and not self.present

    @property
    def counts(self) -> dict[str, int]:
        """Return the counts for the audit log."""
        return {
            "lines": self.lines,
            "created": self.created,
            "present": self.present,
            "skipped": self.skips,
            "notes": sum(tally.count for tally in self.notes.values()),
        }

    def table(self, *, dry_run: bool = False) -> str:
        """Return the report as lines of text."""
        would = "would be " if dry_run else ""
        rows = [("lines", self.lines), *((f"  {what}", count) for what, count in sorted(self.found.items()))]
        rows += [("  blank lines", self.blank)] if self.blank else []
        rows += [(f"memories {would}created", self.created), ("memories already there", self.present)]
        rows.append(("skipped", self.skips))
        text = [f"Format: {self.format}", *(f"{what:<28}{count:>12,}" for what, count in rows)]
        for title, tallies in (("Skipped:", self.skipped), ("To know:", self.notes)):
            if tallies:
                text.append(title)
                for reason, tally in sorted(tallies.items(), key=lambda pair: -pair[1].count):
                    text.append(f"{tally.count:>10,}  {reason} ({_line_numbers(tally)})")
        return "\n".join(text + [f"  {detail}" for detail in self.details])


def _line_numbers(tally: Tally) -> str:
    more = ", ..." if tally.count > len(tally.lines) >= SHOWN else ""
    return f"line {', '.join(str(line) for line in tally.lines)}{more}"


class Document:
    """A file that is read from the beginning, never as a whole. ``on_bytes`` hears how many bytes were read."""

    def __init__(self, path: Path, *, on_bytes: Callable[[int], object] = lambda count: None) -> None:
        self.path = path
        self.on_bytes = on_bytes
        if not path.exists():
            raise Unreadable(f"there is no file {path}")
        if not path.is_file():
            raise Unreadable(f"{path} is no regular file")
        try:
            self.file: BinaryIO = path.open("rb", buffering=_STEP)
        except OSError as error:
            raise Unreadable(f"{path} cannot be opened: {error.strerror}") from None

    def __enter__(self) -> Document:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.file.close()

    @cached_property
    def start(self) -> bytes:
        """Return the first bytes, without a byte order mark."""
        self.file.seek(0)
        return self.file.read(HEAD_BYTES).removeprefix(BOM)

    @cached_property
    def first_values(self) -> list[Any]:
        """Return the JSON values of the first lines; lines that hold none, or a huge list, are left out."""
        values: list[Any] = []
        self.file.seek(0)
        for _, raw in zip(range(HEAD_LINES), read_lines(self.file), strict=False):
            # A document that is one long line is not worth reading whole only to find that out.
            if raw is not None and (len(raw) <= HEAD_BYTES or raw.startswith(b"{")):
                with contextlib.suppress(Bad):
                    values.append(parse_line(raw))
            if self.file.tell() > HEAD_MOST:
                break
        return values

    def values(self, report: Report) -> Iterator[tuple[int, int, Any]]:
        """Yield line number, length in bytes and JSON value of each line; blank and bad ones go to the report."""
        self.file.seek(0)
        told = 0
        for number, raw in enumerate(read_lines(self.file), start=1):
            report.lines += 1
            position = self.file.tell()
            self.on_bytes(position - told)
            told = position
            if raw is not None and not raw.strip():
                report.blank += 1
                continue
            try:
                value = parse_line(raw)
            except Bad as bad:
                report.skip(number, bad)
                continue
            yield number, len(raw or b""), value


class Format(Protocol):
    """One importer: a module that knows a format by its content and loads a file of it."""

    NAME: str
    DESCRIPTION: str

    def recognises(self, document: Document, /) -> bool: ...

    def load(self, document: Document, target: Target, report: Report, /, *, now: datetime) -> None: ...


def read_lines(file: BinaryIO, *, most: int = LINE_MAX) -> Iterator[bytes | None]:
    """Yield the lines without their ends and byte order marks; None stands for one longer than ``most`` bytes."""
    while raw := file.readline(most + 2):
        whole = raw.endswith(b"\n") or len(raw) < most + 2
        raw = raw.rstrip(b"\r\n").removeprefix(BOM)
        if whole and len(raw) <= most:
            yield raw
            continue
        raw = b""
        while not whole:
            rest = file.readline(_STEP)
            whole = rest.endswith(b"\n") or not rest
        yield None


def parse_line(raw: bytes | None) -> Any:
    """Return the JSON value of a line. Raises Bad.

    Bytes that are no UTF-8 become lone surrogates, NaN and infinities NotFinite: ``check_json`` finds both, so that one
    bad part of a line does not lose the others.
    """
    if raw is None:
        raise Bad(f"longer than {LINE_MAX // 2**20} MiB")
    try:
        # Control characters inside a text are no reason to lose it; NUL is found later.
        return json.loads(raw.decode("utf-8", "surrogateescape"), parse_constant=NotFinite, strict=False)
    except RecursionError:
        raise Bad(f"nested deeper than {DEPTH_MAX} levels") from None
    except json.JSONDecodeError as error:
        raise Bad("invalid JSON", f"{error.msg} at character {error.pos + 1}") from None
    except ValueError:
        raise Bad("invalid JSON", "a number with thousands of digits") from None


def check_json(value: Any, *, what: str) -> None:
    """Raise Bad where the value holds anything that a store cannot keep and give back as it is."""
    try:
        _check(value, DEPTH_MAX)
    except Bad as bad:
        raise Bad(f"{what} {bad.reason}", bad.detail) from None


def _check(value: Any, depth: int) -> None:
    if isinstance(value, str):
        _check_characters(value)
    elif isinstance(value, NotFinite):
        raise Bad("contains NaN or Infinity, which are not JSON")
    elif isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise Bad("contains a number that does not fit into 64 bits")
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise Bad("contains a number that is too large")
    elif isinstance(value, list | dict):
        if not depth:
            raise Bad(f"is nested deeper than {DEPTH_MAX} levels")
        if isinstance(value, dict):
            for name in value:
                _check_characters(name)
            value = value.values()
        for part in value:
            _check(part, depth - 1)


def _check_characters(text: str) -> None:
    if "\x00" in text:
        raise Bad("contains the character NUL")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        # surrogateescape maps the bytes 80 to FF there; a JSON escape may say the same, which is as broken.
        if "\udc80" <= text[error.start] <= "\udcff":
            raise Bad("contains bytes that are not UTF-8") from None
        raise Bad("contains a lone surrogate, which is half a character") from None


def check_text(value: Any, *, what: str, most: int) -> str:
    """Return the value if it is text of 1 to ``most`` characters and not blank. Raises Bad."""
    if isinstance(value, NotFinite):
        check_json(value, what=what)
    if not isinstance(value, str):
        raise Bad(f"{what} is not text")
    check_json(value, what=what)
    if not value.strip():
        raise Bad(f"{what} is blank")
    if len(value) > most:
        raise Bad(f"{what} is longer than {most:,} characters", f"{len(value):,} characters")
    return value


def moment(value: Any, *, now: datetime) -> datetime | None:
    """Return the time that a foreign program wrote, in UTC, or None where it makes no sense.

    Numbers are seconds, milli-, micro- or nanoseconds since 1970 by their size; text is ISO 8601 (UTC where no zone is
    named) or such a number. Times before 1990 or more than a day after ``now`` are taken for mistakes.
    """
    try:
        if isinstance(value, str):
            found = _from_text(value.strip())
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found = _from_number(value)
        else:
            return None
        found = found.astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return found if _EARLIEST <= found <= now + timedelta(days=1) else None


def _from_text(text: str) -> datetime:
    try:
        return _from_number(float(text))
    except ValueError:
        found = datetime.fromisoformat(text)
        return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def _from_number(number: float) -> datetime:
    # 1e11 seconds are the year 5138 and 1e11 milliseconds 1973, so sizes do not overlap.
    for least, micros in ((1e17, 1e-3), (1e14, 1), (1e11, 1e3), (0, 1e6)):
        if number >= least:
            return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=round(number * micros))
    raise ValueError("before 1970")
