"""Settings of the test run: a data directory of its own, quick passwords, no rate limit."""

import os
import tempfile

os.environ.setdefault("DATA_DIR", tempfile.mkdtemp(prefix="memoryweb-tests-"))
os.environ.setdefault("SECRET_KEY", "only-for-tests-" + "x" * 40)
os.environ.setdefault("RATE_LIMIT", "0")
# A busy machine must not make a scan incomplete; what becomes of one that ran out of time has tests of its own.
os.environ.setdefault("SEARCH_SCAN_MS", "60000")

from memoryweb.settings import *  # noqa: F403

STATIC_ROOT.mkdir(exist_ok=True)  # noqa: F405
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
