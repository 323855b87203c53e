"""Where the review pages are."""

from django.urls import path

from tidy import views

urlpatterns = [
    path("review/", views.queue, name="review"),
    path("review/bulk/", views.bulk, name="review-bulk"),
    path("review/looking/", views.looking, name="review-looking"),
    path("review/<int:candidate_id>/effect/", views.effect, name="review-effect"),
    path("review/<int:candidate_id>/", views.candidate, name="review-candidate"),
    path("review/<int:candidate_id>/<slug:verb>/", views.decide, name="review-decide"),
    path("review/batches/<int:batch_id>/", views.batch, name="review-batch"),
]
