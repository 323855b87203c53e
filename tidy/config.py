"""What an operator may set of tidying: ``DATA_DIR/config/memory-tidy.json``, read at each round."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from django.conf import settings
from pydantic import BaseModel, ConfigDict, Field, ValidationError

FILE_MAX = 64 * 1024


class Config(BaseModel):
    """The settings and their defaults. Names are those of the file."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    autoApply: bool = True
    autoApplyPerRound: Annotated[int, Field(ge=1, le=500)] = 50
    autoApplyScanLimit: Annotated[int, Field(ge=1, le=100_000)] = 5_000
    roundScanLimit: Annotated[int, Field(ge=1, le=10_000_000)] = 200_000
    candidateLimit: Annotated[int, Field(ge=1, le=100_000)] = 2_000
    decayDays: Annotated[int, Field(ge=1, le=36_500)] = 90
    eventGraceDays: Annotated[int, Field(ge=14, le=36_500)] = 14
    schedule: Literal["hourly", "daily", "off"] = "hourly"


@dataclass(frozen=True, slots=True)
class Read:
    """What was read: the settings in force, and what is wrong with the file if anything is."""

    config: Config
    problem: str | None = None


def path() -> Path:
    """Return where the file is looked for."""
    return Path(settings.DATA_DIR) / "config" / "memory-tidy.json"


def read() -> Read:
    """Return the settings; the defaults where there is no file.

    Of a file that cannot be read or says something that is not allowed nothing is used, and nothing is applied without
    a person until it is mended: whoever wrote it may have wanted just that.
    """
    try:
        data = path().read_bytes()
    except FileNotFoundError:
        return Read(Config())
    except OSError as error:
        return _refused(f"it cannot be read ({error.strerror})")
    if len(data) > FILE_MAX:
        return _refused(f"it is larger than {FILE_MAX} bytes")
    try:
        return Read(Config.model_validate(json.loads(data, object_pairs_hook=_once)))
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"]) or "the whole"
        return _refused(f"{name}: {first['msg']}")
    except (ValueError, RecursionError) as error:
        return _refused(f"it is no JSON object ({error})")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands there twice")
    return found


def _refused(problem: str) -> Read:
    return Read(Config(autoApply=False), problem)
