"""A store in a directory of its own for every test, and a token for it."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.stores import NAME, default_store, make_store, make_token


@dataclass(frozen=True)
class Store:
    """A store on the disk that no process has open."""

    data: Path
    token: str

    @property
    def path(self) -> Path:
        return self.data / NAME


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory, django_db_setup: None, django_db_blocker: Any) -> Store:
    data = tmp_path_factory.mktemp("template")
    with django_db_blocker.unblock():
        path = make_store(data)
        with default_store(path):
            _, token = make_token()
    return Store(data, token)


@pytest.fixture
def store(template: Store, tmp_path: Path, django_db_blocker: Any) -> Any:
    data = tmp_path / "data"
    shutil.copytree(template.data, data)
    with django_db_blocker.unblock():
        yield Store(data, template.token)
