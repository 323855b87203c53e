"""Where the index room is."""

from django.urls import path

from search import views

urlpatterns = [
    path("indexes/", views.room, name="indexes"),
    path("indexes/<int:pk>/<slug:verb>/", views.act, name="index-act"),
]
