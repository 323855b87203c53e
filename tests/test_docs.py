"""Every setting, command and endpoint stands in the docs, and what the docs name exists."""

from __future__ import annotations

import json
import re
from pathlib import Path

from memoryweb.api import api
from tidy.config import Config

ROOT = Path(__file__).resolve().parent.parent
APPS = ("memoryweb", "memories", "search", "tidy")


def headings(page: str) -> set[str]:
    return set(re.findall(r"^## (.+)$", (ROOT / page).read_text(), re.MULTILINE))


def test_every_endpoint_has_a_heading() -> None:
    paths = api.get_openapi_schema(path_prefix="/api/")["paths"]
    known = {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}
    known |= {"GET /health/live", "GET /health/ready", "GET /metrics"}
    described = {heading for heading in headings("docs/API.md") if re.match(r"(GET|POST|PUT|PATCH|DELETE) ", heading)}

    assert described == known


def test_every_command_has_a_heading() -> None:
    commands = {
        file.stem
        for app in APPS
        for file in (ROOT / app / "management/commands").glob("*.py")
        if file.stem != "__init__"
    }

    assert headings("docs/COMMANDS.md") == commands


def test_every_setting_stands_in_the_readme() -> None:
    source = (ROOT / "memoryweb/settings.py").read_text()
    read = set(re.findall(r'read_\w+\(\s*"([A-Z_]+)"', source))
    table = set(re.findall(r"^\| `([A-Z_]+)` \|", (ROOT / "README.md").read_text(), re.MULTILINE))

    assert table == read


def test_every_setting_of_tidying_stands_in_its_page() -> None:
    table = re.findall(r"^\| `(\w+)` \| `([^`]+)` \|", (ROOT / "docs/TIDY.md").read_text(), re.MULTILINE)

    assert {name: json.loads(default) for name, default in table} == Config().model_dump()


def test_links_between_pages_lead_somewhere() -> None:
    for page in [ROOT / "README.md", *ROOT.glob("docs/*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), (page.name, target)


def test_every_page_has_a_heading() -> None:
    source = (ROOT / "memoryweb/urls.py").read_text() + (ROOT / "tidy/urls.py").read_text()
    source += (ROOT / "search/urls.py").read_text()
    first = {f"/{path.split('/')[0]}/" if path else "/" for path in re.findall(r'path\("([^"]*)", \w+\.\w+', source)}
    pages = first - {"/login/", "/logout/", "/api/", "/health/", "/metrics/", "/admin/", "/language/"}
    assert headings("docs/PAGES.md") == pages
