"""A generation may be built beside the one that serves; runs tell what was built, when and by whom."""

from django.db import migrations, models
from django.db.models import F, Q


class Migration(migrations.Migration):
    dependencies = [("search", "0001_initial")]

    operations = [
        migrations.AddField("indexstate", "building", models.PositiveIntegerField(blank=True, null=True)),
        migrations.AddField("indexstate", "build_progress", models.BigIntegerField(default=0)),
        migrations.AddField("indexstate", "build_high_water", models.BigIntegerField(default=0)),
        migrations.AddField("indexstate", "paused", models.BooleanField(default=False)),
        migrations.AddConstraint(
            "indexstate",
            models.CheckConstraint(
                condition=Q(build_progress__lte=F("build_high_water")), name="index_build_below_high_water"
            ),
        ),
        migrations.CreateModel(
            "IndexRun",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("corpus", models.CharField(max_length=20)),
                ("kind", models.CharField(max_length=20)),
                ("generation", models.PositiveIntegerField()),
                (
                    "state",
                    models.CharField(
                        choices=[("running", "running"), ("done", "done"), ("cancelled", "cancelled")],
                        default="running",
                        max_length=10,
                    ),
                ),
                ("reason", models.CharField(max_length=500)),
                ("started_by", models.CharField(blank=True, default="", max_length=300)),
                ("started_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
                ("rows", models.BigIntegerField(default=0)),
                ("said", models.CharField(blank=True, default="", max_length=500)),
            ],
            options={
                "ordering": ["-id"],
                "indexes": [models.Index(fields=["corpus", "kind", "state"], name="index_run_running")],
            },
        ),
    ]
