"""Collecting static files only when something changed."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from memoryweb.static_files import collect_if_changed, fingerprint


@pytest.fixture
def source(tmp_path: Path, settings: Any) -> Path:
    """Return a directory with the only static file there is."""
    place = tmp_path / "source"
    place.mkdir()
    (place / "app.css").write_text("p { color: black }")
    settings.DATA_DIR = tmp_path
    settings.STATIC_ROOT = tmp_path / "static"
    settings.STATICFILES_DIRS = [place]
    settings.STATICFILES_FINDERS = ["django.contrib.staticfiles.finders.FileSystemFinder"]
    backend = "whitenoise.storage.CompressedManifestStaticFilesStorage"
    settings.STORAGES = settings.STORAGES | {"staticfiles": {"BACKEND": backend}}
    return place


def test_it_collects_once(source: Path, tmp_path: Path) -> None:
    assert collect_if_changed() is True
    assert (tmp_path / "static" / "app.css").read_text() == "p { color: black }"
    assert (tmp_path / "static" / "staticfiles.json").exists()

    assert collect_if_changed() is False


def test_it_collects_again_when_a_file_changes_comes_or_goes(source: Path, tmp_path: Path) -> None:
    collect_if_changed()

    (source / "app.css").write_text("p { color: white }")
    os.utime(source / "app.css", ns=(1, 1))
    assert collect_if_changed() is True
    (source / "more.css").write_text("a { color: blue }")
    assert collect_if_changed() is True
    (source / "more.css").unlink()
    assert collect_if_changed() is True
    assert collect_if_changed() is False


def test_it_collects_again_when_the_collected_files_are_gone_or_were_never_finished(
    source: Path, tmp_path: Path
) -> None:
    collect_if_changed()

    shutil.rmtree(tmp_path / "static")
    assert collect_if_changed() is True
    (tmp_path / "static-fingerprint").unlink()
    assert collect_if_changed() is True


def test_the_fingerprint_depends_on_how_files_are_prepared(source: Path, settings: Any) -> None:
    before = fingerprint()
    plain = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    settings.STORAGES = settings.STORAGES | {"staticfiles": plain}
    assert fingerprint() != before
