"""Sphinx configuration: `make docs` builds the site into out/docs."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import tightmargin  # noqa: E402
from docs.generate import api, docstrings, expand, notebooks  # noqa: E402

logging.getLogger("numexpr").setLevel(logging.WARNING)  # pandas loads it, and it says so

project = "tightmargin"
author = "the tightmargin authors"
version = release = tightmargin.__version__
project_copyright = author

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",  # MathJax stands in the built site: formulas need no network
]
exclude_patterns = ["generate", "formulas"]
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 4
suppress_warnings = [
    "myst.header",  # pages that are included start at any level
    "ref.python",  # attributes of one name in several classes; what is missing still warns
]
toctree_object_entries = False  # thousands of names in the navigation of every page

html_theme = "furo"
html_title = "tightmargin"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False

highlight_language = "none"  # programs and tables in docstrings are not Python
autodoc_typehints = "none"  # shapes and meaning stand in the docstrings
autodoc_member_order = "bysource"
autodoc_class_signature = "separated"
autodoc_default_options = {"exclude-members": "__new__, __init__"}
napoleon_google_docstring = False
napoleon_use_param = False  # several names of one description stay together
napoleon_use_rtype = False
napoleon_use_ivar = True
viewcode_line_numbers = True

# Types in docstrings are words for readers ("array (n, d)"), not names of classes.
nitpick_ignore_regex = [("py:class", ".*")]


def setup(app: Any) -> None:
    """Connect what is computed."""
    notebooks.write_pages(ROOT / "notebooks", Path(__file__).parent / "notebooks")
    app.connect("source-read", expand.on_source_read)
    app.connect("doctree-read", api.on_doctree_read, priority=400)
    app.connect("autodoc-process-docstring", docstrings.on_docstring, priority=400)
