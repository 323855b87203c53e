"""The doors: settings, API, commands."""

from django.apps import AppConfig


class MemorywebConfig(AppConfig):
    name = "memoryweb"
    verbose_name = "memoryweb"

    def ready(self) -> None:
        from memoryweb import checks, first_login, schedules  # noqa: F401  they register checks and signal receivers
