"""Formulas as text and HTML, and what becomes of them without or with a priced intercept."""

from __future__ import annotations

import ast

import pytest

from tests.inside.formulations import MODES, Html, Latex, Text, at_mode, formulas, latex

EXPRESSIONS = [
    ("1/2*norm2(w)", "1/2 ||w||^2", "½ ‖w‖<sup>2</sup>"),
    ("a - (b - c)", "a - (b - c)", "a - (b - c)"),
    ("(a + b)**2", "(a + b)^2", "(a + b)<sup>2</sup>"),
    ("p[i]**2 <= T[i]*z[i]", "p_i^2 <= T_i z_i",
     "p<sub>i</sub><sup>2</sup> ≤ T<sub>i</sub> z<sub>i</sub>"),
    ("sum(i, xi[i], y[i] == 1)", "sum_{i: y_i = 1} xi_i",
     "Σ<sub>i: y<sub>i</sub> = 1</sub> ξ<sub>i</sub>"),
    ("(a*sum(i, x[i]))*b", "(a sum_i x_i) b", "(a Σ<sub>i</sub> x<sub>i</sub>) b"),
    ("sum(i, c[i])/(1 - d)", "(sum_i c_i)/(1 - d)", "(Σ<sub>i</sub> c<sub>i</sub>)/(1 - d)"),
    ("psd([[W, v], [t(v), 1]])", "[[W, v], [v', 1]] is semidefinite",
     "[[W, v], [v<sup>⊤</sup>, 1]] ⪰ 0"),
    ("inner(w, x[i]) != 0", "<w, x_i> != 0", "⟨w, x<sub>i</sub>⟩ ≠ 0"),
    ("z[i] in {0, 1}", "z_i in {0, 1}", "z<sub>i</sub> ∈ {0, 1}"),
    ("a*2", "a * 2", "a · 2"),
    ("B[k,j]", "B_kj", "B<sub>kj</sub>"),
    ("c[y[i]]", "c_{y_i}", "c<sub>y<sub>i</sub></sub>"),
]  # fmt: skip


def test_an_expression_keeps_its_meaning() -> None:
    for text, plain, shown in EXPRESSIONS:
        assert Text().of(text) == plain
        assert Html().of(text) == shown
    templates = {"g": "f_{{{0}}}(x_{{{1}}})"}
    assert Text(templates).of("g[k,i]") == "f_k(x_i)"
    assert Html(templates).of("g[k,i]") == "f<sub>k</sub>(x<sub>i</sub>)"
    assert latex("a + 1e-7") == r"a + 1\cdot 10^{-7}"
    with pytest.raises(ValueError, match="no word for"):
        Text().text(ast.parse("a % b", mode="eval").body)


@pytest.mark.parametrize(
    ("mode", "shown"),
    [
        ("free", "||w||^2 + tr T >= y_i (<w, x_i> + b)"),
        ("penalised", "||(w, b)||^2 + tr T + b^2 >= y_i (<w, x_i> + b)"),
        ("none", "||w||^2 + tr T >= y_i <w, x_i>"),
    ],
)
def test_the_intercept_is_where_its_mode_has_it(mode: str, shown: str) -> None:
    text = "norm2(w) + priced(tr(T)) >= y[i]*(inner(w, x[i]) + b)"
    assert Text().text(at_mode(text, mode)) == shown


def test_each_class_has_its_own_intercept_and_the_long_weight_holds_it_already() -> None:
    assert Text().text(at_mode("norm2(B[k]) + norm2(wt)", "penalised")) == (
        "||(B_k, b_k)||^2 + ||w~||^2"
    )
    assert Text().text(at_mode("norm2(V)", "penalised")) == "||V||^2 + b^2"
    assert Text().text(at_mode("inner(B[k], x[i]) + b[k]", "none")) == "<B_k, x_i>"


def test_every_formula_is_written_in_every_notation() -> None:
    for formula in formulas().values():
        texts = [formula.minimise, formula.minimise_free, *formula.domain]
        texts += [row.text for row in (*formula.rows, *formula.where)]
        for mode in MODES:
            for node in (at_mode(text, mode) for text in texts if text):
                written = Latex(formula.templates).text(node)
                assert written.count("{") == written.count("}")
                shown = Html(formula.templates).text(node)
                assert shown.count("<sub>") == shown.count("</sub>")
                assert "\\" not in shown
                assert "\\" not in Text(formula.templates).text(node)
