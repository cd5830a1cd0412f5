"""Saved results: the same numbers again, or one clear refusal; never half a file, never code."""

from __future__ import annotations

import functools
import hashlib
import io
import json
import pickle
import zipfile
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.inside.solvers import INLINE_LIMIT
from tests.references.reference_solutions import points
from tightmargin.formulations import c_svc
from tightmargin.solvers import Certificate, SolveResult, Status, Verdict, solve

REFUSED = r"r\.json is not a readable result"


@functools.cache
def sample() -> SolveResult:
    """A real result, small enough to be cut at every byte."""
    found = solve(c_svc(points("overlapping", 0, n=6), C=0.7))
    return replace(found, seconds=0.25)


def large() -> SolveResult:
    """A result with arrays beyond what stays in the JSON file."""
    rng = np.random.default_rng(0)
    values = {"w": rng.standard_normal(3), "xi": rng.standard_normal(INLINE_LIMIT + 1)}
    duals = {"outer": rng.standard_normal((40, 40)), "row": rng.standard_normal(INLINE_LIMIT)}
    return replace(sample(), values=values, duals=duals)


def assert_same(a: SolveResult, b: SolveResult) -> None:
    """Bit for bit, arrays with their shapes, every field but what only the solve keeps."""
    for field in fields(SolveResult):
        if field.name[0] == "_":
            continue
        mine, theirs = getattr(a, field.name), getattr(b, field.name)
        if field.name in ("values", "duals"):
            mine, theirs = ({k: (v.shape, v.tolist()) for k, v in part.items()}
                            for part in (mine, theirs))  # fmt: skip
        assert mine == theirs, field.name


def test_every_field_survives_in_plain_json(tmp_path: Path) -> None:
    facts = {"ü\u2028\x7f": -(2**40), "": 5e-324, "flag": True, "words": 'a "\\\n'}
    arrays = {"u[0]": np.zeros((1, 2)), "b": np.array(-0.0), "T": np.ones((2, 1, 3)) / 3}
    certificate = Certificate(
        verdict=Verdict.WITHIN_TOLERANCE, reason="\u00e9", level="model", primal_residual=None,
        dual_residual=1e-300, complementarity=None, gap=0.1, bound=-1.7e308, bound_method="m",
        solver_bound=0.3, unproven="p", facts=facts,
    )  # fmt: skip
    odd = replace(
        sample(), status=Status.FEASIBLE, objective=None, bound=None, values=arrays, duals={},
        certificate=certificate, options=facts, message="\ud7ff", seed=None, threads=64,
        time_limit=None, normalisation=facts,
    )  # fmt: skip
    for result in (odd, sample()):
        path = result.save(tmp_path / "r.json")
        assert_same(SolveResult.load(path), result)
    document = json.loads(path.read_text(encoding="utf-8"), parse_constant=pytest.fail)
    assert [*document.items()][:2] == [("schema", "tightmargin/1"), ("command", "solve")]
    assert len(document["values"]["w"]) == 2
    assert not list(tmp_path.glob("*.npz"))
    # Infinities and missing numbers are null.
    odd = replace(odd, bound=-np.inf, objective=np.nan, values={"w": np.array([1, np.nan, np.inf])})
    document = json.loads(odd.save(path).read_text(encoding="utf-8"), parse_constant=pytest.fail)
    assert (document["bound"], document["objective"]) == (None, None)
    assert document["values"]["w"] == [1.0, None, None]
    np.testing.assert_array_equal(SolveResult.load(path).values["w"], [1.0, np.nan, np.nan])


def test_large_arrays_travel_beside_the_file_with_a_checksum(tmp_path: Path) -> None:
    result = large()
    path = result.save(tmp_path / "r.json")
    document = json.loads(path.read_text(encoding="utf-8"))
    assert document["values"]["xi"] == {"npz": "values/xi"}
    assert document["duals"]["outer"] == {"npz": "duals/outer"}
    assert isinstance(document["values"]["w"], list)
    assert len(document["duals"]["row"]) == INLINE_LIMIT
    companion = tmp_path / document["arrays"]["file"]
    assert companion.name == "r.npz"
    with zipfile.ZipFile(companion) as archive:
        for name in archive.namelist():
            assert b"'descr': '<f8'" in archive.read(name)[:128], "numbers only"
    assert_same(SolveResult.load(path), result)
    try:  # saved as r.npz it must not write its JSON over its own arrays
        assert_same(SolveResult.load(result.save(tmp_path / "own.npz")), result)
    except ValueError:
        assert not (tmp_path / "own.npz").exists()
    elsewhere = tmp_path / "elsewhere"  # the pair may move together
    elsewhere.mkdir()
    for file in (path, companion):
        file.rename(elsewhere / file.name)
    assert_same(SolveResult.load(elsewhere / "r.json"), result)
    other = replace(result, values={"xi": np.ones(INLINE_LIMIT + 5)}, duals={})
    assert_same(SolveResult.load(other.save(elsewhere / "r.json")), other)


def resealed(path: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Change a file and make its checksum agree."""
    document = json.loads(path.read_text(encoding="utf-8"))
    del document["sha256"]
    change(document)
    text = json.dumps(document, sort_keys=True, allow_nan=False)
    document["sha256"] = hashlib.sha256(text.encode()).hexdigest()
    path.write_text(json.dumps(document), encoding="utf-8")


def forged(path: Path, companion: bytes) -> None:
    """Put a companion beside a file and make every checksum agree with it."""
    path.with_suffix(".npz").write_bytes(companion)
    digest = hashlib.sha256(companion).hexdigest()
    resealed(path, lambda document: document["arrays"].update(sha256=digest))


class Payload:
    """Unpickled, it leaves a mark."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.mark,)


def as_npz(**members: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.savez(out, **members)
    return out.getvalue()


def test_another_companion_is_refused_and_runs_nothing(tmp_path: Path) -> None:
    """Checksums keep accidents out, not people: behind matching ones there may be anything."""
    path = large().save(tmp_path / "r.json")
    companion, mark = tmp_path / "r.npz", tmp_path / "mark"
    content = companion.read_bytes()
    middle = len(content) // 2
    flipped = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
    outer, payload = np.zeros((40, 40)), np.empty(1, dtype=object)
    payload[0] = Payload(mark)
    good = as_npz(**{"values/xi": np.zeros(INLINE_LIMIT + 1), "duals/outer": outer})
    for other in (flipped, content[:-1], b"", good):
        companion.write_bytes(other)
        with pytest.raises(ValueError, match=REFUSED):
            SolveResult.load(path)
    companion.unlink()
    with pytest.raises(ValueError, match=REFUSED):
        SolveResult.load(path)
    forged(path, good)
    assert SolveResult.load(path).values["xi"].shape == (INLINE_LIMIT + 1,)
    for other in (
        as_npz(**{"values/xi": payload, "duals/outer": outer}),
        pickle.dumps(Payload(mark)),
        good[: len(good) // 2],
        as_npz(**{"values/xi": np.zeros(INLINE_LIMIT + 1)}),
    ):
        forged(path, other)
        with pytest.raises(ValueError, match=REFUSED):
            SolveResult.load(path)
    assert not mark.exists()


def test_an_altered_number_is_refused(tmp_path: Path) -> None:
    path = sample().save(tmp_path / "r.json")
    for key in ("objective", "bound", "seconds"):
        document = json.loads(path.read_text(encoding="utf-8"))
        document[key] *= 1 + 1e-15
        (tmp_path / "other.json").write_text(json.dumps(document), encoding="utf-8")
        with pytest.raises(ValueError, match="the checksum does not match: the file was altered"):
            SolveResult.load(tmp_path / "other.json")


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    for content in (
        b"", b"null", b"[]", b"3", b"{}", b'{"sha256": 1}', b"[" * 100_000, b"\xed\xa0\x80",
    ):  # fmt: skip
        path.write_bytes(content)
        with pytest.raises(ValueError, match=REFUSED):
            SolveResult.load(path)
    for missing in (tmp_path / "absent.json", tmp_path):
        with pytest.raises(ValueError, match="is not a readable result"):
            SolveResult.load(missing)
    path.write_text(json.dumps({"command": "path", "formulation": "weighted_svc", "rows": []}))
    with pytest.raises(ValueError, match="it holds the rows of a path"):
        SolveResult.load(path)
    with pytest.raises(FileNotFoundError, match=r"r\.json: there is no folder .*nowhere"):
        sample().save(tmp_path / "nowhere" / "r.json")


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda d: d.update(schema="tightmargin/99"), "schema 'tightmargin/99', expected"),
        (lambda d: d.update(status="splendid"), "'splendid' is not a valid Status"),
        (lambda d: d["certificate"].update(verdict="TRUE"), "'TRUE' is not a valid Verdict"),
        (lambda d: d["certificate"].update(extra=1), "extra"),
        (lambda d: d.pop("duals"), "duals"),
        (lambda d: d["values"].update(w="text"), "could not convert"),
        (lambda d: d["values"].update(w=[[1.0], [1.0, 2.0]]), "inhomogeneous"),
        (lambda d: d["values"].update(w={"npz": "values/w"}), "values/w"),
        (lambda d: d.update(solver=None), "its solver is None, and no dict"),
        (lambda d: d.update(bound="1"), "its bound is 1, and no int or float or null"),
        (lambda d: d["certificate"].update(gap=True), "its certificate.gap is True, and no int"),
        (lambda d: d.update(interval=[0.0, 0.0]), r"contradicts itself: its interval is \[0.0, 0."),
        (lambda d: d.update(relative_gap=0.5), "contradicts itself: its relative_gap is 0.5"),
        (lambda d: d.update(command="compare"), "it is what `tightmargin compare` wrote"),
    ],
)
def test_a_sealed_file_that_makes_no_sense_is_refused(
    tmp_path: Path, change: Callable[[dict[str, Any]], Any], complaint: str
) -> None:
    path = sample().save(tmp_path / "r.json")
    resealed(path, change)
    with pytest.raises(ValueError, match=complaint):
        SolveResult.load(path)


def test_a_file_cannot_reach_outside_its_folder(tmp_path: Path) -> None:
    secret = as_npz(**{"values/xi": np.full(3, 42.0)})
    (tmp_path / "secret.npz").write_bytes(secret)
    (tmp_path / "inside").mkdir()
    path = sample().save(tmp_path / "inside" / "r.json")
    outside = {"file": "../secret.npz", "sha256": hashlib.sha256(secret).hexdigest()}
    resealed(path, lambda d: d.update(arrays=outside, values={"xi": {"npz": "values/xi"}}))
    with pytest.raises(ValueError, match="is not a readable result"):
        SolveResult.load(path)


@pytest.mark.parametrize(
    ("place", "error"),
    [("result.np.savez", OSError), ("plain_json.os.replace", KeyboardInterrupt)],
)
def test_a_failed_save_leaves_the_old_file_and_no_other(
    place: str, error: type[BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = sample().save(tmp_path / "r.json")
    before = path.read_bytes()

    def fail(*_: Any, **__: Any) -> None:
        raise error("no space left")

    with monkeypatch.context() as patch:
        patch.setattr(f"tightmargin.solvers.{place}", fail)
        with pytest.raises(error):
            large().save(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["r.json"]
