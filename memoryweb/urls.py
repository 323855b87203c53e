"""Where things are."""

from django.contrib import admin
from django.contrib.auth.views import LoginView, LogoutView
from django.urls import include, path
from django.views.generic import RedirectView

from memories.pages import guarded
from memoryweb import health, metrics
from memoryweb.api import api

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="review"), name="home"),
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
