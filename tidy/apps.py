"""How it is kept clean."""

from django.apps import AppConfig


class TidyConfig(AppConfig):
    name = "tidy"
    verbose_name = "Tidy"
