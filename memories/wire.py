"""JSON as it crosses the wire: what is taken from outside, and how answers are written."""

from __future__ import annotations

import json
import math
from typing import Any

import orjson

from memories.plain_text import clean_text

DEPTH_MAX = 64
INTEGER_MAX = 2**63 - 1


class Malformed(ValueError):
    """Text that is no JSON, or JSON that cannot be kept exactly. The message says what is allowed."""


def parse_json(body: bytes | str) -> Any:
    """Return the JSON value with every text cleaned (NUL removed, lone surrogates as U+FFFD).

    Raises Malformed for NaN and infinities, integers beyond 64 bits and nesting deeper than DEPTH_MAX, which could
    not be given back as they came.
    """
    try:
        value = json.loads(body, parse_constant=_refuse_constant, parse_float=_finite, parse_int=_integer)
        return _cleaned(value, DEPTH_MAX)
    except Malformed:
        raise
    except UnicodeDecodeError:
        raise Malformed("the body is not valid UTF-8") from None
    except RecursionError:
        raise Malformed(f"the JSON is nested deeper than {DEPTH_MAX} levels") from None
    except ValueError as error:
        raise Malformed(f"the body is not valid JSON: {error}") from None


def to_json(value: Any) -> bytes:
    """Return the value as JSON in UTF-8; times end in Z."""
    return orjson.dumps(value, option=orjson.OPT_UTC_Z)


def _refuse_constant(name: str) -> Any:
    raise Malformed(f"{name} is not JSON; numbers must be finite")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise Malformed(f"the number {text[:40]} is too large")
    return number


def _integer(text: str) -> int:
    if len(text) > 20 or not -INTEGER_MAX - 1 <= (number := int(text)) <= INTEGER_MAX:
        raise Malformed(f"the number {text[:40]} does not fit into 64 bits")
    return number


def _cleaned(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list | dict) and not depth:
        raise Malformed(f"the JSON is nested deeper than {DEPTH_MAX} levels")
    if isinstance(value, list):
        return [_cleaned(item, depth - 1) for item in value]
    if isinstance(value, dict):
        return {clean_text(key): _cleaned(item, depth - 1) for key, item in value.items()}
    return value
