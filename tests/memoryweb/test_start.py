"""The command start, with real processes."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import socket
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.memoryweb.running import Running, free_port, manage, parent_of, wait_for

pytestmark = pytest.mark.processes

PREPARE = "from memoryweb.preparation import prepare; prepare(print, stopped=lambda: False)"
FIRST_LOGIN = re.compile(r"user: +(\S+)\npassword: (\S+)\ntoken: +(mw_\S+)\n")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store as a first start leaves it. Only to be copied."""
    store = tmp_path_factory.mktemp("prepared") / "store"
    made = manage("shell", "-c", PREPARE, data_dir=store)
    assert made.returncode == 0, made.stderr
    return store


@pytest.fixture
def empty_store(prepared: Path, tmp_path: Path) -> Path:
    """Return a store without a database, where the static files, which take seconds, are there."""
    store = tmp_path / "store"
    shutil.copytree(prepared / "static", store / "static")
    shutil.copy(prepared / "static-fingerprint", store)
    return store


@pytest.fixture
def store(prepared: Path, tmp_path: Path) -> Path:
    """Return a copy of the prepared store."""
    return shutil.copytree(prepared, tmp_path / "store")


@pytest.fixture
def house(store: Path) -> Iterator[Running]:
    """Return a running memoryweb that is ready."""
    with Running(store) as running:
        running.ready()
        yield running


def rows(store: Path, query: str) -> list[tuple]:
    with contextlib.closing(sqlite3.connect(store / "memoryweb.sqlite3")) as connection:
        return connection.execute(query).fetchall()


def log_in(url: str, username: str, password: str) -> httpx.Response:
    with httpx.Client(base_url=url, follow_redirects=False) as browser:
        page = browser.get("/admin/login/")
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.text)
        assert token is not None
        form = {"username": username, "password": password, "csrfmiddlewaretoken": token[1]}
        return browser.post("/admin/login/?next=/admin/", data=form, headers={"Referer": f"{url}/admin/login/"})


def test_it_serves_from_an_empty_directory_and_leaves_nothing_behind(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with Running(store, SECRET_KEY="ein-geheimer-schluessel-" + "k" * 30) as house:
        house.ready()
        first_login = store / "first-login"
        assert stat.S_IMODE(first_login.stat().st_mode) == 0o600
        made = FIRST_LOGIN.fullmatch(first_login.read_text())
        assert made is not None
        username, password, token = made.groups()

        headers = {"Authorization": f"Bearer {token}"}
        remembered = httpx.post(
            f"{house.url}/api/memories", json={"content": "Kettle: left cupboard."}, headers=headers
        )
        assert remembered.status_code == 201
        recalled = httpx.get(f"{house.url}/api/recall", headers=headers).json()
        assert [memory["content"] for memory in recalled["memories"]] == ["Kettle: left cupboard."]

        assert log_in(house.url, username, "not the password").status_code == 200
        assert first_login.exists()
        assert log_in(house.url, username, password).status_code == 302
        assert not first_login.exists()
        style = re.search(r'href="(/static/[^"]+\.css)"', httpx.get(f"{house.url}/admin/login/").text)
        assert style is not None
        assert httpx.get(house.url + style[1]).status_code == 200

        assert house.stop(signal.SIGTERM) == 0
        assert house.processes() == {}
        assert f"serves at {house.url}/" in house.output
        for secret in (password, token, "ein-geheimer-schluessel"):
            assert secret not in house.output
        assert "Traceback" not in house.output
    assert not (store / "memoryweb.sqlite3-wal").exists()
    assert {stat.S_IMODE(file.stat().st_mode) & 0o077 for file in store.iterdir()} == {0}


def test_a_second_start_makes_no_second_admin_and_no_second_token(house: Running, store: Path) -> None:
    first_login = (store / "first-login").read_text()
    # Granian shares its port with whoever asks: only our own look before the start keeps two servers apart.
    beside = manage("start", data_dir=store, PORT=str(house.port))
    assert beside.returncode == 1
    assert f"PORT={house.port} is taken" in beside.stderr

    assert house.stop(signal.SIGINT) == 0
    assert house.processes() == {}
    assert rows(store, "SELECT username, is_superuser FROM auth_user") == [("admin", 1)]
    assert rows(store, "SELECT count(*) FROM memories_token") == [(1,)]
    assert (store / "first-login").read_text() == first_login
    assert "first login" not in house.output


def test_two_starts_at_once_take_turns(empty_store: Path) -> None:
    with Running(empty_store) as one, Running(empty_store) as other:
        one.ready()
        other.ready()
        assert rows(empty_store, "SELECT count(*) FROM auth_user") == [(1,)]
        assert rows(empty_store, "SELECT count(*) FROM memories_token") == [(1,)]
        assert rows(empty_store, "SELECT name FROM django_q_schedule ORDER BY name") == [
            ("clean up",),
            ("heartbeat",),
            ("indexes",),
            ("tidy",),
            ("tidy, left rounds",),
            ("upkeep",),
        ]
        assert one.stop() == 0
        assert other.stop() == 0


def test_on_a_terminal_the_first_login_is_shown_and_not_written(empty_store: Path) -> None:
    terminal, theirs = os.openpty()
    with Running(empty_store, stdout=theirs) as house:
        os.close(theirs)
        house.ready()
        shown = os.read(terminal, 65536).decode().replace("\r\n", "\n")
        assert house.stop() == 0
    os.close(terminal)
    made = FIRST_LOGIN.search(shown)
    assert made is not None
    assert made[1] == "admin"
    assert not (empty_store / "first-login").exists()
    assert made[2] not in house.output


def test_a_killed_parent_takes_everything_with_it(house: Running) -> None:
    assert len(house.processes()) >= 8

    house.process.kill()
    house.process.wait()

    wait_for("no process is left", lambda: not house.processes())


@pytest.mark.parametrize("victim", ["web server", "web worker", "background worker", "sentinel"])
def test_a_killed_child_ends_the_whole(house: Running, victim: str) -> None:
    web, clusters = house.named("granian"), house.named("manage.py cluster")
    pids = {"web server": web[0], "web worker": web[1], "background worker": clusters[0], "sentinel": clusters[1]}

    os.kill(pids[victim], signal.SIGKILL)

    code = house.process.wait(20)
    assert code == (137 if victim in ("web server", "background worker") else 1)
    assert house.processes() == {}
    whole = "web server" if victim.startswith("web") else "background worker"
    assert f"the {whole} ended by itself" in house.output


def test_a_killed_task_process_is_replaced_and_tasks_run_on(house: Running, store: Path) -> None:
    clusters = house.named("manage.py cluster")
    worker = next(pid for pid in clusters if parent_of(pid) == clusters[1])
    before = rows(store, "SELECT at FROM memoryweb_heartbeat")

    os.kill(worker, signal.SIGKILL)
    wait_for("a new worker", lambda: len(set(house.named("manage.py cluster")) - set(clusters)) == 4)
    queue_heartbeat = "from django_q.tasks import async_task; async_task('memoryweb.tasks.heartbeat')"
    assert manage("shell", "-c", queue_heartbeat, data_dir=store).returncode == 0

    wait_for("another heartbeat", lambda: rows(store, "SELECT at FROM memoryweb_heartbeat") != before)
    assert house.stop() == 0
    assert house.processes() == {}


def test_a_long_task_does_not_hold_up_the_stop(house: Running, store: Path) -> None:
    slow = "from django_q.tasks import async_task; async_task('time.sleep', 50)"
    assert manage("shell", "-c", slow, data_dir=store).returncode == 0
    taken = "SELECT * FROM django_q_ormq WHERE lock > datetime('now', '+60 seconds')"
    wait_for("the task was taken", lambda: rows(store, taken))

    assert house.stop() == 0
    assert house.processes() == {}


def test_a_taken_port_is_named(store: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = manage("start", data_dir=store, PORT=str(port))

    assert refused.returncode == 1
    assert f"PORT={port} is taken" in refused.stderr
    assert "Traceback" not in refused.stderr


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PORT", "eighty"),
        ("HOST", "no.such.host.invalid"),
        ("HOST", "192.0.2.7"),
        ("RATE_LIMIT", "-1"),
        ("WEB_WORKERS", "0"),
        ("DEBUG", "maybe"),
        ("TRUSTED_PROXIES", "the proxy"),
        ("DATABASE_URL", "mysql://memory:geheim@db.example/memory"),
        ("DATABASE_URL", "sqlite:////no/such/directory/memory.sqlite3"),
        ("DATABASE_URL", "sqlite:////etc/passwd"),
        ("DATA_DIR", "/etc/passwd"),
    ],
)
def test_a_wrong_setting_stops_the_start_with_its_name(tmp_path: Path, name: str, value: str) -> None:
    variables = {"PORT": str(free_port())} | {name: value}
    data_dir = Path(variables.pop("DATA_DIR", tmp_path / "store"))

    refused = manage("start", data_dir=data_dir, **variables)

    assert refused.returncode == 1
    assert name in refused.stderr
    assert "Traceback" not in refused.stderr
    assert "geheim" not in refused.stderr


def test_a_store_of_a_newer_version_is_refused(store: Path) -> None:
    with contextlib.closing(sqlite3.connect(store / "memoryweb.sqlite3")) as connection, connection:
        connection.execute(
            "INSERT INTO django_migrations (app, name, applied) VALUES ('memories', '9999_later', '2026-01-01')"
        )

    refused = manage("start", data_dir=store, PORT=str(free_port()))

    assert refused.returncode == 1
    assert "memories.9999_later" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_a_store_is_copied_before_it_is_migrated(store: Path) -> None:
    assert manage("shell", "-v", "0", "-c", PREPARE, data_dir=store).stdout == ""
    assert not (store / "backups").exists()
    names = [name for (name,) in rows(store, "SELECT name FROM django_migrations WHERE app = 'axes' ORDER BY name")]
    assert manage("migrate", "axes", names[-2], data_dir=store).returncode == 0

    updated = manage("shell", "-v", "0", "-c", PREPARE, data_dir=store)

    (copy,) = (store / "backups").iterdir()
    assert updated.stdout == f"before the update the store was copied to {copy}\n"
    assert rows(store, "SELECT max(name) FROM django_migrations WHERE app = 'axes'") == [(names[-1],)]
    with contextlib.closing(sqlite3.connect(copy)) as connection:
        assert connection.execute("SELECT max(name) FROM django_migrations WHERE app = 'axes'").fetchone() == (
            names[-2],
        )


def test_a_relative_data_dir_is_one_place_for_all_processes(store: Path, tmp_path: Path) -> None:
    with Running(Path("store"), cwd=tmp_path) as house:
        house.ready()
        assert house.stop() == 0

    assert not (tmp_path / "data").exists()
