"""How it is kept clean."""

from django.apps import AppConfig


class TidyConfig(AppConfig):
    name = "tidy"
    verbose_name = "Tidy"

    def ready(self) -> None:
        from memories import revisions
        from tidy import checks  # noqa: F401  registers the check of the file of settings
        from tidy.apply import forget_text

        revisions.add_copy(forget_text)
