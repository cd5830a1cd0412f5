"""tests/cases.py is the one list of the catalogue: a new formulation is one line there."""

from __future__ import annotations

from tests.cases import CASES, Case, each, known
from tightmargin.formulations import CATALOGUE


def test_every_entry_is_one_case_and_every_case_an_entry() -> None:
    assert set(CASES) == set(CATALOGUE)


@each(["conic_sdp", "extended_nu_svc_linearised", "weighted_svc"])
def test_the_words_of_a_case_follow_the_intercept(case: Case) -> None:
    free, priced = case.words_of("free"), case.words_of("penalised")
    assert (free["intercept"], priced["intercept"]) == ("free", "penalised")
    assert case.spelled("none").endswith("intercept=none")
    assert "intercept=" not in case.spelled().replace("intercept_bound=", "")
    if case.name == "conic_sdp":
        assert ("intercept_bound" in free, "intercept_bound" in priced) == (True, False)
    if case.name == "extended_nu_svc_linearised":
        assert (len(free["w_ref"]), len(priced["w_ref"])) == (2, 3)
    if case.name == "weighted_svc":
        assert case.spelled(pi=0.25) == "ridge=0.05 pi=0.25"
        assert known(case.name, "free") < known(case.name, "penalised")
