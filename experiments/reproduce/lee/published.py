"""What Lee 2020, Support Vector Machine review, states and prints, and what becomes of it."""

from __future__ import annotations

from tightmargin.experiments.reproduce.lee.statements.statements import (
    COUNTEREXAMPLE,
    HOLDS,
    MISPRINT,
    NOT_CHECKABLE,
    Statement,
    group,
)

PAPER = "Lee 2020"
TITLE = "Support Vector Machine review"


def _slip(place: str, text: str) -> Statement:
    """Something that is seen on the page to be wrong, and needs no run."""
    return Statement("", place, text, MISPRINT, shown=False)


def _open(place: str, text: str) -> Statement:
    return Statement("", place, text, NOT_CHECKABLE, shown=False)


LINEAR = group(
    "linear",
    Statement("distance", "Lemma 1", "distance to the hyperplane is |<w, x> + b|, ||w|| = 1",
              HOLDS),
    Statement("hard", "Lemma 2", "(1) and (2) are one problem: margin = 1 / ||w||, for separable"
              " points", HOLDS),
    Statement("dimension", "sec 1.1.1", "halfspaces in R^d have VC dimension d + 1 (d = 3)", HOLDS),
    _open("sec 1.1.1", "with far fewer than d / eps points no algorithm learns a halfspace"),
    Statement("radius", "Def 1", "||x|| >= rho (must be <=): error at most the bound of Thm 1.1",
              MISPRINT),
    _slip("Thm 1.1", "named Hard-SVD, for Hard-SVM"),
    Statement("hard bound", "Thm 1.1", "error of the hard margin, without intercept, at most the"
              " bound", HOLDS),
    _slip("Alg 2", "the problem that the text calls (4) has no number"),
    Statement("soft", "Lemma 3", "(4) with slacks is (5) with the hinge loss", HOLDS),
    Statement("labels", "Thm 1.2", "labels in {0, 1} (must be -1, +1): the loss depends on w",
              MISPRINT),
    Statement("soft bound", "Thm 1.2", "E hinge(A(S)) <= hinge(u) + lambda ||u||^2 + 2 rho^2 /"
              " (lambda m)", HOLDS),
    Statement("norm bound", "Thm 1.2", "E hinge(A(S)) <= least hinge in the ball B + sqrt(8 rho^2"
              " B^2 / m)", HOLDS),
    Statement("error bound", "Thm 1.2", "share of errors <= hinge loss, in the mean", HOLDS),
    Statement("half", "sec 1.2.2", "'the problem of Soft-SVM' with lambda/2 is (5) (its lambda is"
              " twice that of (5))", MISPRINT),
    Statement("test", "sec 1.2.2", "SGD with v = 0 where <w, x> >= 1 (must be y <w, x> >= 1) ends"
              " at the optimum", MISPRINT),
    Statement("rule", "sec 1.2.2", "the update of the text is that of Alg 3: size of w(2) (is t /"
              " (t - 1) times it)", MISPRINT),
    _slip("sec 1.2.2", "Algorithm 4 is named where Algorithm 3 is meant; y lacks its index i"),
    _slip("Alg 3", "theta(1) = 0 and a left side after Else are missing"),
    _slip("Alg 3", "the mean of the output runs over i, must be t"),
    Statement("average", "Alg 3", "the averaged iterate comes to the optimum: mean gap within its"
              " bound", HOLDS),
    Statement("support", "Thm 1.3", "w0 is a sum over points with |<w0, x>| = 1: distance from"
              " their span", HOLDS),
    _slip("Thm 1.3", "the set I lacks the closing bar of an absolute value"),
    Statement("strong", "sec 1.4", "strong duality: min 1/2 ||w||^2 = max sum a - 1/2 a'Qa", HOLDS),
    Statement("dual", "sec 1.4", "that is the dual of min ||w||^2 (must be 1/4 a'Qa)", MISPRINT),
    Statement("weak", "Lemma 4", "min max >= max min: least difference over random tables", HOLDS),
) + group(
    "kernels",
    Statement("representer", "Thm 2.1", "(8) over alpha, in R^m and not R^n, is the problem in"
              " feature space", HOLDS),
    _slip("(7)", "one parenthesis is missing"),
    Statement("kernel", "sec 2.1", "the kernel Soft-SVM with 1/2 sum is (5) (must be 1/m sum)",
              MISPRINT),
    _slip("sec 2.1", "G alpha_i for (G alpha)_i, and no intercept where (5) has one"),
    Statement("semidefinite", "Lemma 5", "inner products have a semidefinite Gram matrix: least"
              " eigenvalue", HOLDS),
    Statement("kernel step", "Alg 4", "beta + y_i in every component (must be component i) ends at"
              " the optimum", MISPRINT),
    _slip("Alg 4", "beta(0) for beta(1), alpha_i for the averaged alpha_i in the output"),
)  # fmt: skip

BINARY = group(
    "two classes",
    Statement("sign", "sec 3.1", "hinge (9) targets sign(p - 1/2): wrong signs over a grid of p",
              HOLDS),
    Statement("weighted sign", "(10)", "weighted hinge targets sign(p - pi): wrong signs over a"
              " grid of p and pi", HOLDS),
    Statement("linear", "(10)", "so does its minimiser over any H, such as linear f: largest"
              " |p - pi| where that is 0", COUNTEREXAMPLE),
    Statement("ends", "sec 3.1", "(10) is solved at pi = 0 too (must be 0 < pi < 1): its least"
              " loss is positive", MISPRINT),
    Statement("criterion", "sec 3.1", "the j sought has sign(j) <= sign(j+1) (must be + then -):"
              " how many j do", MISPRINT),
    Statement("half step", "sec 3.1", "with true signs p-hat is within half a step of p, N = 20",
              HOLDS),
) + group(
    "simplex",
    _slip("sec 3.2", "'unit K-cube hyperplane' is the simplex; k-1 for k = 1"),
    Statement("border", "Thm 4.1", "one weight vector makes all pi_k p_k equal: unknowns less rank,"
              " K = 3", HOLDS),
    Statement("recover", "Thm 4.2", "p_k = (1/pi_k) / sum (1/pi_j) at the border weight: largest"
              " error", HOLDS),
    _slip("Thm 4.1", "the last p_k must be p_K"),
    _slip("Thm 4.2", "hats are missing in the denominator"),
    _slip("sec 4.1", "'converges to max_k' must be argmax_k"),
    _open("Thm 4.3", "p-hat tends to p as n grows, lambda and the grid step fall: a limit"),
)  # fmt: skip

CLASSES = group(
    "classes",
    Statement("two", "sec 3.2", "min g is y f for two classes, f = f_1 - f_2: optimum against (5)"
              " with lambda/2", HOLDS),
    _open("(9)", "J is not specified: here ||w||^2 or sum ||B_k||^2, intercepts left out"),
    _slip("sec 3.2", "the sum to zero runs over i, must be k"),
    _slip("Def 2", "parentheses do not match"),
    Statement("hypothesis", "Thm 3.1", "l'(0+) < l'(0-) <= 0 holds for its examples (must be l'(0)"
              " < 0): l'(0+) - l'(0-), hinge", MISPRINT),
    *(Statement(f"hinge {K}", "Example 1", f"hinge, K = {K}: consistent from s = -1/(K-1) on",
                HOLDS) for K in (3, 4, 5)),
    Statement("logistic loss", "Example 2", "log(1 + e^u) (must be e^-u) does not increase: slope"
              " at 0", MISPRINT),
    *(Statement(f"logistic {K}", "Example 2", f"logistic, K = {K}: consistent from s ="
                " -log(2^(K/(K-1)) - 1) on", HOLDS) for K in (3, 4, 5)),
    Statement("necessary", "Thm 3.1", "necessary: beyond, weights exist that the minimiser"
              " confuses (risk at 0, least risk)", HOLDS),
    Statement("zero", "Thm 3.1", "at s = 0 the ratio divides by 0 (define as satisfied): scores"
              " that err, s = 0", HOLDS),
    Statement("pieces", "sec 4.1", "min(H_1(s), H_1(u)) = H_1(u) - H_s(u): largest difference",
              HOLDS),
)  # fmt: skip

# Table 1: loss -> population minimiser. p = P(Y = +1 | x).
POPULATION = group(
    "losses",
    Statement("deviance", "Table 1", "binomial deviance: f = log(p / (1 - p)); largest error",
              HOLDS),
    Statement("hinge", "Table 1", "hinge: f = sign(p - 1/2); largest error", HOLDS),
    Statement("squared", "Table 1", "squared error: f = 2 p - 1; largest error", HOLDS),
)  # fmt: skip

MATRIX = group(
    "losses",
    Statement("sum", "sec 5", "sum L + lambda/2 ||B||^2 is (5) with another lambda: value from its"
              " machine", HOLDS),
    *POPULATION,
) + group(
    "matrices",
    _slip("sec 5", "'test data set' is the training data; x for X in the loss"),
    Statement("parameters", "sec 5", "rank r leaves fewer numbers to find: 3x3 at rank 1, of 9",
              HOLDS),
    Statement("rule", "sec 5", "r can be max rank(X_i): least value at that r is the least value",
              COUNTEREXAMPLE),
    Statement("vacuous", "sec 5", "rank(B) <= max rank(X_i) is a constraint: largest rank it bars",
              COUNTEREXAMPLE),
    _open("sec 6", "'algorithm derivation in matrix case' is left to do: three are above"),
    _open("sec 6", "benefit over a kernel SVM, and several classes: plans, no statements"),
)  # fmt: skip
