"""What every request passes: ids, slashes, and errors in the API's shape."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from django.test import Client

from memories.models import AuditEntry, Memory, Revision
from tests.conftest import ApiClient
from tests.factories import UserFactory


def error_of(response: Any) -> dict[str, str]:
    assert response["Content-Type"] == "application/json; charset=utf-8"
    body = response.json()
    assert list(body) == ["error"]
    assert body["error"]["message"]
    return dict(body["error"])


# Request ids


def test_every_answer_carries_an_id_of_its_own(client: Client) -> None:
    first, second = client.get("/health/live"), client.get("/nowhere")
    assert len(first["X-Request-Id"]) == len(second["X-Request-Id"]) == 32
    assert first["X-Request-Id"] != second["X-Request-Id"]


def test_a_plain_id_of_the_callers_is_kept_and_stands_in_revision_and_audit(api_client: ApiClient) -> None:
    sent = "trace-4711.a_B"
    response = api_client.send(
        "POST", "/api/memories", {"content": "The spare key hangs in the shed."}, X_Request_Id=sent
    )
    assert response["X-Request-Id"] == sent
    assert Revision.objects.get().request_id == sent
    memory = response.json()["memory"]["id"]
    api_client.send("DELETE", f"/api/memories/{memory}", X_Request_Id="second")
    assert AuditEntry.objects.get(verb="memory.forget").request_id == "second"


@pytest.mark.parametrize("sent", ["", "a" * 65, "two words", "line\nbreak", "ünïcode", "<script>", "a;b"])
def test_any_other_id_is_replaced(client: Client, sent: str) -> None:
    kept = client.get("/health/live", headers={"X-Request-Id": sent})["X-Request-Id"]
    assert kept != sent
    assert len(kept) == 32


def test_a_failure_is_logged_under_the_id_that_the_caller_got(
    api_client: ApiClient, monkeypatch: Any, caplog: Any
) -> None:
    def broken(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError("a secret detail")

    monkeypatch.setattr("memories.revisions.create", broken)
    api_client.raise_request_exception = False
    response = api_client.send("POST", "/api/memories", {"content": "x", "key": "k"}, X_Request_Id="trace-1")
    assert response.status_code == 500
    error = error_of(response)
    assert error["code"] == "internal"
    assert "secret detail" not in response.content.decode()
    assert response["X-Request-Id"] == "trace-1"
    assert "request trace-1 was answered with 500" in caplog.messages
    assert any(record.exc_info and "a secret detail" in str(record.exc_info[1]) for record in caplog.records)


# Slashes


@pytest.mark.parametrize("path", ["/api/memories", "/api/memories/", "/api/memories//"])
def test_the_api_takes_a_post_with_and_without_the_last_slash(api_client: ApiClient, path: str) -> None:
    response = api_client.send("POST", path, {"content": "The bakery closes at six."})
    assert response.status_code == 201
    assert Memory.objects.get().content == "The bakery closes at six."


@pytest.mark.parametrize("path", ["/health/live", "/health/live/", "/api/openapi.json", "/api/docs", "/api/docs/"])
def test_other_addresses_of_programs_work_with_both_spellings(client: Client, db: None, path: str) -> None:
    assert client.get(path).status_code == 200


@pytest.mark.parametrize("path", ["/admin", "/admin/", "/admin/memories/memory", "/admin/memories/memory/"])
def test_pages_are_served_with_both_spellings_and_without_a_redirect(client: Client, db: None, path: str) -> None:
    client.force_login(UserFactory.create(superuser=True))
    assert client.get(path).status_code == 200


@pytest.mark.parametrize("path", ["/admin/login", "/admin/login/"])
def test_a_posted_form_keeps_its_body_with_both_spellings(client: Client, db: None, path: str) -> None:
    UserFactory.create(superuser=True, username="ada")
    response = client.post(path, {"username": "ada", "password": "correct horse battery", "next": "/admin/"})
    assert response.status_code == 302
    assert response["Location"] == "/admin/"


@pytest.mark.parametrize("path", ["/nowhere", "/nowhere/", "/admin/nowhere", "/admin/nowhere/", "/static/none.css"])
def test_an_unknown_page_is_not_found_with_both_spellings(client: Client, db: None, path: str) -> None:
    response = client.get(path)
    assert response.status_code == 404
    assert "html" in response["Content-Type"]


@pytest.mark.parametrize("path", ["//example.com", "//example.com/", "/\\example.com", "/%2F%2Fexample.com"])
def test_no_spelling_leads_to_another_site(client: Client, db: None, path: str) -> None:
    response = client.get("/", PATH_INFO=path)
    assert response.status_code == 404


# The API's errors


@pytest.mark.parametrize("path", ["/api/nowhere", "/api/nowhere/", "/api/memories/1/nowhere", "/health/nowhere"])
def test_an_unknown_address_of_the_api_is_answered_in_json(client: Client, db: None, path: str) -> None:
    response = client.get(path)
    assert response.status_code == 404
    assert error_of(response)["code"] == "not_found"


def test_a_wrong_method_names_the_right_ones(api_client: ApiClient) -> None:
    response = api_client.send("PUT", "/api/memories")
    assert response.status_code == 405
    assert error_of(response)["code"] == "method_not_allowed"
    assert set(response["Allow"].split(", ")) == {"GET", "POST"}


def test_a_host_that_is_not_ours_is_named_as_the_reason(client: Client, db: None) -> None:
    response = client.get("/api/memories", headers={"Host": "elsewhere.example"})
    assert response.status_code == 400
    error = error_of(response)
    assert error["code"] == "unknown_host"
    assert "ALLOWED_HOSTS" in error["message"]


def test_errors_of_pages_stay_pages(client: Client, db: None) -> None:
    assert "html" in client.get("/nowhere")["Content-Type"]


# Bodies


def test_a_body_as_large_as_allowed_is_read(api_client: ApiClient, settings: Any) -> None:
    body = '{"content": "x"'.ljust(settings.DATA_UPLOAD_MAX_MEMORY_SIZE - 1) + "}"
    assert api_client.send("POST", "/api/memories", body).status_code == 201


def test_a_larger_body_is_refused(api_client: ApiClient, settings: Any) -> None:
    body = '{"content": "x"'.ljust(settings.DATA_UPLOAD_MAX_MEMORY_SIZE) + "}"
    response = api_client.send("POST", "/api/memories", body)
    assert response.status_code == 413
    assert error_of(response) == {"code": "too_large", "message": "the body is larger than 1 MiB"}
    assert Memory.objects.count() == 0


@pytest.mark.parametrize("length", ["1048577", "0000000000000000000001048577", "9" * 400])
def test_a_body_is_refused_by_its_length_before_it_is_read(api_client: ApiClient, length: str) -> None:
    class Untouched:
        def read(self, *args: Any) -> bytes:
            raise AssertionError("the body was read")

        readline = read

    response = api_client.generic(
        "POST",
        "/api/memories",
        content_type="application/json",
        **{"CONTENT_LENGTH": length, "wsgi.input": Untouched()},
    )
    assert response.status_code == 413
    assert error_of(response)["code"] == "too_large"


def test_a_body_without_a_length_is_refused(api_client: ApiClient) -> None:
    response = api_client.generic(
        "POST", "/api/memories", content_type="application/json", HTTP_TRANSFER_ENCODING="chunked", CONTENT_LENGTH=""
    )
    assert response.status_code == 411
    assert error_of(response)["code"] == "length_required"


@pytest.mark.parametrize("body", ["{", '{"content": NaN}', "\x00", "null-ish"])
def test_a_body_that_is_no_json_is_malformed(api_client: ApiClient, body: str) -> None:
    response = api_client.send("POST", "/api/memories", body)
    assert response.status_code == 400
    assert error_of(response)["code"] == "malformed"


def test_nothing_is_logged_as_an_error_for_what_callers_did_wrong(api_client: ApiClient, caplog: Any) -> None:
    with caplog.at_level(logging.ERROR):
        api_client.send("POST", "/api/memories", "{")
        api_client.send("GET", "/api/nowhere")
    assert caplog.records == []
