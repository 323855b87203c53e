"""Where things are."""

from django.contrib import admin
from django.contrib.auth.views import LoginView, LogoutView
from django.urls import include, path
from django.views.i18n import set_language

from memories.pages import guarded
from memoryweb import health, metrics
from memoryweb.api import api
from memoryweb.pages import audit, browse, dashboard, memory, searching, transcripts

urlpatterns = [
    path("", dashboard.dashboard, name="home"),
    path("memories/", browse.browse, name="memories"),
    path("memories/act/", browse.act_on_many, name="memories-act"),
    path("memories/<int:memory_id>/", memory.memory, name="memory"),
    path("memories/<int:memory_id>/edit/", memory.edit, name="memory-edit"),
    path("memories/<int:memory_id>/<slug:verb>/", memory.act, name="memory-act"),
    path("search/", searching.find, name="search"),
    path("sessions/", transcripts.sessions, name="sessions"),
    path("sessions/<int:session_id>/", transcripts.session, name="session"),
    path("audit/", audit.audit, name="audit"),
    path("language/", guarded(set_language), name="set_language"),
    path("", include("tidy.urls")),
    path("", include("search.urls")),
    path("login/", guarded(LoginView.as_view(redirect_authenticated_user=True)), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("api/", api.urls),
    path("health/live", health.live, name="live"),
    path("health/ready", health.ready, name="ready"),
    path("metrics", metrics.metrics, name="metrics"),
    path("admin/", admin.site.urls),
]
