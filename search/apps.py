"""How it is found."""

from django.apps import AppConfig


class SearchConfig(AppConfig):
    name = "search"
    verbose_name = "Search"

    def ready(self) -> None:
        from search import signals  # noqa: F401  registers functions on connections, and keeps the indexes after migrations
