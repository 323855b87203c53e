"""/metrics: what Prometheus reads of requests, searches, indexes and the worker.

Several processes serve, and whoever asks is answered by one of them: each writes what it counts into files of a
directory, which ``start`` empties, and the answer sums them up. What the database knows is read when asked.
https://prometheus.github.io/client_python/multiprocess/
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from django_q.models import OrmQ
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from memoryweb.api import error_response
from memoryweb.auth import TokenAuth, Unavailable
from memoryweb.models import Heartbeat
from search.models import IndexState
from search.status import IndexStatus, oldest_task, statuses
from search.upkeep import Need

DIRECTORY = "PROMETHEUS_MULTIPROC_DIR"
"""The variable by which the library finds the directory; without it a process tells of itself alone."""
REQUESTS = Histogram(
    "memoryweb_request_seconds",
    "How long requests took, by method, address pattern and status",
    ["method", "route", "status"],
    buckets=(0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10),
)
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


def prepare_directory() -> None:
    """Have the processes that are started from here count into an empty directory: numbers begin with the house."""
    directory = Path(settings.DATA_DIR) / "metrics"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    os.environ[DIRECTORY] = str(directory)


def measured(get_response: Callable[[HttpRequest], HttpResponseBase]) -> Callable[[HttpRequest], HttpResponseBase]:
    """Count each request and how long it took; by the pattern of its address, since addresses are without number."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        started = time.perf_counter()
        response = get_response(request)
        match = request.resolver_match
        method = request.method if request.method in METHODS else "other"
        labels = (method, match.route if match is not None else "none", str(response.status_code))
        REQUESTS.labels(*labels).observe(time.perf_counter() - started)
        return response

    return middleware


@dataclass(frozen=True, slots=True)
class Latency:
    """How long something took since the house was started: how often, and milliseconds (the bucket's upper end)."""

    name: str
    count: int
    p50_ms: float | None
    p95_ms: float | None


def latencies() -> list[Latency]:
    """Return how long recall and searches took, of all processes; those that were asked for at least once."""
    buckets: dict[str, dict[float, float]] = {}
    for metric in _counted().collect():
        for sample in metric.samples:
            name = _named(sample.name, sample.labels)
            if name is not None:
                ends = buckets.setdefault(name, {})
                end = float(sample.labels["le"])
                ends[end] = ends.get(end, 0.0) + sample.value
    return [_latency(name, buckets[name]) for name in sorted(buckets) if max(buckets[name].values())]


def _named(sample: str, labels: dict[str, str]) -> str | None:
    """Return what a bucket of a histogram is of, None for what the dashboard does not show."""
    if sample == "memoryweb_search_seconds_bucket":
        return f"search {labels['corpus']}"
    if sample == "memoryweb_request_seconds_bucket" and labels["route"].rstrip("/") == "api/recall":
        return "recall"
    return None


def _latency(name: str, ends: dict[float, float]) -> Latency:
    """Return the figures of one histogram, its buckets counted from the shortest on."""
    count = max(ends.values())

    def at(share: float) -> float | None:
        end = min(end for end, below in ends.items() if below >= share * count)
        return None if end == float("inf") else 1000 * end

    return Latency(name, int(count), at(0.5), at(0.95))


def _counted() -> CollectorRegistry:
    """Return what all processes of the house have counted; without a directory, this one alone."""
    if not os.environ.get(DIRECTORY):
        return REGISTRY
    counted = CollectorRegistry()
    MultiProcessCollector(counted)  # type: ignore[no-untyped-call]
    return counted


@require_safe
@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    """What has been counted, in Prometheus' text format. Needs an instance token."""
    try:
        principal = TokenAuth()(request)
    except Unavailable as error:
        return error_response(error.status, error.code, error.message, retry_after=error.retry_after)
    if principal is None:
        return error_response(401, "no_token", "send a token: Authorization: Bearer TOKEN, or X-API-Key")
    if not principal.instance:
        return error_response(403, "not_instance", "metrics need an instance token (create_token --instance)")
    now = CollectorRegistry()
    now.register(House())
    return HttpResponse(generate_latest(_counted()) + generate_latest(now), content_type=CONTENT_TYPE_LATEST)


class House(Collector):
    """What the database knows of indexes and background work."""

    def collect(self) -> Iterator[Metric]:
        """Read it and tell it."""
        now = timezone.now()
        shown = statuses(now=now)
        for name, what, value in GAUGES:
            gauge = GaugeMetricFamily(f"memoryweb_index_{name}", what, labels=["corpus", "kind"])
            for one in shown:
                if (found := value(one)) is not None:
                    gauge.add_metric([one.corpus, one.kind], found)
            yield gauge
        for name, what, values, value_of in STATES:
            gauge = GaugeMetricFamily(f"memoryweb_index_{name}", what, labels=["corpus", "kind", name])
            for one in shown:
                for value_ in values:
                    gauge.add_metric([one.corpus, one.kind, value_], float(value_of(one) == value_))
            yield gauge
        beat = Heartbeat.objects.filter(name="worker").values_list("at", flat=True).first()
        if beat is not None:
            age = (now - beat).total_seconds()
            yield GaugeMetricFamily("memoryweb_worker_beat_age_seconds", "Since the worker showed itself", age)
        waited = oldest_task(now=now)
        seconds = 0.0 if waited is None else waited.total_seconds()
        yield GaugeMetricFamily("memoryweb_oldest_task_seconds", "How long the first waiting task has waited", seconds)
        waiting = OrmQ.objects.filter(lock__lte=now).count()
        yield GaugeMetricFamily("memoryweb_waiting_tasks", "Background tasks that wait", waiting)


GAUGES: tuple[tuple[str, str, Callable[[IndexStatus], float | None]], ...] = (
    (
        "filled_ratio",
        "How much of it is filled; of one that is built beside, how much of that",
        lambda one: one.percent / 100,
    ),
    ("bytes", "How large it is, about", lambda one: one.bytes),
    ("parts", "Parts it is spread over; merging makes them fewer", lambda one: one.parts),
    ("rows", "Rows of its table when it was last looked at", lambda one: one.row.rows),
    ("rows_per_second", "How fast it is being built", lambda one: one.rate),
)
STATES: tuple[tuple[str, str, list[str], Callable[[IndexStatus], str]], ...] = (
    ("state", "1 for the state it is in", list(IndexState.State.values), lambda one: one.state),
    ("needs", "1 for what it needs", [need.value for need in Need], lambda one: one.needs.value),
)
