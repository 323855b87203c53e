"""How long searches take, for /metrics."""

from __future__ import annotations

from prometheus_client import Counter, Histogram

SECONDS = Histogram(
    "memoryweb_search_seconds",
    "How long searches took, by corpus and route",
    ["corpus", "route"],
    buckets=(0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5),
)
INCOMPLETE = Counter(
    "memoryweb_search_incomplete", "Searches that could not look at everything in time, and said so", ["corpus"]
)
