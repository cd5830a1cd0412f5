"""The picture of a result, whatever it is: what its method `plot` draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from typing import TYPE_CHECKING, Any

from tightmargin.cuts.bound_tightening.result import Tightened
from tightmargin.cuts.nu_path.cvar_profile import CvarProfile, cvar_profile
from tightmargin.cuts.nu_path.result import ExtendedNuPath
from tightmargin.cuts.outer_loop.result import CuttingPlaneResult
from tightmargin.cuts.search.result import SearchResult
from tightmargin.experiments.data.preparation import prepare
from tightmargin.experiments.estimators.fitted import Fitted, fitted
from tightmargin.experiments.gap_study.gap_table import Comparison
from tightmargin.experiments.plots.bounds import bound_figure, bound_trace
from tightmargin.experiments.plots.catalogue import catalogue_figure
from tightmargin.experiments.plots.cutting_planes import cut_figure
from tightmargin.experiments.plots.gaps import comparison_figure
from tightmargin.experiments.plots.machine import machine_figure
from tightmargin.experiments.plots.paths import (
    conic_path_figure,
    profile_figure,
    rsvm_path_figure,
)
from tightmargin.experiments.plots.probability_plots.binary import probability_figure
from tightmargin.experiments.statistics.capacity_report import rsvm_report
from tightmargin.experiments.statistics.vc_bound import VAPNIK
from tightmargin.formulations.catalogue import Catalogue
from tightmargin.formulations.data.multiclass_data import MulticlassData
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.parameters import did_you_mean
from tightmargin.solvers.conic.path import ConicPath
from tightmargin.solvers.probability.binary import ClassProbabilities
from tightmargin.solvers.result import SolveResult
from tightmargin.solvers.rigorous_svm.path import RsvmPath
from tightmargin.solvers.searches import GlobalSearch

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def picture(thing: Any, **words: Any) -> Figure:
    """The figure that tells most about a result.

    | of | it shows |
    |---|---|
    | a gap table | how far each relaxation is from the optimum |
    | a solve or a fit, with `data=` of two features | the hyperplane, its margins and the points |
    | a solve or a search that noted its trace | how bound and best point came together |
    | a cutting plane run in the plane | what the cuts removed |
    | a path | the machine over nu, penalty, budget or capacity |
    | class probabilities | p(x), and how reliable it is |
    | the catalogue | what relaxes, restates or dualises what |

    Parameters
    ----------
    thing
        Whatever has a method `plot`.
    **words
        Those below.
    title : str
        For all of them.
    data : TrainingData or MulticlassData
        Of a solve or a fit: the training data, which neither holds.
    eta, form
        Of a path of the rigorous SVM: of its bounds on the risk, see tm.theory.

    Raises
    ------
    TypeError
        Anything else, or a word that its picture does not take.
    ValueError
        Nothing to draw; the message says what is missing.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> figure = tm.plots.picture(tm.solve(tm.c_svc(data, C=1.0)), data=data)
    """
    for kind, draw in PICTURES.items():
        if isinstance(thing, kind):
            _refuse_words(thing, draw, words)
            return draw(thing, **words)
    known = ", ".join(kind.__name__ for kind in PICTURES)
    raise TypeError(f"{type(thing).__name__} has no picture; these have: {known}")


def _refuse_words(thing: Any, draw: Callable[..., Figure], words: Mapping[str, Any]) -> None:
    """Raise TypeError for a word that a picture does not take, and for one that it lacks."""
    _, *declared = signature(draw).parameters.values()
    names, of = [word.name for word in declared], type(thing).__name__
    for word in words:
        if word not in names:
            takes = ", ".join(names)
            hint = did_you_mean(word, names)
            raise TypeError(f"plot() of {of} has no word {word!r}, it takes {takes}{hint}")
    for needed in declared:
        if needed.default is needed.empty and needed.name not in words:
            raise TypeError(f"plot() of {of} needs {needed.name}=")
    title, data = words.get("title", ""), words.get("data")
    if not isinstance(title, str):
        raise TypeError(f"plot(): title must be a string, got {type(title).__name__}")
    if data is not None and not isinstance(data, TrainingData | MulticlassData):
        what = type(data).__name__
        raise TypeError(f"plot(): data must be TrainingData or MulticlassData, got {what}")


def _of_solve(result: SolveResult, data: Any = None, title: str = "") -> Figure:
    if data is not None:
        return machine_figure(fitted(result, prepare(data, {})), data, title)
    if not result.certificate.facts.get("trace"):
        raise ValueError(
            "plot(data=...) draws the hyperplane among training points of two features, which the "
            "result does not hold; a trace of its bound, which needs no data, it does not have"
        )
    return _of_trace(result, title)


def _of_cuts(result: CuttingPlaneResult, title: str = "") -> Figure:
    in_the_plane = result.problem.hulls.k == 2
    return cut_figure(result, title) if in_the_plane else _of_trace(result, title)


def _of_trace(thing: Any, title: str = "") -> Figure:
    return bound_figure([bound_trace(thing)], title=title)


def _of_nu_path(path: ExtendedNuPath, title: str = "") -> Figure:
    return profile_figure(cvar_profile(path), title)


def _of_rsvm_path(path: RsvmPath, title: str = "", eta: float = 0.05, form: str = VAPNIK) -> Figure:
    return rsvm_path_figure(rsvm_report(path, eta, form), title)


PICTURES: dict[type, Callable[..., Figure]] = {
    Comparison: comparison_figure,
    SolveResult: _of_solve,
    Fitted: machine_figure,
    CuttingPlaneResult: _of_cuts,
    SearchResult: _of_trace,
    GlobalSearch: _of_trace,
    Tightened: _of_trace,
    ConicPath: conic_path_figure,
    RsvmPath: _of_rsvm_path,
    ExtendedNuPath: _of_nu_path,
    CvarProfile: profile_figure,
    ClassProbabilities: probability_figure,
    Catalogue: catalogue_figure,
}
