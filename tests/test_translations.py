"""Every text of the pages is there in every language, and says the same."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import polib
import pytest
from django.test import Client

from tests.factories import MembershipFactory
from tests.stores import environment

ROOT = Path(__file__).resolve().parent.parent
CATALOGUES = sorted((ROOT / "locale").glob("*/LC_MESSAGES/django.po"))
PLACEHOLDERS = re.compile(r"%\(\w+\)[sd]|%%|%[sd]|</?\w+>")
EACH = pytest.mark.parametrize("path", CATALOGUES, ids=lambda path: path.parts[-3])


def entries(path: Path) -> list[polib.POEntry]:
    return [entry for entry in polib.pofile(str(path)) if not entry.obsolete]


def test_there_are_german_and_chinese() -> None:
    assert [path.parts[-3] for path in CATALOGUES] == ["de", "zh_Hans"]


@EACH
def test_every_text_is_translated_with_its_placeholders(path: Path) -> None:
    for entry in entries(path):
        forms = list(entry.msgstr_plural.values()) if entry.msgid_plural else [entry.msgstr]
        assert all(forms), entry.msgid
        assert not entry.fuzzy, entry.msgid
        for form in forms:
            assert sorted(PLACEHOLDERS.findall(form)) == sorted(PLACEHOLDERS.findall(entry.msgid)), entry.msgid
            assert form.endswith(" ") == entry.msgid.endswith(" ")


@EACH
def test_what_is_used_is_what_is_written(path: Path) -> None:
    compiled = {
        (entry.msgid, entry.msgstr or str(entry.msgstr_plural)) for entry in polib.mofile(str(path)[:-2] + "mo")
    }
    written = {(entry.msgid, entry.msgstr or str(entry.msgstr_plural)) for entry in entries(path)}
    assert compiled == written, "run manage.py compilemessages"


@pytest.mark.processes
@pytest.mark.skipif(shutil.which("xgettext") is None, reason="no gettext here: apt install gettext")
def test_no_text_is_left_out(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    kept = ("memoryweb", "memories", "search", "tidy", "templates", "locale", "manage.py")
    for name in kept:
        source = ROOT / name
        shutil.copytree(source, copy / name) if source.is_dir() else shutil.copy(source, copy / name)
    command = [sys.executable, "manage.py", "makemessages", "--all", "--no-location"]
    subprocess.run(command, cwd=copy, env=environment(tmp_path / "data"), check=True, capture_output=True, timeout=120)
    for path in CATALOGUES:
        now = {entry.msgid for entry in entries(copy / path.relative_to(ROOT))}
        assert now == {entry.msgid for entry in entries(path)}, "run manage.py makemessages --all"


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("language", "word", "tag"),
    [("de", "Übersicht", "de"), ("zh-CN,zh;q=0.9", "概览", "zh-hans"), ("fr", "Overview", "en")],
)
def test_pages_speak_what_the_browser_asks_for(language: str, word: str, tag: str) -> None:
    client = Client()
    client.force_login(MembershipFactory.create().user)
    page = client.get("/", headers={"Accept-Language": language}).content.decode()
    assert f"<h1>{word}</h1>" in page
    assert f'<html lang="{tag}">' in page


@pytest.mark.django_db
def test_what_was_chosen_stays_and_the_api_speaks_english() -> None:
    client = Client()
    response = client.post("/language/", {"language": "de"}, headers={"Referer": "http://testserver/login/?next=/"})
    assert (response.status_code, response["Location"]) == (302, "http://testserver/login/?next=/")
    assert "Anmelden" in client.get("/login/").content.decode()
    assert client.post("/language/", {"language": "xx", "next": "https://evil.example/"})["Location"] == "/"
    refused = client.get("/api/memories", headers={"Accept-Language": "de"}).json()
    assert "Authorization" in refused["error"]["message"]
