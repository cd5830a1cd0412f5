"""The documentation site builds without warnings, and what it says of the code is so."""

from __future__ import annotations

import contextlib
import doctest
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import tightmargin as tm
from docs.generate import witnesses
from docs.generate.api import NAMESPACES, TASKS, public_names, task_names
from docs.generate.docstrings import converted, escaped
from docs.generate.entries import NAMES, _program, anchor, paper_section
from docs.generate.expand import expanded
from docs.generate.families import by_family
from docs.generate.witnesses import TRIALS, trial_line
from tests.inside.formulations import formulas, latex, parsed
from tests.inside.solvers import SOLVERS
from tests.support.command_line import run

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.timeout(900)  # the first test waits for the build


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


def build(target: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sphinx", "-E", "-W", "-n", "-q", "-b", "html", "docs"]
    return subprocess.run(
        [*command, str(target)],
        cwd=ROOT,
        env={**os.environ, "MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site: every warning, and every reference to nothing, is an error."""
    target = tmp_path_factory.mktemp("site")
    built = build(target)
    assert built.returncode == 0, built.stderr
    assert built.stderr == ""
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


def inside(pages: dict[str, Page]) -> Iterator[tuple[str, str, str]]:
    """Page, file and target of every link that stays in the site."""
    for name, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if not parts.scheme and not parts.netloc:
                yield name, unquote(parts.path), unquote(parts.fragment)


def test_every_internal_link_leads_somewhere(site: Path, pages: dict[str, Page]) -> None:
    broken, checked = [], 0
    for name, path, fragment in inside(pages):
        to = os.path.normpath(os.path.join(os.path.dirname(name), path)) if path else name
        checked += 1
        if not (site / to).is_file() or (
            fragment and to in pages and fragment not in pages[to].targets
        ):
            broken.append(f"{name} -> {path}#{fragment}")
    assert checked > 1000
    assert broken == []


def test_a_page_needs_no_network(site: Path, pages: dict[str, Page]) -> None:
    """Scripts, styles and pictures stand in the site, MathJax with its fonts among them."""
    for name, page in pages.items():
        remote = [link for link in page.loaded if urlsplit(link).scheme in ("http", "https")]
        assert remote == [], name
    lee = pages["papers/lee.html"]
    (script,) = [link for link in lee.loaded if "mathjax" in link]
    assert (site / "papers" / script.partition("?")[0]).resolve().is_file()
    fonts = site / "_static" / "mathjax" / "output" / "chtml" / "fonts"
    assert list(fonts.rglob("*.woff"))


def test_no_page_names_a_path_of_this_machine(site: Path) -> None:
    for path in [*site.rglob("*.html"), *site.glob("*.js")]:
        if "_static" not in path.parts:
            text = path.read_text(encoding="utf-8")
            assert str(ROOT) not in text, path.name
            assert str(Path.home()) + "/" not in text, path.name


@pytest.mark.parametrize("paper", sorted(NAMES))
def test_a_paper_page_has_formula_source_builder_and_test_of_its_entries(
    paper: str, pages: dict[str, Page], site: Path
) -> None:
    page = pages[f"papers/{paper}.html"]
    html = (site / "papers" / f"{paper}.html").read_text(encoding="utf-8")
    mine = [each for each in formulas().values() if each.paper == paper]
    assert mine
    for formula in mine:
        start = html.index(f'id="{anchor(formula.name)}"')
        part = html[start : html.index("Witness:", start) + 900]
        text = Page(part).text
        assert 'class="math' in part, formula.name
        assert f"· {tm.catalogue[formula.name].source}" in text
        file, line = re.findall(r"(formulations/[\w/]+\.py) , line (\d+)", text)[0]
        assert (
            (ROOT / file).read_text().split("\n")[int(line) - 1].startswith(f"def {formula.name}(")
        )
        line = re.findall(rf"{TRIALS} , line (\d+)", text)[0]
        assert f'Case("{formula.name}"' in (ROOT / TRIALS).read_text().split("\n")[int(line) - 1]
    on_others = [
        name for name, other in pages.items()
        if name.startswith("papers/") and other is not page
        and any(anchor(each.name) in other.targets for each in mine)
    ]  # fmt: skip
    assert on_others == [], "an entry stands on one page"


def test_the_command_line_page_has_every_command_and_option(pages: dict[str, Page]) -> None:
    text = pages["command_line.html"].text
    commands = re.findall(r"^  ([a-z][a-z-]*)  ", run("--help").stdout, flags=re.M)
    assert "solve" in commands
    for command in commands:
        assert f"tightmargin {command} " in text
        for option in set(re.findall(r"--[a-z-]+", run(command, "--help").stdout)) - {"--help"}:
            assert option in text, f"{command} {option}"


def test_the_solvers_page_has_every_solver_and_class(pages: dict[str, Page]) -> None:
    text = pages["solvers.html"].text
    for name, info in SOLVERS.items():
        row = text.partition("because")[2].partition(f" {name} ")[2].partition(info.licence)[0]
        taken = row.partition(";")[0].strip().split(", ")
        assert set(taken) == set(info.classes), name


def test_every_public_name_stands_on_one_page_of_the_reference(pages: dict[str, Page]) -> None:
    named = {name: place for key in TASKS for name in task_names(TASKS[key]) for place in [key]}
    named |= dict.fromkeys(tm.catalogue, "build")
    assert set(named) == set(public_names()), "a new name belongs to a task"
    assert {place for place in NAMESPACES if place} <= set(tm.__all__)
    for name in public_names():
        at = [page for page in pages if f"tightmargin.{name}" in pages[page].targets]
        assert len(at) == 1, name
        assert at[0].startswith("api/")
    index = pages["api/index.html"].links
    assert {f"{key}.html" for key in TASKS} <= set(index)


def test_each_box_of_the_graph_leads_to_its_formula(site: Path) -> None:
    def boxes(page: str) -> list[dict[str, str]]:
        html = (site / page).read_text(encoding="utf-8")
        drawn = re.findall(r'<figure class="graph.*?</figure>', html, flags=re.DOTALL)
        pairs = [re.findall(r'<a href="([^"]+)">\s*<text[^>]*>(\w+)</text>', one) for one in drawn]
        return [{name: link for link, name in found} for found in pairs]

    wide, narrow = boxes("formulations.html")
    assert wide == narrow
    assert set(wide) == set(tm.catalogue)
    for name, link in wide.items():
        assert link == f"papers/{formulas()[name].paper}.html#{anchor(name)}"
    (first,) = boxes("index.html")
    assert {"zero_one_big_m", "conic_sdp", "conic_sdp_dual"} <= set(first)
    assert not {"c_svc", "ramp_big_m"} & set(first)
    assert first.items() <= wide.items()


def test_every_family_of_the_catalogue_has_a_table(pages: dict[str, Page]) -> None:
    grouped = by_family()
    names = [entry.name for group in grouped.values() for entry in group]
    assert sorted(names) == sorted(tm.catalogue)
    text = pages["formulations.html"].text.partition("prints the docstring.")[2]
    for title, group in grouped.items():
        part = text.partition(f"{title} ")[2]
        assert all(entry.name in part for entry in group), title


def test_every_notebook_is_a_page_with_its_title(pages: dict[str, Page]) -> None:
    notebooks = sorted((ROOT / "notebooks").glob("*.ipynb"))
    assert notebooks
    for path in notebooks:
        first = "".join(json.loads(path.read_text())["cells"][0]["source"])
        title = first.partition("\n")[0].removeprefix("# ").replace("`", "")
        assert title.split()[0] in pages[f"notebooks/{path.stem}.html"].text


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
    assert not agree("bound 1.25\n", "value 1.25\n")
    assert not agree("", "more\n")
    assert not agree("one\n", "one\ntwo\n")


def test_a_warning_stops_the_build(tmp_path: Path) -> None:
    """Sphinx's own strictness, on a page of its own with a reference to nothing."""
    (tmp_path / "conf.py").write_text('extensions = ["myst_parser"]\n')
    (tmp_path / "index.md").write_text("# Page\n\n[](nowhere.md) and {py:func}`nothing`\n")
    command = [sys.executable, "-m", "sphinx", "-W", "-n", "-q", str(tmp_path)]
    found = subprocess.run(
        [*command, str(tmp_path / "out")], capture_output=True, text=True, check=False
    )
    assert found.returncode != 0
    assert "nowhere" in found.stderr


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


@pytest.mark.parametrize("text", ["f(x)", "a @ b", "a if b else c", "x.y"])
def test_what_the_language_has_no_word_for_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no word for"):
        latex(text)


def test_a_row_that_cannot_be_read_is_refused() -> None:
    table = {"source": "", "note": "", "rows": ["margin y >= 1"]}
    with pytest.raises(ValueError, match="not a row"):
        parsed("c_svc", "here", table)
    table["rows"] = ["margin (sometimes): y >= 1"]
    with pytest.raises(ValueError, match="unknown mode"):
        parsed("c_svc", "here", table)


def test_a_formula_without_remarks_has_no_column_for_them() -> None:
    drawn = {True: 0, False: 0}
    for formula in formulas().values():
        head, _, *rows = _program(formula).splitlines()
        wide = head == "| | | |"
        assert {row.count(" | ") for row in rows} == {2 if wide else 1}
        if wide:
            assert any(row.rsplit(" | ", 1)[1].strip(" |") for row in rows), formula.name
        drawn[wide] += 1
    assert min(drawn.values()) > 10


def test_a_marker_that_nobody_knows_and_a_paper_without_formulas_are_refused() -> None:
    with pytest.raises(ValueError, match="no generator"):
        expanded("<!-- generated: nothing -->")
    with pytest.raises(KeyError, match="no formulations"):
        paper_section("nobody")


def test_witnesses_are_found_in_the_source_of_the_tests() -> None:
    line = (ROOT / TRIALS).read_text().split("\n")[trial_line("nu_svc") - 1]
    assert line.strip().startswith('Case("nu_svc"')
    here = {
        test.name
        for test in witnesses.tests_naming("c_svc")
        if test.file == "tests/project/test_docs.py"
    }
    assert "test_witnesses_are_found_in_the_source_of_the_tests" in here
    named_in_decorator = {test.name for test in witnesses.tests_naming("pmatrix")}
    assert "test_an_expression_keeps_its_meaning_in_latex" in named_in_decorator
    with pytest.raises(KeyError):
        trial_line("nothing")


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
