"""Django settings. What a deployment may change comes from environment variables, listed in the README."""

from pathlib import Path
from typing import Any

from memoryweb.databases import databases_from_url
from memoryweb.environment import read_bool, read_directory, read_int, read_list, read_text
from memoryweb.proxies import parse_networks
from memoryweb.secret_key import load_secret_key

BASE_DIR = Path(__file__).resolve().parent.parent

DATA_DIR = read_directory("DATA_DIR", BASE_DIR / "data")

DEBUG = read_bool("DEBUG", False)
SECRET_KEY = read_text("SECRET_KEY", "") or load_secret_key(DATA_DIR / "secret-key")
HOST = read_text("HOST", "127.0.0.1")
PORT = read_int("PORT", 8000, least=1, most=65535)
WEB_WORKERS = read_int("WEB_WORKERS", 2, least=1, most=64)
WEB_THREADS = 8  # per worker: with few threads SQLite writes twice as fast (8 threads 800/s, 60 threads 400/s)
ALLOWED_HOSTS = read_list("ALLOWED_HOSTS", ["localhost", "127.0.0.1", "[::1]", HOST])
TRUSTED_PROXIES = parse_networks(read_list("TRUSTED_PROXIES", []))
SEARCH_SCAN_MS = read_int("SEARCH_SCAN_MS", 500, least=10, most=60_000)
SEARCH_SLOW_MS = read_int("SEARCH_SLOW_MS", 1000, least=0, most=600_000)
SEARCH_LOG_TEXT = read_bool("SEARCH_LOG_TEXT", False)
RATE_LIMIT = read_int("RATE_LIMIT", 600, least=0, most=1_000_000)

DATABASES = databases_from_url(read_text("DATABASE_URL", ""), data_dir=DATA_DIR)
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

INSTALLED_APPS = [
    "memoryweb.apps.MemorywebConfig",
    "tidy.apps.TidyConfig",
    "search.apps.SearchConfig",
    "memories.apps.MemoriesConfig",
    "ninja",
    "django_htmx",
    "template_partials",
    "django_q",
    "axes",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
]

MIDDLEWARE = [
    "memoryweb.metrics.measured",
    "memoryweb.middleware.request_id",
    "memoryweb.middleware.optional_slash",
    "memoryweb.middleware.api_errors",
    "memoryweb.proxies.behind_proxy",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "memoryweb.middleware.Sessions",
    "memoryweb.middleware.Language",
    "memoryweb.middleware.time_zone",
    "django.middleware.common.CommonMiddleware",
    "memoryweb.middleware.Csrf",
    "memoryweb.middleware.Users",
    "memoryweb.middleware.Messages",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "memoryweb.middleware.Htmx",
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "memoryweb.urls"
WSGI_APPLICATION = "memoryweb.wsgi.application"

TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "django.template.context_processors.i18n",
                "memoryweb.context.house",
            ],
        },
    },
]

# Passwords and logins
AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "django.contrib.auth.backends.ModelBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "login"
AXES_HANDLER = "memoryweb.login_limits.LoginLimits"
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"], "ip_address"]  # the pair, then the address over all names
AXES_FAILURE_LIMIT = 5  # of the pair
LOGIN_FAILURES_PER_ADDRESS = 20
AXES_COOLOFF_TIME = 0.25  # hours
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False  # trying on makes neither the wait nor the records longer
AXES_RESET_ON_SUCCESS = True
AXES_CLIENT_IP_CALLABLE = "memoryweb.proxies.client_address"
AXES_LOCKOUT_CALLABLE = "memoryweb.login_limits.locked_out"
AXES_VERBOSE = False
# The log shows addresses, for fail2ban and the like; a name may be a password typed into the wrong field.
AXES_SENSITIVE_PARAMETERS = ["username", "csrfmiddlewaretoken"]

# Requests and answers
DATA_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024  # bytes; a larger body is refused with 413
APPEND_SLASH = False  # memoryweb.middleware.optional_slash serves both spellings without a redirect
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
SESSION_COOKIE_HTTPONLY = True

# Where browsers come over HTTPS alone, which a reverse proxy speaks: nothing of theirs travels in the clear.
HTTPS_ONLY = read_bool("HTTPS_ONLY", False)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = LANGUAGE_COOKIE_SECURE = HTTPS_ONLY
SECURE_SSL_REDIRECT = HTTPS_ONLY
SECURE_REDIRECT_EXEMPT = ["^api/", "^health/", "^metrics"]  # programs beside the proxy; a redirect would lose a body
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if HTTPS_ONLY else 0
SILENCED_SYSTEM_CHECKS = [
    "security.W003",  # memoryweb.middleware.Csrf is Django's CSRF protection, for pages
    "security.W005",  # what other names of the domain do is for their owner to say
    "security.W021",  # so is whether browsers ship with a list that has it
]

# Language and time
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("de", "Deutsch"), ("zh-hans", "简体中文")]
LOCALE_PATHS = [BASE_DIR / "locale"]
LANGUAGE_COOKIE_SAMESITE = "Lax"
LANGUAGE_COOKIE_HTTPONLY = True
USE_I18N = True
FORMAT_MODULE_PATH = ["memoryweb.formats"]
TIME_ZONE = "UTC"
USE_TZ = True

# Static files
STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = DATA_DIR / "static"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}

# Background tasks: one cluster, one worker, tasks of at most 20 s. The order of time-out and retry keeps a task from
# being handed out again while it still runs.
Q_CLUSTER = {
    "name": "memoryweb",
    "orm": "default",
    "workers": 1,
    "timeout": 60,
    "retry": 90,
    "max_attempts": 1,
    "ack_failures": True,
    "catch_up": False,
    "poll": 1,
    "save_limit": 100,
    "label": "Background tasks",
}

LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": "INFO"},
    "loggers": {
        "django.server": {"level": "WARNING"},
        "axes": {"level": "WARNING"},
        "django-q": {"handlers": ["stderr"], "level": "WARNING", "propagate": False},
    },
}
