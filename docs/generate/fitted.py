"""The example of the page on fitted estimators: its code, and what that code prints."""

from __future__ import annotations

import contextlib
import io
import warnings

CODE = """\
import tightmargin as tm
from sklearn.datasets import load_breast_cancer
from sklearn.svm import SVC, LinearSVC

X, y = load_breast_cancer(return_X_y=True)
for estimator in (SVC(), LinearSVC(), LinearSVC(loss="hinge", random_state=0), SVC(max_iter=40)):
    print(tm.certify_fitted(estimator.fit(X, y), X, y))
"""


def example() -> str:
    """Code and output, as the code runs today; what scikit-learn warns of is left out."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(CODE, "fitted_estimators.md", "exec"), {})
    return f"```python\n{CODE}```\n\n```text\n{printed.getvalue()}```"
