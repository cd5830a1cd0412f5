"""The documentation site builds without warnings, and what it says of the code is so."""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import tightmargin as tm
from docs.generate import witnesses
from docs.generate.api import NAMESPACES, TASKS, public_names, task_names
from docs.generate.docstrings import converted, escaped
from docs.generate.entries import _program, paper_section
from docs.generate.expand import expanded
from docs.generate.families import by_family
from docs.generate.witnesses import TABLE, case_line
from tests.inside.formulations import formulas, latex, parsed

ROOT = Path(__file__).resolve().parents[2]
of_the_site = pytest.mark.full("builds the documentation, which `make docs` does as well")


class Page(HTMLParser):
    """Links, targets and text of a built page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.targets: set[str] = set()
        self.loaded: list[str] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        self.targets |= {given[key] or "" for key in ("id", "name") if key in given}
        if tag == "a" and given.get("href"):
            self.links.append(given["href"] or "")
        for key in ("src", "href"):
            if tag in ("script", "img", "link") and given.get(key):
                self.loaded.append(given[key] or "")

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


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


def agree(shown: str, printed: str) -> bool:
    """Words and signs: seconds and last digits are another machine's, and "..." is anything."""
    want, got = (re.sub(r"\d[\d.]*(e-?\d+)?", "#", text) for text in (shown, printed))
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return doctest.OutputChecker().check_output(want, got, flags)


def test_the_tutorial_runs_and_prints_what_it_shows() -> None:
    text = (ROOT / "docs" / "tutorial.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", text, flags=re.S)
    assert len(blocks) == 11
    space: dict[str, object] = {}
    known = dict(tm.catalogue)
    try:
        for code, shown in blocks:
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(code, "tutorial.md", "exec"), space)
            assert agree(shown, printed.getvalue()), code
    finally:
        tm.catalogue.clear()
        tm.catalogue.update(known)
    result, edited = space["result"], space["edited"]
    assert result.certificate.verdict.value == edited.certificate.verdict.value == "CERTIFIED"
    assert (result.certificate.level, edited.certificate.level) == ("paper", "model")
    assert edited.objective > result.objective * (1 + 1e-6), "the row that was added matters"
    excluded = space["excluded"]
    assert excluded.certificate.verdict.value == "CERTIFIED"
    assert excluded.certificate.unproven == ""
    assert excluded.objective >= 36 + 1, "w_0 >= 6 alone costs 36, and a point is given up"
    assert "auto left it to a method" in excluded.message
    assert excluded.certificate.facts["engine"] == "cone-search"
    own, conic, exact = space["mine"].to_frame()["value"]
    assert 0 < own < conic < exact


def test_another_word_or_another_line_of_output_is_found() -> None:
    assert agree("bound 1.25, 3e-7 s\n", "bound 2.5, 0.1 s\n")
    assert agree("at ...\n", "at z[0] = 1\n")
    for shown, printed in (("bound 1.25\n", "value 1.25\n"), ("", "more\n"), ("a\n", "a\nb\n")):
        assert not agree(shown, printed)


# --- what the pages are made of ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("1/2*norm2(w)", r"\tfrac{1}{2}\,\lVert w\rVert^2"),
        ("a - (b - c)", r"a - \left(b - c\right)"),
        ("a*(b + c)", r"a\,\left(b + c\right)"),
        ("(a + b)**2", r"\left(a + b\right)^{2}"),
        ("p[i]**2 <= T[i]*z[i]", r"p_{i}^{2} \le T_{i}\,z_{i}"),
        ("sum(i, xi[i], y[i] == 1)", r"\sum_{i\,:\,y_{i} = 1} \xi_{i}"),
        ("(a*sum(i, x[i]))*b", r"\left(a\,\sum_{i} x_{i}\right)\,b"),
        ("a*sum(i, x[i]) + b", r"a\,\sum_{i} x_{i} + b"),
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


def test_witnesses_are_found_in_the_source_of_the_tests() -> None:
    line = (ROOT / TABLE).read_text().split("\n")[case_line("nu_svc") - 1]
    assert line.strip().startswith('Case("nu_svc"')
    here = {test.name for test in witnesses.tests_naming("pmatrix")}
    assert "test_an_expression_keeps_its_meaning_in_latex" in here, "named in a decorator"
    with pytest.raises(KeyError):
        case_line("nothing")


def test_mathematics_in_a_docstring_stays_as_it_is() -> None:
    text = """Title of |x|.

    min   ||w||^2
    s.t.  row[i]   x_i >= 1

w_ is *free*, see `rows`.

Parameters
----------
a, b : array (n,) or "word"
    What a is.

After the sections: this.

Raises
------
ValueError
    Always."""
    shown = "\n".join(converted(text.splitlines()))
    assert r"Title of \|x\|." in shown
    assert "::\n\n        min   ||w||^2\n        s.t.  row[i]   x_i >= 1" in shown
    assert r"w\_ is \*free\*, see ``rows``." in shown
    assert 'a, b : array (n,) or "word"\n' in shown
    assert shown.index("After the sections: this.") < shown.index("Parameters\n----")
    assert shown.rstrip().endswith("ValueError\n    Always.")
    assert escaped("a | b") == r"a \| b"
