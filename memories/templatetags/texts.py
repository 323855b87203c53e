"""How text that somebody else wrote is shown: nothing in it acts, and nothing in it hides."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlencode

from django import template
from django.http import QueryDict
from django.utils.formats import number_format
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext

from memories.plain_text import lookalikes, one_line, visible

register = template.Library()


@register.filter
def shown(text: object) -> SafeString:
    """Return a text of several lines with hidden characters as escapes and look-alike ones marked."""
    return _marked(visible(str(text)))


@register.filter
def shown_line(text: object) -> SafeString:
    """Return the same on one line."""
    return _marked(one_line(str(text)))


@register.filter
def with_lookalikes(text: str) -> SafeString:
    """Return a text in which nothing hides any more, its look-alike characters marked."""
    return _marked(text)


def _marked(text: str) -> SafeString:
    pieces, done = [], 0
    for place, name in lookalikes(text):
        title = gettext("looks like another letter: %(name)s") % {"name": name.lower()}
        pieces += [
            escape(text[done:place]),
            format_html('<span class="odd" title="{}">{}</span>', title, text[place]),
        ]
        done = place + 1
    # Every piece was escaped.
    return mark_safe("".join([*pieces, escape(text[done:])]))  # noqa: S308


@register.filter
def found(snippet: str) -> SafeString:
    """Return a snippet on one line with what was sought marked.

    It stands between the control characters 2 and 3. A text's own would be taken for them, and no more than marked.
    """
    pieces = []
    for part in _SOUGHT.split(snippet):
        is_hit = part.startswith("\x02")
        marked = _marked(one_line(part.strip("\x02\x03") if is_hit else part))
        pieces.append(format_html("<mark>{}</mark>", marked) if is_hit else marked)
    return mark_safe("".join(pieces))  # noqa: S308  every piece was escaped


_SOUGHT = re.compile("(\x02[^\x02\x03]*\x03)")


@register.filter
def number(value: Any) -> str:
    """Return a number as the reader's language groups its digits."""
    return "" if value is None else number_format(value, force_grouping=True)


@register.simple_tag(takes_context=True)
def query(context: dict[str, Any], **changes: Any) -> str:
    """Return the address's query with these changes: None takes a name out."""
    asked: QueryDict = context["request"].GET.copy()
    for name, value in changes.items():
        if value is None:
            asked.pop(name, None)
        else:
            asked[name] = str(value)
    return urlencode(list(asked.lists()), doseq=True)
