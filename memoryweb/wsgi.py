"""The WSGI application that Granian serves."""

import multiprocessing
import os
import signal

from django.core.wsgi import get_wsgi_application

from memoryweb.supervision import die_with_parent

if granian := multiprocessing.parent_process():
    # Its workers must not serve on when its main process is killed.
    die_with_parent(granian.pid or 0)
    # Until a worker has its own handler it has a copy of the main process's, which swallows the order to stop.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryweb.settings")
application = get_wsgi_application()
