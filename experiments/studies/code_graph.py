"""What a function may call, statement by statement: without comments, docstrings and the rest."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("formulations", "solvers", "cuts", "experiments")
OURS = (*ROOMS, "tightmargin")

Name = tuple[str, str | None]  # module, and a name in it: None for all, "" for what always runs

_DEFINITION = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
# Decorators that put a definition nowhere from where a run would take it.
_PLAIN = {
    "dataclass", "cache", "lru_cache", "contextmanager", "overload", "wraps", "total_ordering",
    "reproduction",
}  # fmt: skip


@dataclass(frozen=True)
class Statement:
    """A statement of a module.

    Attributes
    ----------
    text : str
        What it says, without docstrings; the lines on which it stands are no part of it.
    binds, uses : frozenset of str
        Names.
    imports : tuple of (module, name)
    always : bool
        It may do something when the module is imported, whoever uses what it binds.
    """

    text: str
    binds: frozenset[str]
    uses: frozenset[str] = frozenset()
    imports: tuple[Name, ...] = ()
    always: bool = False


def reached(starts: Iterable[Name]) -> dict[str, list[str]]:
    """By module, the statements that may have a part in a result, in their order.

    From a name its definition is reached, from a definition all names in it, from an import what
    it takes; of every module that is imported on the way also what it does on import. A file of
    somebody else is reached as a whole. Packages that are installed are not entered, nor
    formulations, solvers and cuts, which count as a whole.
    """
    waiting, seen = list(starts), set[Name]()
    taken: dict[str, set[int]] = {}
    while waiting:
        module, name = waiting.pop()
        name = name if module.partition(".")[0] in OURS else None
        one = (module, name)
        path = source(module)
        if one in seen or path is None:
            continue
        seen.add(one)
        parts = said_in(module, path)
        if module not in taken:
            taken[module] = set()
            waiting += [(other, "") for part in parts for other, _ in part.imports]
            waiting += [(module.rpartition(".")[0], "")]
        chosen = {
            number
            for number, part in enumerate(parts)
            if part.always or name is None or name in part.binds
        }
        if name and not any(name in part.binds for part in parts):
            inner = source(f"{module}.{name}") is not None
            waiting += [(f"{module}.{name}" if inner else module, None)]
        bound = frozenset[str]().union(*(part.binds for part in parts))
        for number in chosen - taken[module]:
            waiting += [*parts[number].imports]
            waiting += [(module, used) for used in parts[number].uses & bound]
        taken[module] |= chosen
    return {
        module: [said_in(module, path)[number].text for number in sorted(numbers)]
        for module, numbers in sorted(taken.items())
        if numbers and (path := source(module)) is not None
    }


def source(module: str) -> Path | None:
    """File of a module of experiments or of somebody who works with it; None for all others."""
    top = module.partition(".")[0]
    if top in OURS:
        if top in ROOMS[:3]:
            return None
        base = ROOT.joinpath(*module.split("."))
        found = [path for path in (base.with_suffix(".py"), base / "__init__.py") if path.is_file()]
        return found[0] if found else None
    return _of_somebody(module) if top and _of_somebody(top) else None


def _of_somebody(module: str) -> Path | None:
    """File of a module that is not installed."""
    loaded = sys.modules.get(module)
    file = getattr(loaded, "__file__", None)
    if loaded is None:
        try:
            spec = importlib.util.find_spec(module)
        except (ImportError, ValueError):
            return None
        file = spec.origin if spec else None
    if file is None or not file.endswith(".py") or not Path(file).is_file() or installed(file):
        return None
    return Path(file)


def installed(file: str | Path) -> bool:
    """Whether a file is of Python or of an installed package."""
    path = Path(file)
    if {"site-packages", "dist-packages"} & set(path.parts):
        return True
    return any(path.is_relative_to(folder) for folder in _python())


@cache
def _python() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    return tuple(paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib"))


def said_in(module: str, path: Path) -> tuple[Statement, ...]:
    """Statements of a file; read again whenever it is asked for, in case it was edited."""
    return _statements(module, path.name == "__init__.py", path.read_bytes())


def text_digest(path: Path) -> str:
    """Digest of what a whole file says."""
    return _text_digest(path.read_bytes())


@cache
def _text_digest(text: bytes) -> str:
    return hashlib.sha256(ast.dump(_parsed(text)).encode()).hexdigest()


@cache
def _statements(module: str, package: bool, text: bytes) -> tuple[Statement, ...]:
    return tuple(part for node in _parsed(text).body for part in _parts(node, module, package))


def _parsed(text: bytes) -> ast.Module:
    """A file without comments and docstrings."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Module | _DEFINITION)
            and ast.get_docstring(node, False) is not None
        ):
            node.body = node.body[1:]
    return tree


def _parts(node: ast.stmt, module: str, package: bool) -> Iterator[Statement]:
    """A statement of a module, an import as one for each name."""
    binds = frozenset(_bound(node))
    if isinstance(node, ast.Import | ast.ImportFrom):
        for alias, taken in zip(node.names, _imports(node, module, package), strict=True):
            name = alias.asname or alias.name.partition(".")[0]
            text = f"{taken} as {name}"
            yield Statement(text, frozenset({name}), imports=(taken,), always=alias.name == "*")
        return
    text = ast.dump(node)
    if isinstance(node, ast.If) and ast.unparse(node.test) in _NEVER:
        yield Statement(text, binds)
        return
    inner = list(ast.walk(node))
    uses = frozenset(one.id for one in inner if isinstance(one, ast.Name))
    imports = [
        taken
        for one in inner
        if isinstance(one, ast.Import | ast.ImportFrom)
        for taken in _imports(one, module, package)
    ]
    yield Statement(text, binds, uses, tuple(imports), not _waits(node))


_NEVER = ("TYPE_CHECKING", "typing.TYPE_CHECKING", "__name__ == '__main__'")


def _bound(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, _DEFINITION):
        yield node.name
        return
    for one in ast.walk(node):
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
            yield one.id
        elif isinstance(one, _DEFINITION):
            yield one.name
        elif isinstance(one, ast.alias):
            yield one.asname or one.name.partition(".")[0]


def _imports(node: ast.Import | ast.ImportFrom, module: str, package: bool) -> list[Name]:
    """What an import takes: of `import a.b` all of a.b."""
    if isinstance(node, ast.Import):
        return [(alias.name, None) for alias in node.names]
    base = node.module or ""
    if node.level:
        above = module.split(".")
        above = above[: len(above) - node.level + package]
        base = ".".join([*above, *([base] if base else [])])
    return [(base, None if alias.name == "*" else alias.name) for alias in node.names]


def _waits(node: ast.stmt) -> bool:
    """Whether a statement only binds names, so that it matters only to what uses them."""
    if isinstance(node, _DEFINITION):
        return all(_word(decorator) in _PLAIN for decorator in node.decorator_list)
    if isinstance(node, ast.Assign):
        return all(map(_is_name, node.targets))
    return isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)


def _is_name(target: ast.expr) -> bool:
    if isinstance(target, ast.Tuple):
        return all(map(_is_name, target.elts))
    return isinstance(target, ast.Name)


def _word(decorator: ast.expr) -> str:
    """The last word of a decorator: cache of @functools.cache, dataclass of @dataclass(...)."""
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
