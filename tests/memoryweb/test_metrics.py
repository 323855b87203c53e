"""/metrics: right numbers, from every process, for who may see them."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from memories.access import Actor, create_token
from memoryweb import metrics
from memoryweb.models import Heartbeat
from search import upkeep
from tests.conftest import ApiClient
from tests.factories import AgentFactory
from tests.memoryweb.running import Running, manage


def numbers(text: str) -> dict[str, float]:
    """Return each sample by its name and labels."""
    return {
        f"{sample.name}{sorted(sample.labels.items())}": sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


@pytest.fixture
def runner(db: None) -> ApiClient:
    _, secret = create_token(AgentFactory.create(), actor=Actor("test"), instance=True)
    return ApiClient(secret)


def test_only_an_instance_token_sees_them(client: Any, api_client: Any, runner: ApiClient) -> None:
    refused = client.get("/metrics")
    assert (refused.status_code, refused.json()["error"]["code"]) == (401, "no_token")
    refused = api_client.get("/metrics")
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "not_instance")
    answer = runner.get("/metrics")
    assert answer.status_code == 200
    assert answer["Content-Type"].startswith("text/plain")
    assert runner.get("/metrics/").status_code == 200
    assert runner.send("POST", "/metrics").status_code == 405


def test_requests_are_counted_by_pattern_and_searches_by_route(api_client: Any, runner: ApiClient) -> None:
    labels = "[('method', 'GET'), ('route', 'api/memories/<memory_id>'), ('status', '404')]"
    requests = f"memoryweb_request_seconds_count{labels}"
    searches = "memoryweb_search_seconds_count[('corpus', 'messages')"
    before = numbers(runner.get("/metrics").content.decode())
    for number in range(3):
        api_client.get(f"/api/memories/{10**6 + number}")
        api_client.get("/api/search/messages", {"q": "kestrel"})
    after = numbers(runner.get("/metrics").content.decode())
    assert after[requests] - before.get(requests, 0) == 3
    found = [sum(v for k, v in many.items() if k.startswith(searches)) for many in (before, after)]
    assert found[1] - found[0] == 3
    assert not any(str(10**6) in key for key in after)


def test_the_state_of_indexes_and_worker_is_read_when_asked(runner: ApiClient) -> None:
    Heartbeat.objects.create(name="worker", at=timezone.now())
    upkeep.probe_all()
    found = numbers(runner.get("/metrics").content.decode())
    words = "[('corpus', 'messages'), ('kind', 'words')"
    assert found[f"memoryweb_index_filled_ratio{words}]"] == 1
    assert found[f"memoryweb_index_bytes{words}]"] >= 0
    assert found[f"memoryweb_index_state{words}, ('state', 'ready')]"] == 1
    assert found[f"memoryweb_index_state{words}, ('state', 'stale')]"] == 0
    assert found[f"memoryweb_index_needs{words}, ('needs', 'nothing')]"] == 1
    assert 0 <= found["memoryweb_worker_beat_age_seconds[]"] < 60
    assert found["memoryweb_oldest_task_seconds[]"] == 0


def test_an_invented_method_makes_no_new_series(client: Any, runner: ApiClient) -> None:
    client.generic("BREW", "/api/memories")
    text = runner.get("/metrics").content.decode()
    assert "BREW" not in text
    assert 'method="other"' in text


@pytest.mark.processes
def test_all_processes_are_counted_and_a_start_begins_anew(tmp_path: Path) -> None:
    store = tmp_path / "store"
    for expected in (60, 60):
        with Running(store, WEB_WORKERS="2") as house:
            house.ready()
            made = manage("create_token", "--agent", "prometheus", "--instance", data_dir=store)
            headers = {"Authorization": f"Bearer {made.stdout.splitlines()[-1]}"}

            def ask(house: Running = house, headers: dict[str, str] = headers) -> None:
                # A connection each time: which of the workers takes it is the kernel's choice.
                for _ in range(10):
                    assert httpx.get(f"{house.url}/api/memories", headers=headers).status_code == 200

            threads = [threading.Thread(target=ask) for _ in range(6)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            text = httpx.get(f"{house.url}/metrics", headers=headers).text
            counted = re.findall(r'memoryweb_request_seconds_count\{.*route="api/memories",status="200"\} (\S+)', text)
            assert [float(count) for count in counted] == [expected]
            files = list((store / "metrics").glob("histogram_*.db"))
            assert len(files) >= 2, files
            house.stop()


def test_the_directory_is_emptied(settings: Any, tmp_path: Path, monkeypatch: Any) -> None:
    settings.DATA_DIR = tmp_path
    monkeypatch.setenv(metrics.DIRECTORY, "elsewhere")
    (tmp_path / "metrics").mkdir()
    (tmp_path / "metrics" / "counter_1.db").write_bytes(b"old")
    metrics.prepare_directory()
    assert list((tmp_path / "metrics").iterdir()) == []
