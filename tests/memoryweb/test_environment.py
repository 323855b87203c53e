"""Settings from environment variables."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from memoryweb.databases import databases_from_url
from memoryweb.environment import read_bool, read_directory, read_int, read_list, read_text


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("1", True),
        ("true", True),
        ("YES", True),
        (" on ", True),
        ("0", False),
        ("False", False),
        ("no", False),
    ],
)
def test_a_truth_value_is_read(monkeypatch: pytest.MonkeyPatch, value: str, expected: bool) -> None:
    monkeypatch.setenv("FLAG", value)
    assert read_bool("FLAG", not expected) is expected


def test_a_blank_truth_value_is_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLAG", " ")
    assert read_bool("FLAG", True) is True
    assert read_bool("FLAG", False) is False


@pytest.mark.parametrize("value", ["2", "maybe", "tru", "-1"])
def test_anything_else_is_no_truth_value(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("FLAG", value)
    with pytest.raises(ImproperlyConfigured, match=f"FLAG='{value}'.*use 1 or 0"):
        read_bool("FLAG", True)


@pytest.mark.parametrize(("value", "expected"), [("1", 1), ("99", 99), (" 7 ", 7), ("007", 7), ("", 5), ("  ", 5)])
def test_a_whole_number_is_read(monkeypatch: pytest.MonkeyPatch, value: str, expected: int) -> None:
    monkeypatch.setenv("COUNT", value)
    assert read_int("COUNT", 5, least=1, most=99) == expected


@pytest.mark.parametrize(
    "value", ["0", "100", "-5", "1.5", "1e1", "5_0", "+5", "--5", "-", "five", "٥", "²", "9" * 5000]
)
def test_anything_else_is_no_whole_number(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("COUNT", value)
    with pytest.raises(ImproperlyConfigured, match=r"COUNT=.*use a whole number from 1 to 99"):
        read_int("COUNT", 5, least=1, most=99)


def test_a_number_may_be_negative_where_that_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COUNT", "-5")
    assert read_int("COUNT", 0, least=-10, most=10) == -5


def test_a_text_is_read_without_white_space_and_blank_is_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAME", " kitchen ")
    assert read_text("NAME", "hall") == "kitchen"
    monkeypatch.setenv("NAME", "  ")
    assert read_text("NAME", "hall") == "hall"
    monkeypatch.delenv("NAME")
    assert read_text("NAME", "hall") == "hall"


def test_a_list_is_read_without_blanks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAMES", " a, b ,,c")
    assert read_list("NAMES", ["x"]) == ["a", "b", "c"]
    monkeypatch.delenv("NAMES")
    assert read_list("NAMES", ["x"]) == ["x"]


def test_a_directory_is_made_for_its_owner_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PLACE", str(tmp_path / "a" / "b"))

    place = read_directory("PLACE", tmp_path)

    assert place == tmp_path / "a" / "b"
    assert stat.S_IMODE(place.stat().st_mode) == 0o700


def test_a_directory_that_is_there_keeps_its_mode(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    monkeypatch.setenv("PLACE", str(tmp_path))
    assert read_directory("PLACE", Path("/nowhere")) == tmp_path
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755


def test_a_relative_directory_is_made_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PLACE", "store")
    assert read_directory("PLACE", Path("/nowhere")) == tmp_path / "store"


@pytest.mark.parametrize("place", ["file", "file/below", "/proc/no-such", "~no-such-user/store"])
def test_what_can_be_no_directory_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, place: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    monkeypatch.setenv("PLACE", place)
    with pytest.raises(ImproperlyConfigured, match=r"PLACE=.*use a directory that can be written to"):
        read_directory("PLACE", tmp_path)


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("", "/data/memoryweb.sqlite3"),
        ("sqlite:////srv/a.sqlite3", "/srv/a.sqlite3"),
        ("sqlite:////srv/a%20b", "/srv/a b"),
    ],
)
def test_a_database_url_names_a_file(url: str, path: str) -> None:
    assert databases_from_url(url, data_dir=Path("/data"))["default"]["NAME"] == path


def test_a_relative_database_url_is_made_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert databases_from_url("sqlite:///a.db", data_dir=Path("/data"))["default"]["NAME"] == str(tmp_path / "a.db")


@pytest.mark.parametrize(
    "url", ["mysql://me:geheim@host/db", "sqlite://", "sqlite:///", "http://[me:geheim@host", "geheim"]
)
def test_a_refused_database_url_is_not_shown(url: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="DATABASE_URL is not allowed: use sqlite:") as refused:
        databases_from_url(url, data_dir=Path("/data"))
    assert "geheim" not in str(refused.value)
