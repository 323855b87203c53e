"""Where things are."""

from django.contrib import admin
from django.urls import path

from memoryweb import health
from memoryweb.api import api

urlpatterns = [
    path("api/", api.urls),
    path("health/live", health.live, name="live"),
    path("health/ready", health.ready, name="ready"),
    path("admin/", admin.site.urls),
]
