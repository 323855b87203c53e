"""The admin site itself, and what the house knows of its background work. Records are registered by their own apps."""

from __future__ import annotations

from axes import admin as axes_admin
from axes.models import AccessFailureLog
from django.contrib import admin
from django.utils import timezone
from django.utils.timesince import timesince
from django.utils.translation import gettext_lazy as _
from django_q import admin as tasks_admin
from django_q.models import Schedule

from memories.admin.base import ReadOnly
from memories.plain_text import one_line
from memories.wire import to_json
from memoryweb.models import Heartbeat

__all__ = ["axes_admin"]  # imported for what it registers, so that a part can be taken back

# Without it an address without its last slash would be "found" here and answered 404, before the slash can be added.
admin.site.final_catch_all_view = False
admin.site.enable_nav_sidebar = False  # lists of records need the width
admin.site.site_title = "memoryweb"
admin.site.site_header = "memoryweb"
admin.site.index_title = _("Records")

admin.site.unregister(AccessFailureLog)  # nothing is written there: AccessAttempt says what is locked
admin.site.unregister(Schedule)


@admin.register(Schedule)
class ScheduleAdmin(ReadOnly, tasks_admin.ScheduleAdmin):
    """Schedules are made by the house. Written here, one could name any function of the server to be run."""


@admin.register(Heartbeat)
class HeartbeatAdmin(ReadOnly):
    """When each background process last showed that it works."""

    list_display = ("name", "at", "ago", "said")
    fields = list_display
    readonly_fields = list_display

    @admin.display(description=_("ago"))
    def ago(self, heartbeat: Heartbeat) -> str:
        return timesince(heartbeat.at, timezone.now())

    @admin.display(description=_("detail"))
    def said(self, heartbeat: Heartbeat) -> str:
        return one_line(to_json(heartbeat.detail).decode())
