"""The docstrings of the project as reStructuredText.

They are written for a terminal: plain text with indented mathematics, in numpydoc sections. Text
becomes paragraphs with nothing in them taken for markup; every paragraph with indentation of its
own, a program or a table, becomes a literal block.
"""

from __future__ import annotations

import re
from typing import Any

_RULE = re.compile(r"-{3,}\s*$")
_WORD = re.compile(r"``[^`]+``|`([^`\n]+)`")
_TYPED = re.compile(r"(?P<names>[\w*]+(, [\w*]+)*)( : (?P<kind>.+))?")
_ITEM = {"Raises": re.compile(r"\w+(, +\w+)*"), "Returns": re.compile(r".+")}
_SPECIAL = re.compile(r"[*|\\]|_(?!\w)|(?<!\w)_")


def escaped(text: str) -> str:
    """Text with `names` in code type and nothing else that reStructuredText would interpret."""
    shown, end = [], 0
    for found in _WORD.finditer(text):
        shown.append(_SPECIAL.sub(r"\\\g<0>", text[end : found.start()]))
        shown.append(found.group(0) if found.group(1) is None else f"``{found.group(1)}``")
        end = found.end()
    return "".join([*shown, _SPECIAL.sub(r"\\\g<0>", text[end:]).replace("`", "\\`")])


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def paragraphs(lines: list[str], base: int) -> list[str]:
    """Lines of text at one level of indentation, with literal blocks where there is more."""
    blocks: list[list[str]] = [[]]
    for line in lines:
        if line.strip():
            blocks[-1].append(line)
        elif blocks[-1]:
            blocks.append([])
    shown: list[str] = []
    space, literal = " " * base, False
    for block in filter(None, blocks):
        if block[0].lstrip().startswith(">>>"):
            shown, literal = [*shown, *block, ""], False
        elif all(_indent(line) <= base for line in block):
            text = "\n".join(line.strip() for line in block)
            shown += [*(space + line for line in escaped(text).split("\n")), ""]
            literal = False
        else:
            if not literal:
                shown += [f"{space}::", ""]
            shown += [*(f"{space}    {line[base:]}" for line in block), ""]
            literal = True
    return shown


def _sections(lines: list[str]) -> list[tuple[str, list[str]]]:
    """Parts of a docstring: the text before the first section, then every section."""
    parts: list[tuple[str, list[str]]] = [("", [])]
    k = 0
    while k < len(lines):
        if k + 1 < len(lines) and _RULE.fullmatch(lines[k + 1]) and not _indent(lines[k]):
            parts.append((lines[k], []))
            k += 2
        else:
            parts[-1][1].append(lines[k])
            k += 1
    return parts


def _head(title: str, line: str) -> str:
    """Head of an item, with its type as words: none of them is the name of a class."""
    found = _TYPED.fullmatch(line)
    if title in _ITEM or found is None or found["kind"] is None:
        return escaped(line)
    kind = _SPECIAL.sub(r"\\\g<0>", found["kind"].replace("`", ""))
    kind = kind if title == "Parameters" else f"*{kind}*"  # napoleon sets those in italics itself
    return f"{escaped(found['names'])} : {kind}"


def _items(title: str, lines: list[str]) -> tuple[list[str], list[str]]:
    """Body of a section, heads at the margin and descriptions below, and text that follows it."""
    shown: list[str] = []
    body: list[str] = []
    pattern = _ITEM.get(title, _TYPED)
    for k, line in enumerate(lines):
        if not line.strip() or _indent(line):
            body.append(line)
        elif not pattern.fullmatch(line):
            return shown + paragraphs(body, 4), lines[k:]
        else:
            shown += [*paragraphs(body, 4), _head(title, line)]
            body = []
    return shown + paragraphs(body, 4), []


def converted(lines: list[str]) -> list[str]:
    """Docstring in numpydoc sections whose texts are reStructuredText.

    Text after the items of a section belongs to no item: it joins the text above the sections.
    """
    (_, text), *sections = _sections(lines)
    shown: list[str] = []
    for title, body in sections:
        if title == "Examples":
            shown += [title, "-" * len(title), *body, ""]
            continue
        items, after = _items(title, body)
        shown += [title, "-" * len(title), *items, ""]
        if after:
            text = [*text, "", *after]
    return [*paragraphs(text, 0), *shown]


def on_docstring(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Sphinx's hook, before napoleon reads the sections."""
    if "." in name or what == "module":
        lines[:] = converted(lines)
