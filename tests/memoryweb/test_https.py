"""With HTTPS alone: nothing to complain of, cookies that travel no other way, and programs beside the proxy served."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from memoryweb import settings as ours
from tests.memoryweb.running import manage


@pytest.mark.processes
def test_the_settings_of_a_production_pass_every_check(tmp_path: Path) -> None:
    done = manage("check", "--deploy", "--fail-level", "WARNING", data_dir=tmp_path, HTTPS_ONLY="1", SECRET_KEY="")
    assert done.returncode == 0, done.stderr
    without = manage("check", "--deploy", "--fail-level", "WARNING", data_dir=tmp_path, SECRET_KEY="")
    assert without.returncode == 1
    assert "SESSION_COOKIE_SECURE" in without.stderr


@pytest.mark.django_db
def test_pages_are_led_to_https_and_programs_are_not(settings: Any) -> None:
    settings.SECURE_SSL_REDIRECT = True
    settings.SECURE_HSTS_SECONDS = 3600
    settings.CSRF_COOKIE_SECURE = True
    client = Client()
    assert client.get("/login/")["Location"] == "https://testserver/login/"
    for path in ("/health/live", "/api/memories", "/metrics"):
        assert client.get(path).status_code in (200, 401), path
    answer = client.get("/login/", secure=True)
    assert answer["Strict-Transport-Security"] == "max-age=3600"
    assert answer["X-Frame-Options"] == "DENY"
    assert client.cookies["csrftoken"]["secure"]
    assert ours.SECURE_REDIRECT_EXEMPT == settings.SECURE_REDIRECT_EXEMPT
