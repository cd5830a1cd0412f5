"""What both checkers make of a proof file: they agree on every one."""

from __future__ import annotations

from typing import Any

import pytest

from tests.inside.solvers import CheckerProof as Proof
from tests.inside.solvers import ProofError, check
from tests.solvers.proof_files import second_checker


def accepted(document: Any) -> Proof | None:
    """What is proven, by both checkers or by none."""
    try:
        proof = check(document)
    except ProofError:
        assert not second_checker.decides(document)
        return None
    assert second_checker.decides(document)
    return proof


def refused(document: Any, why: str) -> None:
    """Neither accepts the file, and the first says why (a regular expression)."""
    with pytest.raises(ProofError, match=why):
        check(document)
    assert not second_checker.decides(document)
