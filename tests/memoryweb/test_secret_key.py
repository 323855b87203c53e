"""The generated secret key."""

from __future__ import annotations

import multiprocessing
import stat
from pathlib import Path

from memoryweb.secret_key import load_secret_key


def test_it_is_generated_once_and_for_its_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "store" / "secret-key"

    key = load_secret_key(file)

    assert len(key) >= 50
    assert load_secret_key(file) == key
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_each_place_has_its_own(tmp_path: Path) -> None:
    assert load_secret_key(tmp_path / "one") != load_secret_key(tmp_path / "other")


def test_a_key_that_is_there_is_used(tmp_path: Path) -> None:
    file = tmp_path / "secret-key"
    file.write_text("brought along\n")
    assert load_secret_key(file) == "brought along"


def test_processes_that_start_at_once_agree(tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        keys = pool.map(load_secret_key, [tmp_path / "secret-key"] * 40, chunksize=1)

    assert len(set(keys)) == 1
    assert [file.name for file in tmp_path.iterdir()] == ["secret-key"]
