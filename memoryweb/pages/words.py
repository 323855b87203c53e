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
