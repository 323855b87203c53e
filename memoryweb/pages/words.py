"""What fields and verbs are called on pages."""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from memories.models import Scope, Source, Status
from tidy.shown import KINDS

FIELDS: dict[str, Promise] = {
    "content": _("text"),
    "subject": _("subject"),
    "key": _("key"),
    "kind": _("kind"),
    "tags": _("tags"),
    "importance": _("importance"),
    "scope": _("seen by"),
    "source": _("source"),
    "status": _("status"),
    "pinned": _("pinned"),
    "expires_at": _("expires"),
    "metadata": _("metadata"),
    "merged_into_id": _("merged into"),
    "merged_at": _("merged at"),
    "archived_at": _("archived at"),
    "archive_reason": _("why it was archived"),
    "kept_beside_id": _("kept beside"),
    "message_id": _("taken from message"),
}
STATUSES: dict[str, Promise] = {
    Status.ACTIVE.value: _("active"),
    Status.MERGED.value: _("merged"),
    Status.ARCHIVED.value: _("archived"),
    Status.ERASED.value: _("erased"),
}
SCOPES: dict[str, Promise] = {
    Scope.AGENT.value: _("its agent alone"),
    Scope.SHARED.value: _("everybody in the workspace"),
}
SOURCES: dict[str, Promise] = {
    Source.OWNER.value: _("owner"),
    Source.AGENT.value: _("agent"),
    Source.TOOL.value: _("tool"),
    Source.IMPORT.value: _("import"),
    Source.GROUP_CHAT.value: _("group chat"),
    Source.STRANGER.value: _("stranger"),
    Source.WEB.value: _("web"),
}
VERBS: dict[str, Promise] = {
    "remember": _("remembered"),
    "revise": _("changed"),
    "forget": _("archived"),
    "restore": _("restored"),
    "erase": _("erased"),
    "import": _("imported"),
    "tidy.merge": _("merged by tidying"),
    "tidy.archive": _("archived by tidying"),
    "tidy.reclassify": _("kind changed by tidying"),
    "tidy.revert": _("tidying taken back"),
}
"""What a revision says was done."""
VALUES: dict[str, dict[str, Promise]] = {
    "kind": {str(kind.value): word for kind, word in KINDS.items()},
    "scope": SCOPES,
    "source": SOURCES,
    "status": STATUSES,
}
"""Values of fields that have a word of their own."""
ROLES: dict[str, Promise] = {
    "user": _("user"),
    "assistant": _("assistant"),
    "system": _("system"),
    "tool": _("tool"),
}


def in_words(names: dict[str, Promise], value: str) -> str:
    """Return the word for a value, or the value itself where there is none."""
    return str(names.get(value, value))


WHYS: dict[str, Promise] = {
    "symbols are read from the text: the index has words alone": _(
        "symbols are read from the text: the index has words alone"
    ),
    "the words index cannot serve": _("the words index cannot serve"),
    "whole words, phrases and prefixes from the words index": _(
        "whole words, phrases and prefixes from the words index"
    ),
    "CJK characters are found inside other text by the words index": _(
        "CJK characters are found inside other text by the words index"
    ),
    "symbols are read": _("symbols are read"),
    "then the same text inside other words, where the page has room": _(
        "then the same text inside other words, where the page has room"
    ),
    "the same text inside other words only where no word is found: a phrase is asked for": _(
        "the same text inside other words only where no word is found: a phrase is asked for"
    ),
    "the same text inside other words only where no word is found: a term is shorter than four characters": _(
        "the same text inside other words only where no word is found: a term is shorter than four characters"
    ),
    "read from the text: a term is shorter than three characters": _(
        "read from the text: a term is shorter than three characters"
    ),
    "read from the text: there are few rows": _("read from the text: there are few rows"),
    "the trigram index cannot serve": _("the trigram index cannot serve"),
    "tool output is read from the text": _("tool output is read from the text"),
    "tool output only where nothing else is found": _("tool output only where nothing else is found"),
    "too_many_terms": _("only the first terms were looked for: there are too many"),
    "too_deep": _("parentheses inside each other beyond some levels were left out"),
    "no_terms": _("there is nothing in it to look for"),
    "only_negations": _("it only says what to leave out"),
    "negation_dropped": _("a negation that stood alone was left out"),
    "query_truncated": _("only its beginning was read: it is too long"),
    "mode=words was asked for": _("whole words were asked for"),
    "mode=substring was asked for": _("parts of words were asked for"),
    "mode=scan was asked for": _("reading every text was asked for"),
}
"""What a search says of its way, by what programs are told."""


def reason_in_words(reason: str) -> str:
    """Return a search's reason in the reader's language."""
    return "; ".join(in_words(WHYS, part) for part in reason.split("; ") if part)
