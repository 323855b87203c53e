"""Small charts as SVG, drawn here and readable without seeing them: each has a title, and its numbers as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.formats import number_format
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from memories.plain_text import cut

WIDTH = 400
ROW, BAR = 24, 8
LABELS = 176
"""Width of the labels of a bar chart."""
LABEL_CHARS = 27
"""Characters of a label that fit into it; the whole of it is told when pointed at, and in the text."""
HEIGHT = 96
"""Height of a column chart."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: a label, how much of it, and how much of another kind stands behind (0: none)."""

    label: str
    value: int
    other: int = 0


def bars(title: str, found: Sequence[Bar], *, name: str) -> SafeString:
    """Return a chart of horizontal bars with their labels and numbers. ``name`` is unique on the page."""
    most = max((bar.value + bar.other for bar in found), default=0) or 1
    room = WIDTH - LABELS - 56
    rows = []
    for place, bar in enumerate(found):
        length, further = room * bar.value / most, room * bar.other / most
        middle = ROW * place + ROW / 2
        rows.append(
            (
                _at(middle + 4),
                _short(bar.label),
                bar.label,
                _at(LABELS),
                _at(middle - BAR / 2),
                _at(max(length, 1 if bar.value else 0)),
                _at(LABELS + length),
                _at(middle - BAR / 2),
                _at(further),
                _at(LABELS + length + further + 6),
                _at(middle + 4),
                _numbers(bar),
            )
        )
    drawn = format_html_join(
        "",
        '<text class="label" x="0" y="{}">{}<title>{}</title></text>'
        '<rect class="bar" x="{}" y="{}" width="{}" height="8" rx="2"/>'
        '<rect class="other" x="{}" y="{}" width="{}" height="8" rx="2"/>'
        '<text class="value" x="{}" y="{}">{}</text>',
        rows,
    )
    return _svg(title, drawn, height=max(ROW * len(found), ROW), name=name, said=_said(found))


def columns(title: str, found: Sequence[Bar], *, name: str) -> SafeString:
    """Return a chart of columns side by side, as of days, with the first and the last label below."""
    most = max((bar.value for bar in found), default=0) or 1
    step = WIDTH / max(len(found), 1)
    rows = [
        (
            _at(place * step + 1),
            _at(HEIGHT - 20 - (HEIGHT - 36) * bar.value / most),
            _at(max(step - 2, 1)),
            _at((HEIGHT - 36) * bar.value / most),
            f"{bar.label}: {number_format(bar.value, force_grouping=True)}",
        )
        for place, bar in enumerate(found)
    ]
    drawn = format_html_join(
        "", '<rect class="bar" x="{}" y="{}" width="{}" height="{}"><title>{}</title></rect>', rows
    )
    ends = format_html(
        '<text class="label" x="0" y="{}">{}</text><text class="label end" x="{}" y="{}">{}</text>'
        '<text class="value" x="0" y="10">{}</text>',
        HEIGHT - 4,
        found[0].label if found else "",
        WIDTH,
        HEIGHT - 4,
        found[-1].label if found else "",
        number_format(most if found else 0, force_grouping=True),
    )
    return _svg(title, format_html("{}{}", drawn, ends), height=HEIGHT, name=name, said=_said(found))


def _svg(title: str, drawn: SafeString, *, height: int, name: str, said: str) -> SafeString:
    return format_html(
        '<svg class="chart" viewBox="0 0 {} {}" role="img" aria-labelledby="{}-title {}-said">'
        '<title id="{}-title">{}</title><desc id="{}-said">{}</desc>{}</svg>',
        WIDTH,
        height,
        *([name] * 3),
        title,
        name,
        said,
        drawn,
    )


def _short(label: str) -> str:
    return label if len(label) <= LABEL_CHARS else f"{cut(label, LABEL_CHARS - 1)}…"


def _said(found: Sequence[Bar]) -> str:
    return "; ".join(f"{bar.label}: {_numbers(bar)}" for bar in found)


def _numbers(bar: Bar) -> str:
    value = number_format(bar.value, force_grouping=True)
    return f"{value} / {number_format(bar.other, force_grouping=True)}" if bar.other else value


def _at(place: float) -> str:
    """Return a coordinate: with a point in every language."""
    return f"{place:.1f}"
