"""Every drawing function of the project, by the question that its picture answers.

| question | draws on axes | a whole figure, a file |
|---|---|---|
| what tells most about any result | | picture, which is its `plot()` |
| how far is a relaxation from the optimum | | comparison_figure, gap_figure, save_figure |
| how did bound and best point come together | draw_bounds | bound_figure, save_bounds |
| which hyperplane, which margins and support vectors | draw_boundary | |
| what a fitted machine makes of two features | | machine_figure, save_machine |
| which region belongs to which class | draw_regions | |
| what does a loss make of a margin | draw_losses | |
| who solves most within a factor of the best | draw_profile | save_solver_profile |
| how long does a method take | draw_timings | |
| the least CVaR over nu | | profile_figure, save_profile |
| what relaxes, restates or dualises what | | catalogue_figure |
| what the cuts of a run in the plane remove | | cut_figure, save_cuts |
| what concavity cuts remove of a polygon | draw_polygon | polygon_figure, save_polygon |
| the conic estimator over its penalty or budget | | conic_path_figure, save_conic_path |
| the rigorous SVM over its capacity | | rsvm_path_figure, save_rsvm_path |
| class probabilities and how reliable they are | | probability_figure, save_probabilities |
| class weights of one point of three classes | | simplex_figure, save_simplex |
| how fast stochastic gradient descent comes | | sgd_figure, save_sgd |

What they need beside the axes: bound_trace reads the trace of a search, performance_profile turns
costs into profiles, polygon_cuts cuts a polygon; new_figure, tidy, shared_legend and LOOKS make
pictures of your own alike.
"""

from tightmargin.experiments.plots.bounds import (
    BoundTrace,
    bound_figure,
    bound_trace,
    draw_bounds,
    save_bounds,
)
from tightmargin.experiments.plots.catalogue import catalogue_figure
from tightmargin.experiments.plots.cutting_planes import cut_figure, save_cuts
from tightmargin.experiments.plots.decision_boundary import draw_boundary, draw_regions
from tightmargin.experiments.plots.gaps import comparison_figure, gap_figure, save_figure
from tightmargin.experiments.plots.losses import draw_losses
from tightmargin.experiments.plots.machine import machine_figure, save_machine
from tightmargin.experiments.plots.paths import (
    conic_path_figure,
    profile_figure,
    rsvm_path_figure,
    save_conic_path,
    save_profile,
    save_rsvm_path,
)
from tightmargin.experiments.plots.performance_profile import (
    Profile,
    draw_profile,
    performance_profile,
    save_solver_profile,
)
from tightmargin.experiments.plots.pictures import picture
from tightmargin.experiments.plots.polygon_pictures.cuts import (
    PolygonCut,
    PolygonCuts,
    polygon_cuts,
)
from tightmargin.experiments.plots.polygon_pictures.figure import (
    draw_polygon,
    polygon_figure,
    save_polygon,
)
from tightmargin.experiments.plots.probability_plots.binary import (
    probability_figure,
    save_probabilities,
)
from tightmargin.experiments.plots.probability_plots.simplex import save_simplex, simplex_figure
from tightmargin.experiments.plots.sgd import save_sgd, sgd_figure
from tightmargin.experiments.plots.style import (
    LOOKS,
    SUFFIXES,
    Look,
    new_figure,
    shared_legend,
    tidy,
)
from tightmargin.experiments.plots.timings import Timing, draw_timings, timing

__all__ = [
    "LOOKS",
    "SUFFIXES",
    "BoundTrace",
    "Look",
    "PolygonCut",
    "PolygonCuts",
    "Profile",
    "Timing",
    "bound_figure",
    "bound_trace",
    "catalogue_figure",
    "comparison_figure",
    "conic_path_figure",
    "cut_figure",
    "draw_boundary",
    "draw_bounds",
    "draw_losses",
    "draw_polygon",
    "draw_profile",
    "draw_regions",
    "draw_timings",
    "gap_figure",
    "machine_figure",
    "new_figure",
    "performance_profile",
    "picture",
    "polygon_cuts",
    "polygon_figure",
    "probability_figure",
    "profile_figure",
    "rsvm_path_figure",
    "save_bounds",
    "save_conic_path",
    "save_cuts",
    "save_figure",
    "save_machine",
    "save_polygon",
    "save_probabilities",
    "save_profile",
    "save_rsvm_path",
    "save_sgd",
    "save_simplex",
    "save_solver_profile",
    "sgd_figure",
    "shared_legend",
    "simplex_figure",
    "tidy",
    "timing",
]  # fmt: skip
