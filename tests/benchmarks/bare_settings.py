"""memoryweb's settings without middleware, with the bare views: what Django and Granian can do at best."""

from memoryweb.settings import *  # noqa: F403

MIDDLEWARE: list[str] = []
ROOT_URLCONF = "tests.benchmarks.bare"
