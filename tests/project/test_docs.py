"""The documentation site builds without warnings, and what it says of the code is so."""

from __future__ import annotations

import os
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import tightmargin as tm
from docs.generate import witnesses
from docs.generate.api import NAMESPACES, TASKS, public_names, task_names
from docs.generate.entries import _program, paper_section
from docs.generate.expand import expanded
from docs.generate.families import by_family
from docs.generate.witnesses import TABLE, case_line
from tests.inside.formulations import formulas, latex, parsed

ROOT = Path(__file__).resolve().parents[2]
of_the_site = pytest.mark.full("builds the documentation, which `make docs` does as well")


class Page(HTMLParser):
    """Links and targets of a built page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.targets: set[str] = set()
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        self.targets |= {given[key] or "" for key in ("id", "name") if key in given}
        if tag == "a" and given.get("href"):
            self.links.append(given["href"] or "")
        for key in ("src", "href"):
            if tag in ("script", "img", "link") and given.get(key):
                self.loaded.append(given[key] or "")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site: every warning, and every reference to nothing, is an error."""
    target = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-E", "-W", "-n", "-q", "-b", "html", "docs"]
    built = subprocess.run(
        [*command, str(target)], cwd=ROOT, env={**os.environ, "MPLBACKEND": "Agg"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (built.returncode, built.stderr) == (0, "")
    return target


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, Page]:
    found = {
        path.relative_to(site).as_posix(): Page(path.read_text(encoding="utf-8"))
        for path in site.rglob("*.html")
        if "_static" not in path.parts
    }
    assert len(found) > 30
    return found


@of_the_site
@pytest.mark.timeout(900)
def test_every_link_leads_somewhere_and_no_page_needs_the_network_or_this_machine(
    site: Path, pages: dict[str, Page]
) -> None:
    broken, checked = [], 0
    for name, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            path, fragment = unquote(parts.path), unquote(parts.fragment)
            to = os.path.normpath(os.path.join(os.path.dirname(name), path)) if path else name
            checked += 1
            lost = fragment and to in pages and fragment not in pages[to].targets
            if not (site / to).is_file() or lost:
                broken.append(f"{name} -> {path}#{fragment}")
        remote = [link for link in page.loaded if urlsplit(link).scheme in ("http", "https")]
        assert remote == [], name
    assert checked > 1000
    assert broken == []
    (script,) = [link for link in pages["papers/lee.html"].loaded if "mathjax" in link]
    assert (site / "papers" / script.partition("?")[0]).resolve().is_file()
    fonts = site / "_static" / "mathjax" / "output" / "chtml" / "fonts"
    assert list(fonts.rglob("*.woff"))
    for path in [*site.rglob("*.html"), *site.glob("*.js")]:
        if "_static" not in path.parts:
            text = path.read_text(encoding="utf-8")
            assert str(ROOT) not in text, path.name
            assert str(Path.home()) + "/" not in text, path.name


def test_every_public_name_and_every_entry_belongs_to_one_task_or_family() -> None:
    named = {name: place for key in TASKS for name in task_names(TASKS[key]) for place in [key]}
    named |= dict.fromkeys(tm.catalogue, "build")
    assert set(named) == set(public_names()), "a new name belongs to a task"
    assert {place for place in NAMESPACES if place} <= set(tm.__all__)
    grouped = [entry.name for group in by_family().values() for entry in group]
    assert sorted(grouped) == sorted(tm.catalogue)


@of_the_site
def test_every_public_name_stands_on_one_page_of_the_reference(pages: dict[str, Page]) -> None:
    for name in public_names():
        at = [page for page in pages if f"tightmargin.{name}" in pages[page].targets]
        assert len(at) == 1, name
        assert at[0].startswith("api/")
    assert {f"{key}.html" for key in TASKS} <= set(pages["api/index.html"].links)


# --- what the pages are made of ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("1/2*norm2(w)", r"\tfrac{1}{2}\,\lVert w\rVert^2"),
        ("a - (b - c)", r"a - \left(b - c\right)"),
        ("(a + b)**2", r"\left(a + b\right)^{2}"),
        ("p[i]**2 <= T[i]*z[i]", r"p_{i}^{2} \le T_{i}\,z_{i}"),
        ("sum(i, xi[i], y[i] == 1)", r"\sum_{i\,:\,y_{i} = 1} \xi_{i}"),
        ("(a*sum(i, x[i]))*b", r"\left(a\,\sum_{i} x_{i}\right)\,b"),
        ("-nu*rho + c", r"-\nu\,\rho + c"),
        ("sum(i, c[i])/(1 - d)", r"\frac{\sum_{i} c_{i}}{1 - d}"),
        ("psd([[W, v], [t(v), 1]])", r"\begin{pmatrix} W & v\\ v^\top & 1\end{pmatrix} \succeq 0"),
    ],
)
def test_an_expression_keeps_its_meaning_in_latex(text: str, shown: str) -> None:
    assert latex(text) == shown


def test_what_cannot_be_read_is_refused() -> None:
    table = {"source": "", "note": "", "rows": ["margin y >= 1"]}
    with pytest.raises(ValueError, match="not a row"):
        parsed("c_svc", "here", table)
    with pytest.raises(ValueError, match="unknown mode"):
        parsed("c_svc", "here", table | {"rows": ["margin (sometimes): y >= 1"]})
    for text in ("f(x)", "a @ b", "a if b else c", "x.y"):
        with pytest.raises(ValueError, match="no word for"):
            latex(text)
    with pytest.raises(ValueError, match="no generator"):
        expanded("<!-- generated: nothing -->")
    with pytest.raises(KeyError, match="no formulations"):
        paper_section("nobody")


def test_a_formula_without_remarks_has_no_column_for_them() -> None:
    for formula in formulas().values():
        head, _, *rows = _program(formula).splitlines()
        wide = head == "| | | |"
        assert {row.count(" | ") for row in rows} == {2 if wide else 1}


def test_the_case_of_an_entry_is_found_in_the_source_of_the_tests() -> None:
    line = (ROOT / TABLE).read_text().split("\n")[case_line("nu_svc") - 1]
    assert line.strip().startswith('Case("nu_svc"')
    assert "test_an_expression_keeps_its_meaning_in_latex" in {
        test.name for test in witnesses.tests_naming("pmatrix")
    }
