"""The JSON API: one NinjaAPI over the apps' routers, with one shape for every error."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.db.utils import OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, HttpError, ValidationError
from ninja.parser import Parser
from ninja.renderers import BaseRenderer

from memories import api as memories_api
from memories import transcript_api
from memories.errors import Conflict, Forbidden, Invalid, NotFound, Refused, Stale
from memories.wire import Malformed, parse_json, to_json
from memoryweb.auth import TokenAuth, Unavailable
from search import api as search_api
from tidy import api as tidy_api

STATUS: dict[type[Refused], int] = {NotFound: 404, Forbidden: 403, Invalid: 422, Conflict: 409, Stale: 412}


class JsonParser(Parser):
    """Bodies through memories.wire, so that every text in them is valid Unicode."""

    def parse_body(self, request: HttpRequest) -> Any:
        return parse_json(request.body)


class JsonRenderer(BaseRenderer):
    """Answers through orjson."""

    media_type = "application/json"

    def render(self, request: HttpRequest, data: Any, *, response_status: int) -> Any:
        return to_json(data)


api = NinjaAPI(
    title="memoryweb",
    version="1",
    description="Long-term memory for AI agents. Authorization: Bearer TOKEN, or X-API-Key.",
    auth=TokenAuth(),
    parser=JsonParser(),
    renderer=JsonRenderer(),
    urls_namespace="api",
)


def error_response(
    status: int, code: str, message: str, *, field: str | None = None, retry_after: int | None = None
) -> HttpResponse:
    """Return an error in the API's shape."""
    detail = {"code": code, "message": message} | ({"field": field} if field else {})
    response = HttpResponse(to_json({"error": detail}), status=status, content_type="application/json; charset=utf-8")
    if retry_after is not None:
        response["Retry-After"] = str(retry_after)
    if status == 401:
        response["WWW-Authenticate"] = "Bearer"
    return response


@api.exception_handler(Refused)
def on_refused(request: HttpRequest, error: Refused) -> HttpResponse:
    return error_response(STATUS[type(error)], error.code, error.message, field=error.field)


@api.exception_handler(ValidationError)
def on_invalid(request: HttpRequest, error: ValidationError) -> HttpResponse:
    detail = memories_api.first_error(_without_argument_names(error.errors))
    return error_response(422, detail["code"], detail["message"], field=detail["field"])


def _without_argument_names(errors: list[dict[str, Any]]) -> list[dict[str, Any]]:
    # django-ninja puts the name of the view's argument between "body" and the field.
    return [
        error | {"loc": error["loc"][2:] if error["loc"][:1] == ("body",) else error["loc"][1:]} for error in errors
    ]


@api.exception_handler(AuthenticationError)
def on_unauthenticated(request: HttpRequest, error: AuthenticationError) -> HttpResponse:
    return error_response(
        401, "unauthenticated", "send a valid token as Authorization: Bearer TOKEN or X-API-Key: TOKEN"
    )


@api.exception_handler(Unavailable)
def on_unavailable(request: HttpRequest, error: Unavailable) -> HttpResponse:
    return error_response(error.status, error.code, error.message, retry_after=error.retry_after)


@api.exception_handler(RequestDataTooBig)
def on_too_big(request: HttpRequest, error: RequestDataTooBig) -> HttpResponse:
    return error_response(413, "too_large", "the body is larger than 1 MiB")


@api.exception_handler(HttpError)
def on_http_error(request: HttpRequest, error: HttpError) -> HttpResponse:
    cause = error.__cause__
    if isinstance(cause, RequestDataTooBig):
        return on_too_big(request, cause)
    if error.status_code == 400:
        return error_response(
            400, "malformed", str(cause) if isinstance(cause, Malformed) else "the body cannot be read"
        )
    return error_response(error.status_code, "error", str(error))


@api.exception_handler(Http404)
def on_not_found(request: HttpRequest, error: Http404) -> HttpResponse:
    return error_response(404, "not_found", "there is nothing at this address")


@api.exception_handler(OperationalError)
def on_database_error(request: HttpRequest, error: OperationalError) -> HttpResponse:
    text = str(error)
    if "locked" in text:
        return error_response(503, "busy", text, retry_after=1)
    if "disk is full" in text:
        return error_response(507, "disk_full", "the disk is full; nothing was written and the data is intact")
    raise error


def known_query_only(run: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Refuse query parameters that the operation does not declare.

    A misspelt filter would widen the answer in silence.
    """
    operation: Any = run.__self__  # type: ignore[attr-defined]
    models = [model for model in operation.models if model.__ninja_param_source__ == "query"]
    known = {name for model in models for name in model.__ninja_flatten_map__}
    repeatable = {name for model in models for name in getattr(model, "__ninja_collection_fields__", ())}

    @functools.wraps(run)
    def checked(request: HttpRequest, **kwargs: Any) -> HttpResponse:
        for name, values in request.GET.lists():
            if name not in known:
                allowed = ", ".join(sorted(known)) or "none"
                message = f"{name} is not a known query parameter; allowed: {allowed}"
                return error_response(422, "unknown_parameter", message, field=name)
            if len(values) > 1 and name not in repeatable:
                return error_response(422, "invalid", f"{name} may be given once only", field=name)
        return run(request, **kwargs)

    return checked


for router in (memories_api.router, transcript_api.router, search_api.router, tidy_api.router):
    router.add_decorator(known_query_only, mode="view")
    api.add_router("", router)
