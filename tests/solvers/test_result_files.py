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
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from tests.inside.solvers import INLINE_LIMIT
from tests.references.reference_solutions import points
from tightmargin.formulations import c_svc
from tightmargin.solvers import Certificate, SolveResult, Status, Verdict, solve

same_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
finite = st.floats(allow_nan=False, allow_infinity=False)
maybe = st.none() | finite
words = st.text(st.characters(codec="utf-8"), max_size=12)
names = st.text("abcdefgh_[]0123", min_size=1, max_size=6)
facts = st.dictionaries(
    words, st.integers(-(2**40), 2**40) | finite | words | st.booleans(), max_size=3
)
groups = st.dictionaries(
    names, arrays(np.float64, array_shapes(min_dims=0, max_dims=3, max_side=4), elements=finite),
    max_size=4,
)  # fmt: skip

certificates = st.builds(
    Certificate, verdict=st.sampled_from(Verdict), reason=words,
    level=st.sampled_from(["paper", "model"]), primal_residual=maybe, dual_residual=maybe,
    complementarity=maybe, gap=maybe, bound=maybe, bound_method=words, solver_bound=maybe,
    unproven=words, facts=facts,
)  # fmt: skip
results = st.builds(
    SolveResult, status=st.sampled_from(Status), objective=maybe, bound=maybe, values=groups,
    duals=groups, certificate=certificates, solver=words, version=words,
    seconds=st.floats(0, 1e6), options=facts, message=words, formulation=words,
    problem_class=words, parameters=facts, data=facts, seed=st.none() | st.integers(0, 2**31),
    threads=st.none() | st.integers(1, 64), time_limit=st.none() | st.floats(0.1, 1e6),
    normalisation=facts,
)  # fmt: skip


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
    """Bit for bit, arrays with their shapes, every field."""
    for field in fields(SolveResult):
        mine, theirs = getattr(a, field.name), getattr(b, field.name)
        if field.name in ("values", "duals"):
            assert set(mine) == set(theirs)
            for name, array in mine.items():
                assert np.shape(array) == np.shape(theirs[name]), name
                np.testing.assert_array_equal(array, theirs[name])
        else:
            assert mine == theirs, field.name


# --- round trips ---------------------------------------------------------------------------------


@given(result=results)
@same_folder
def test_every_field_survives(tmp_path: Path, result: SolveResult) -> None:
    path = result.save(tmp_path / "r.json")
    assert_same(SolveResult.load(path), result)


def test_the_file_is_plain_json_in_the_documented_layout(tmp_path: Path) -> None:
    path = sample().save(tmp_path / "r.json")
    document = json.loads(path.read_text(encoding="utf-8"), parse_constant=pytest.fail)
    assert list(document)[:2] == ["schema", "command"]
    assert document["schema"] == "tightmargin/1"
    assert document["command"] == "solve"
    assert set(document) >= {
        "formulation", "problem_class", "parameters", "status", "objective", "bound",
        "absolute_gap", "relative_gap", "values", "duals", "certificate", "solver", "seconds",
        "message", "data",
    }  # fmt: skip
    assert set(document["solver"]) == {
        "name", "version", "options", "seed", "threads", "time_limit",
    }  # fmt: skip
    assert len(document["values"]["w"]) == 2
    assert not list(tmp_path.glob("*.npz"))


def test_infinities_and_missing_numbers_are_null(tmp_path: Path) -> None:
    odd = replace(
        sample(), bound=-np.inf, objective=np.nan, values={"w": np.array([1.0, np.nan, np.inf])}
    )
    path = odd.save(tmp_path / "r.json")
    document = json.loads(path.read_text(encoding="utf-8"), parse_constant=pytest.fail)
    assert document["bound"] is None
    assert document["objective"] is None
    assert document["values"]["w"] == [1.0, None, None]
    np.testing.assert_array_equal(SolveResult.load(path).values["w"], [1.0, np.nan, np.nan])


# --- arrays beside the file ----------------------------------------------------------------------


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
    digest = hashlib.sha256(companion.read_bytes()).hexdigest()
    assert document["arrays"]["sha256"] == digest
    with zipfile.ZipFile(companion) as archive:
        for name in archive.namelist():
            assert b"'descr': '<f8'" in archive.read(name)[:128], "numbers only"
    assert_same(SolveResult.load(path), result)
    elsewhere = tmp_path / "elsewhere"  # the pair may move together
    elsewhere.mkdir()
    for file in (path, companion):
        file.rename(elsewhere / file.name)
    assert_same(SolveResult.load(elsewhere / "r.json"), result)


def test_the_file_and_its_companion_never_share_a_name(tmp_path: Path) -> None:
    """A result saved as r.npz must not write its JSON over its own arrays."""
    try:
        path = large().save(tmp_path / "r.npz")
    except ValueError:
        return
    assert_same(SolveResult.load(path), large())


def test_a_changed_companion_is_refused(tmp_path: Path) -> None:
    path = large().save(tmp_path / "r.json")
    companion = tmp_path / "r.npz"
    content = companion.read_bytes()
    middle = len(content) // 2
    flipped = bytes([content[middle] ^ 1])
    for other in (
        content[:middle] + flipped + content[middle + 1 :],
        content[:-1],
        b"",
        as_npz(**{"values/xi": np.zeros(3), "duals/outer": np.zeros(3)}),
        None,
    ):
        companion.write_bytes(other) if other is not None else companion.unlink()
        with pytest.raises(ValueError, match=r"r\.json is not a readable result"):
            SolveResult.load(path)


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


def test_a_forged_companion_is_refused_and_runs_nothing(tmp_path: Path) -> None:
    """Checksums keep accidents out, not people: behind matching ones there may be anything."""
    path = large().save(tmp_path / "r.json")
    mark = tmp_path / "mark"
    payload = np.empty(1, dtype=object)
    payload[0] = Payload(mark)
    good = as_npz(**{"values/xi": np.zeros(INLINE_LIMIT + 1), "duals/outer": np.zeros((40, 40))})
    forged(path, good)
    assert SolveResult.load(path).values["xi"].shape == (INLINE_LIMIT + 1,)
    for content in (
        as_npz(**{"values/xi": payload, "duals/outer": np.zeros((40, 40))}),
        pickle.dumps(Payload(mark)),
        good[: len(good) // 2],
        as_npz(**{"values/xi": np.zeros(INLINE_LIMIT + 1)}),
        b"no archive at all",
    ):
        forged(path, content)
        with pytest.raises(ValueError, match=r"r\.json is not a readable result"):
            SolveResult.load(path)
    assert not mark.exists()


# --- damaged files -------------------------------------------------------------------------------


def test_an_altered_number_is_refused(tmp_path: Path) -> None:
    path = sample().save(tmp_path / "r.json")
    for key in ("objective", "bound", "seconds"):
        document = json.loads(path.read_text(encoding="utf-8"))
        document[key] *= 1 + 1e-15
        (tmp_path / "other.json").write_text(json.dumps(document), encoding="utf-8")
        with pytest.raises(ValueError, match="the checksum does not match: the file was altered"):
            SolveResult.load(tmp_path / "other.json")


def test_other_files_are_refused(tmp_path: Path) -> None:
    others = (
        b"", b"null", b"[]", b"3", b'"text"', b"{}", b'{"sha256": 1}', b"[" * 100_000,
        b"\xed\xa0\x80",
    )  # fmt: skip
    path = tmp_path / "r.json"
    for content in others:
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"r\.json is not a readable result"):
            SolveResult.load(path)
    for missing in (tmp_path / "absent.json", tmp_path):
        with pytest.raises(ValueError, match="is not a readable result"):
            SolveResult.load(missing)
    path.write_text(json.dumps({"command": "path", "formulation": "weighted_svc", "rows": []}))
    with pytest.raises(ValueError, match="it holds the rows of a path"):
        SolveResult.load(path)
    for folder in (tmp_path / "nowhere" / "r.json",):
        with pytest.raises(FileNotFoundError, match=r"r\.json: there is no folder .*nowhere"):
            sample().save(folder)


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
        (
            lambda d: d.update(interval=[0.0, 0.0]),
            r"contradicts itself: its interval is \[0.0, 0.0",
        ),
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
    secret = tmp_path / "secret.npz"
    np.savez(secret, **{"values/xi": np.full(3, 42.0)})
    inside = tmp_path / "inside"
    inside.mkdir()
    path = sample().save(inside / "r.json")

    def point_outside(document: dict[str, Any]) -> None:
        digest = hashlib.sha256(secret.read_bytes()).hexdigest()
        document["arrays"] = {"file": "../secret.npz", "sha256": digest}
        document["values"]["xi"] = {"npz": "values/xi"}

    resealed(path, point_outside)
    with pytest.raises(ValueError, match="is not a readable result"):
        SolveResult.load(path)


# --- writing -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("place", "error"),
    [
        ("result.np.savez", OSError),
        ("plain_json.os.replace", OSError),
        ("plain_json.os.replace", KeyboardInterrupt),
    ],
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


def test_saving_again_replaces(tmp_path: Path) -> None:
    path = large().save(tmp_path / "r.json")
    other = replace(large(), values={"xi": np.ones(INLINE_LIMIT + 5)}, duals={})
    assert_same(SolveResult.load(other.save(path)), other)
