"""System checks of tidying."""

from __future__ import annotations

from typing import Any

from django.core.checks import CheckMessage, Error, register

from tidy import config


@register()
def config_is_allowed(**kwargs: Any) -> list[CheckMessage]:
    """tidy.E001: the file of settings says something that is not allowed."""
    problem = config.read().problem
    if problem is None:
        return []
    return [
        Error(
            f"{config.path()} is not used: {problem}.",
            hint="Until it is mended nothing is applied without a person. docs/TIDY.md lists what is allowed.",
            id="tidy.E001",
        )
    ]
