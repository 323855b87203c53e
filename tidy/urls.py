"""Where the review pages are."""

from django.urls import path

from tidy import views

urlpatterns = [
    path("review/", views.queue, name="review"),
    path("review/<int:candidate_id>/", views.candidate, name="review-candidate"),
    path("review/<int:candidate_id>/<slug:verb>/", views.decide, name="review-decide"),
    path("review/batches/<int:batch_id>/", views.batch, name="review-batch"),
]
