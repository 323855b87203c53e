"""The WSGI application of the bare views."""

import os

from django.core.wsgi import get_wsgi_application

os.environ["DJANGO_SETTINGS_MODULE"] = "tests.benchmarks.bare_settings"
application = get_wsgi_application()
