"""The notebooks as pages, with the outputs they were saved with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from docs.generate.witnesses import ROOT


def write_pages(folder: Path, pages: Path) -> None:
    """One page a notebook; pages of notebooks that are gone are removed."""
    pages.mkdir(exist_ok=True)
    wanted = {path.stem: page(path) for path in sorted(folder.glob("*.ipynb"))}
    for old in pages.glob("*.md"):
        if old.stem not in wanted:
            old.unlink()
    for name, text in wanted.items():
        target = pages / f"{name}.md"
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            target.write_text(text, encoding="utf-8")


def page(path: Path) -> str:
    """A notebook as Markdown."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    parts = [f"*This page is `notebooks/{path.name}`; run it to change it.*"]
    for cell in cells:
        source = _joined(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
        elif cell["cell_type"] == "code" and source.strip():
            parts.append(f"````python\n{source}\n````")
            parts += [shown for output in cell["outputs"] if (shown := _output(output))]
    if len(parts) > 1 and parts[1].startswith("# "):  # the title opens the page
        title, _, rest = parts[1].partition("\n")
        parts[:2] = [title, parts[0], rest.strip()]
    return "\n\n".join(part for part in parts if part) + "\n"


def _joined(text: str | list[str]) -> str:
    return text if isinstance(text, str) else "".join(text)


def _output(output: dict[str, Any]) -> str:
    """An output in its richest form that a page can hold."""
    if output["output_type"] == "stream":
        return f"````text\n{_joined(output['text']).rstrip()}\n````"
    data = output.get("data", {})
    if "image/png" in data:
        picture = _joined(data["image/png"]).replace("\n", "")
        return f'<img alt="output of the cell above" src="data:image/png;base64,{picture}">'
    if "text/html" in data:
        return _html(_joined(data["text/html"]))
    if "text/plain" in data:
        return f"````text\n{_joined(data['text/plain']).rstrip()}\n````"
    return ""


def _html(text: str) -> str:
    """HTML as one raw block, in which empty lines do not end it; wide tables scroll."""
    return f'```{{raw}} html\n<div class="output">\n{text}\n</div>\n```'


def listing() -> str:
    """Titles of the notebooks as a table of contents."""
    names = [path.stem for path in sorted((ROOT / "notebooks").glob("*.ipynb"))]
    lines = "\n".join(f"notebooks/{name}" for name in names)
    return f"```{{toctree}}\n:maxdepth: 1\n\n{lines}\n```"
