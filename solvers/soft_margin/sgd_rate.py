"""What theory promises of stochastic gradient descent on the soft margin, derived for our scale.

With lambda = 2 ridge the objective f(w) = ridge ||w||^2 + (1/n) sum_i [1 - y_i <w, x_i>]_+ is
lambda-strongly convex, and for a uniform draw i the vector g_t = lambda w_t + v_t, with v_t = 0 or
-y_i x_i, is in the mean a subgradient of f at w_t. Both rules are steps along it,

    update    w_{t+1} = w_t - g_t / (lambda t)         w_t = theta_t / (lambda (t - 1))
    printed   w_{t+1} = w_t - g_t / (lambda (t + 1))   w_t = theta_t / (lambda t)

from w_1 = 0, theta_t being minus the sum of v_1 to v_{t-1}. With R = max ||x_i|| both have
||lambda w_t|| <= R, so ||g_t|| <= 2 R; the optimum is w* = sum_i alpha_i y_i x_i / lambda with
sum_i alpha_i <= 1, so ||w*|| <= R / lambda. For D_t = ||w_t - w*||^2 and a step of size s_t

    E f(w_t) - f* <= E [(D_t - D_{t+1}) / (2 s_t) - lambda D_t / 2 + s_t ||g_t||^2 / 2].

Summed over t = 1 to T the distances cancel but for the first one, with the weight 0 (update) or
lambda / 2 (printed), and E f(mean of w_t) is at most the mean:

    update    E f(w_bar) - f* <= 2 R^2 H_T / (lambda T)
    printed   E f(w_bar) - f* <= R^2 (1 + 4 (H_{T+1} - 1)) / (2 lambda T)

with H_T = 1 + 1/2 + ... + 1/T. The first is Theorem 14.11 of Shalev-Shwartz & Ben-David,
Understanding Machine Learning (2014), with rho = 2 R and H_T for its 1 + log T.
"""

from __future__ import annotations

import numpy as np

from tightmargin.formulations.data.point_weights import unweighted
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.parameters import one_of, positive

RULES = ("printed", "update")
SMALL = 256
EULER = 0.5772156649015329


def harmonic(k: int) -> float:
    """H_k = 1 + 1/2 + ... + 1/k, 0 for k = 0."""
    if k <= SMALL:
        return float((1 / np.arange(1, k + 1)).sum())
    return float(np.log(k) + EULER + 1 / (2 * k) - 1 / (12 * k**2) + 1 / (120 * k**4))


@unweighted
def sgd_rate(
    data: TrainingData | GramData, *, ridge: float, steps: int, rule: str = "printed"
) -> float:
    """Bound on the mean, over draws, of f(w_bar) - f* after so many steps.

    Conditions: draws that are uniform and independent, no intercept, the mean over all iterates.
    It bounds a mean, not every run.

    Parameters
    ----------
    data : TrainingData or GramData
        Only the largest norm of a point is used.
    ridge : float
        lambda / 2.
    steps : int
        T, at least 1.
    rule : str
        "printed" or "update".

    Raises
    ------
    ValueError
        A bad ridge, steps or rule.
    """
    one_of("rule", rule, RULES)
    strength = 2 * positive("ridge", ridge)
    checked_steps(steps)
    square = float(np.einsum("ij,ij->i", data.factor, data.factor).max(initial=0.0))
    if rule == "update":
        return 2 * square * harmonic(steps) / (strength * steps)
    return square * (1 + 4 * (harmonic(steps + 1) - 1)) / (2 * strength * steps)


def checked_steps(steps: int) -> int:
    """A whole number of at least 1, or a ValueError naming steps."""
    whole = isinstance(steps, int | np.integer) and not isinstance(steps, bool)
    if not whole or steps < 1:
        raise ValueError(f"steps must be a whole number of at least 1, got {steps!r}")
    return int(steps)
