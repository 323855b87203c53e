"""The README's lines, run as they are printed."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.memoryweb.running import ROOT, Running, manage

pytestmark = pytest.mark.processes


def lines_with(word: str) -> list[str]:
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    return [block for block in blocks if word in block]


def test_its_curl_lines_remember_recall_and_tell_the_history(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    with Running(data_dir) as house:
        house.ready()
        token = manage("create_token", "--agent", "newcomer", data_dir=data_dir).stdout.splitlines()[-1]
        answers = []
        for block in lines_with("curl"):
            for command in re.findall(r"^curl .*?(?<!\\)$", block, re.MULTILINE | re.DOTALL):
                here = command.replace("http://127.0.0.1:8000", house.url)
                done = subprocess.run(
                    ["bash", "-c", here],
                    env={"TOKEN": token, "PATH": "/usr/bin:/bin"},
                    capture_output=True,
                    text=True,
                    check=True,
                    timeout=30,
                )
                answers.append(done.stdout)
        assert house.stop() == 0
    first, second, third, recalled, brief, history = answers
    assert [json.loads(answer)["action"] for answer in (first, second, third)] == ["created", "created", "updated"]
    assert [memory["content"] for memory in json.loads(recalled)["memories"]] == [
        "The flat costs 950 a month.",
        "Ana drinks her tea without sugar.",
    ]
    assert brief.splitlines()[0] == "- (observation) The flat costs 950 a month."
    assert [change["revision"] for change in json.loads(history)["revisions"]] == [1, 2]


def test_its_backup_lines_copy_and_put_back(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    copy = tmp_path / "copy.sqlite3"
    (block,) = lines_with("manage.py backup")
    commands = [line.split("manage.py ")[1].replace("/path/to/copy.sqlite3", str(copy)) for line in block.splitlines()]
    manage("migrate", data_dir=data_dir)
    backup, restore = (command.split() for command in commands)

    assert manage(*backup, data_dir=data_dir).returncode == 0
    assert manage(*restore, data_dir=tmp_path / "elsewhere").returncode == 0
    assert (tmp_path / "elsewhere" / "memoryweb.sqlite3").exists()
