"""Reading any file: lines, byte order marks, sizes, times, and finding the format."""

from __future__ import annotations

import io
import signal
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memories.importers import detect
from memories.importers.base import (
    LINE_MAX,
    Bad,
    Document,
    Unreadable,
    check_json,
    moment,
    parse_line,
    read_lines,
    uninterrupted,
)
from memories.models import Agent, AuditEntry, Memory, Workspace
from tests.memories.importers.files import entity, load, reasons, write_lines

NOW = datetime(2026, 5, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("raw", "lines"),
    [
        (b"", []),
        (b"a", [b"a"]),
        (b"a\nb", [b"a", b"b"]),
        (b"a\r\nb\r\n", [b"a", b"b"]),
        (b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n", [b"a", b"b"]),
        (b"\n\na\n", [b"", b"", b"a"]),
        (b"a\xe2\x80\xa8b\x0bc\x85\n", [b"a\xe2\x80\xa8b\x0bc\x85"]),
        (b"12345678\nb\n", [b"12345678", b"b"]),
        (b"12345678\r\nb\n", [b"12345678", b"b"]),
        (b"123456789\nb\n", [None, b"b"]),
        (b"123456789\r\nb\n", [None, b"b"]),
        (b"1234567890\nb\n", [None, b"b"]),
        (b"1" * 5000 + b"\nb", [None, b"b"]),
        (b"1" * 5000, [None]),
    ],
)
def test_lines_end_where_json_lines_end_and_long_ones_are_dropped(raw: bytes, lines: list[bytes | None]) -> None:
    assert list(read_lines(io.BytesIO(raw), most=8)) == lines


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1768313916, "2026-01-13T14:18:36+00:00"),
        (1768313916.5, "2026-01-13T14:18:36.500000+00:00"),
        ("1768313916", "2026-01-13T14:18:36+00:00"),
        (1768313916123, "2026-01-13T14:18:36.123000+00:00"),
        (1768313916123456, "2026-01-13T14:18:36.123456+00:00"),
        (1768313916123456789, "2026-01-13T14:18:36.123457+00:00"),
        ("2026-01-13T14:18:36Z", "2026-01-13T14:18:36+00:00"),
        ("2026-01-13T14:18:36.5+02:00", "2026-01-13T12:18:36.500000+00:00"),
        ("2026-01-13 14:18:36", "2026-01-13T14:18:36+00:00"),
        ("2026-01-13", "2026-01-13T00:00:00+00:00"),
        ("2026-05-01T20:00:00Z", "2026-05-01T20:00:00+00:00"),
        ("2026-05-03T00:00:00Z", None),
        (0, None),
        (-1, None),
        (1e300, None),
        (float("nan"), None),
        ("1e400", None),
        ("soon", None),
        ("", None),
        (True, None),
        (None, None),
        ([2026], None),
        ("9999-12-31T23:59:59-23:00", None),
    ],
)
def test_foreign_times(value: Any, expected: str | None) -> None:
    found = moment(value, now=NOW)

    assert (found.isoformat() if found else None) == expected


@pytest.mark.parametrize("raw", [b'"\\ud83d\\ude00"', '"😀"'.encode(), b'"a\tb"', b"[1, -2.5, true, null]", b"0"])
def test_what_can_be_kept_passes(raw: bytes) -> None:
    check_json(parse_line(raw), what="it")


@pytest.mark.parametrize("raw", [b'{"\\ud83d": 1}', b'{"a": ["\\u0000"]}', b"[-Infinity]", b"[[NaN]]", b'"\xc3\x28"'])
def test_what_cannot_be_kept_is_found_at_any_depth(raw: bytes) -> None:
    with pytest.raises(Bad, match=r"^it contains"):
        check_json(parse_line(raw), what="it")


def test_a_file_with_mark_carriage_returns_and_blank_lines(db: None, tmp_path: Path) -> None:
    path = tmp_path / "memory.jsonl"
    first, second = (b'{"name":"%s","entityType":"t","observations":["x"]}' % name for name in (b"one", b"two"))
    path.write_bytes(b"\xef\xbb\xbf" + first + b"\r\n\r\n  \r\n" + second)

    report = load(path)

    assert (report.lines, report.blank, report.created, report.skips) == (4, 2, 2, 0)


def test_a_line_of_megabytes_is_read(db: None, tmp_path: Path) -> None:
    words = [f"{number} " + "ein langer Satz über das Haus " * 3000 for number in range(60)]
    path = write_lines(tmp_path / "memory.jsonl", entity("House", *words), entity("Small", "one"))
    assert path.stat().st_size > 5_000_000

    assert load(path).created == 61


def test_a_line_over_the_limit_is_skipped_with_its_number(db: None, tmp_path: Path) -> None:
    path = tmp_path / "memory.jsonl"
    with path.open("wb") as file:
        file.write(b'{"name":"a","entityType":"t","observations":["x"]}\n')
        file.seek(LINE_MAX + 100, io.SEEK_CUR)  # a hole: a line of zero bytes that takes no room on disk
        file.write(b'\n{"name":"b","entityType":"t","observations":["x"]}\n')

    report = load(path)

    assert reasons(report) == {"longer than 128 MiB": (1, [2])}
    assert (report.lines, report.created) == (3, 2)


@pytest.mark.parametrize(
    ("content", "looks"),
    [
        (b"", "it is empty"),
        (b" \n\n", "it is empty"),
        (b"\x1f\x8b\x08\x00abc", "it is compressed"),
        (b"PK\x03\x04abc", "it is a ZIP archive"),
        (b"SQLite format 3\x00", "it is an SQLite database"),
        ('{"name": "a"}'.encode("utf-16"), "it is UTF-16"),
        (b"Dear diary,\nnothing happened.\n", "none of its first lines is JSON"),
        (b'[{"name": "a"}]', "its first JSON line is a list"),
        (b"17\n", "its first JSON line is no object"),
        (b'{"b": 1, "a": 2}', "an object with the fields a, b"),
    ],
)
def test_an_unknown_file_is_described_and_nothing_is_written(
    db: None, tmp_path: Path, content: bytes, looks: str
) -> None:
    path = tmp_path / "some.file"
    path.write_bytes(content)

    with pytest.raises(Unreadable) as refusal:
        load(path)

    assert looks in refusal.value.message
    assert "JSON Lines of the MCP memory server" in refusal.value.message
    assert "memoryweb's own JSON Lines" in refusal.value.message
    assert not Workspace.objects.exists()
    assert not Agent.objects.exists()
    assert not AuditEntry.objects.exists()


def test_the_format_is_found_below_damaged_lines(db: None, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "x", b"{damaged", b"", {"type": "_aim"}, entity("Cat", "is grey"))

    report = load(path)

    assert report.created == 1
    assert reasons(report) == {"invalid JSON": (1, [1]), "neither an entity nor a relation": (1, [3])}


def test_a_missing_file_a_directory_and_a_device_are_refused(tmp_path: Path) -> None:
    for path, why in (
        (tmp_path / "none", "there is no file"),
        (tmp_path, "no regular file"),
        (Path("/dev/null"), "no reg"),
    ):
        with pytest.raises(Unreadable, match=why):
            Document(path)


def test_finding_the_format_reads_the_beginning_alone(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "x", *[{"no": number} for number in range(150)], entity("Cat", "is grey"))

    with Document(path) as document, pytest.raises(Unreadable):
        detect(document)

    assert len(document.first_values) == 100


def test_a_document_of_one_huge_list_is_not_parsed_to_find_that_out(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "x", b"[" + b"7," * 100_000 + b"7]", entity("Cat", "is grey"))

    with Document(path) as document:
        assert document.first_values == [entity("Cat", "is grey")]
        assert document.start.startswith(b"[7,7")


@pytest.mark.django_db(transaction=True)
def test_a_memory_that_only_the_database_refuses_loses_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # No known input gets here, so the check that would have caught this one is taken away.
    monkeypatch.setattr("memories.importers.mcp_memory.check_text", lambda value, *, what, most: value)
    path = write_lines(tmp_path / "x", entity("Cat", *(f"number {n}" for n in range(9)), "", *"abcdefg"))

    report = load(path)

    assert (report.created, Memory.objects.count()) == (16, 16)
    assert reasons(report) == {"refused by the database": (1, [1])}


def test_ctrl_c_waits_until_what_was_written_is_counted() -> None:
    counted = []

    def chunk() -> None:
        with uninterrupted():
            signal.raise_signal(signal.SIGINT)
            counted.append("all")

    with pytest.raises(KeyboardInterrupt):
        chunk()
    assert counted == ["all"]
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_a_thread_imports_without_touching_signals() -> None:
    before, done = signal.getsignal(signal.SIGINT), []

    def load() -> None:
        with uninterrupted():
            done.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=load)
    thread.start()
    thread.join()
    assert done == [before]
