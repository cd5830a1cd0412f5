"""The names under which a certificate keeps further numbers, each with its meaning.

The fields of a certificate are final; whatever else is computed goes into its `facts`, under one
of these names, into the JSON file and onto the screen.
"""

from __future__ import annotations

MODEL_FACTS = {
    "unit": "what a gap is relative to: the larger of |objective| and |bound|, with the constant "
    "of the objective or without it, whichever is less",
    "exact_upper": "the proven upper end as a fraction, where no double holds it",
    "exact_bound": "the proven lower end as a fraction, where no double holds it",
    "absolute_gap": "what the caller is content with where that is nearly 0",
    "stationarity": "largest entry of P x + q + A'z, relative to the terms of its column",
    "dual_cone_violation": "how far the solver's multipliers are outside their cones, relative",
    "objective_curvature": "smallest eigenvalue of the Hessian of the objective",
    "row_curvature": "smallest eigenvalue of the Hessians of the convex quadratic rows",
    "cone_rows": "number of quadratic rows that are convex as second-order cones only",
    "matrix_eigenvalue": "smallest eigenvalue of the matrices of the semidefinite rows",
    "dual_matrix_eigenvalue": "smallest eigenvalue of their multipliers, the dual slack matrices",
    "no_duals": "why the result holds no duals",
    "solved_copy": "what a copy has of its own by which an edited exact model was solved: the "
    "result is of the edited problem",
    "bounds_edited_problem": "why the bound of an edited relaxation is one of its problem too",
    "bound_duals": "multipliers behind the bound, by row, where the solver gave none",
    "bound_point": "the point of the relaxation they belong to, where its objective is quadratic",
}

INTEGER_FACTS = {
    "fixed_objective": "certified optimum with the integers fixed at the incumbent",
    "fixed_verdict": "its verdict",
    "solver_objective": "objective of the solver's own point, where a better one replaced it",
    "trace": "rows of (seconds, bound, incumbent) of a search; a solver's bounds are its word",
    "relaxation_strengthening": "gamma of the SDP relaxation whose closed form is the bound",
}

SECOND_SOLVER_FACTS = {
    "second_solver": "name of the solver asked for a second opinion",
    "second_version": "its version",
    "second_status": "its status",
    "second_objective": "objective of its point, recomputed",
    "second_bound": "its own bound, a claim",
    "second_agrees": "whether the two agree within their tolerances",
}

SEARCH_FACTS = {
    "engine": "search of our own that found the point: hull, branch_and_cut, cutting_plane, local, "
    "ball (the convex problem above nu_bar), boundary (at it), conflict-search (0-1 loss), "
    "cone-search (0-1 and ramp loss), "
    "branch-and-bound (any mixed-integer model that is convex once relaxed), sgd "
    "(soft margin), dca (truncated hinge), alternating (bounded rank), or a method of the rigorous "
    "SVM",
    "stop": "why it ended, in a word",
    "nodes": "boxes of branch and cut, or nodes of the conflict search",
    "cells": "cones of directions that were bounded",
    "steps": "steps of the active-set method in the conflict search, of the rigorous SVM's, of sgd",
    "descent": "rows of (steps, objective of the averaged iterate, proven bound) of sgd",
    "expected_gap": "what theory promises of sgd: no more than this, in the mean over the draws",
    "rounds": "rounds of the hull engine or of the cutting plane loop",
    "linear_programs": "how many it solved",
    "cuts_until_no_face": "cuts until no face of the polytope was left",
    "faces": "faces that strategy literal met: cuts before, dimension, tight rows, its cut",
    "cuts": "how many it used",
    "starts": "directions that local searches started from, or starts of a heuristic",
    "start_values": "objective at which each start of a heuristic ended",
    "iterations": "linear programs that local searches solved in all",
}

CLASSIFIER_FACTS = {
    "errors": "training points on the wrong side of the hyperplane or on it; of several classes "
    "those for which another class scores as high",
    "errors_by_class": "errors among the points of each class",
    "fisher_consistency": "why the truncated loss need not find the most probable class",
    "margin_errors": "points below the margin level rho",
    "margin_error_share": "their share, by weight; at most nu",
    "margin_violations": "points with y_i f(x_i) < 1",
    "singular_values": "of the weight matrix B, largest first",
    "used_weights": "coordinates of w that are not 0 up to rounding",
    "ranks": "of each class's matrix: singular values above 1e-7 of the largest",
    "rank": "of B: singular values above 1e-7 of the largest",
    "nuclear_norm": "sum of the singular values of B",
    "trace_P": "trace of the relaxed projection onto the columns of B, at most the bounded rank",
    "rounded_objective": "objective of the exact problem at the nearest B of the bounded rank",
    "cells": "cones of directions whose relaxation a search has solved",
    "support_vectors": "points with a multiplier, or (from w alone) not beyond the margin level",
    "support_vector_share": "their share, by weight; at least nu",
    "nu_property": "whether margin_error_share <= nu <= support_vector_share, or why not asked",
    "cvar": "conditional value at risk of the margin error, recomputed by sorting",
    "norm_multiplier": "multiplier of the norm row, minus half the objective",
    "norm": "length of w, with b where it is penalised; of a kernel machine in feature space",
    "norm_active": "whether that is norm_bound, up to 1e-6 of it",
    "gamma": "multiplier of half the norm row, sqrt(S) / H; 1 / C of the same C-SVC",
    "capacity_price": "sqrt(S) = gamma H: what the loss falls by for a unit more of norm_bound",
    "hull_distance": "distance of the nearest points of the two (reduced) hulls",
    "half_distance": "half of it; the hard margin when the hulls are plain and disjoint",
    "side": "on which side of nu_bar the optimum lies",
    "degenerate": "why the optimum says nothing about the points",
    "violations": "points that pay the 0-1 loss: y_i f(x_i) < 1",
    "outliers": "points whose loss is capped, or which the extended robust machine leaves out",
    "strengthening": "gamma_i of the conic losses",
    "conic_losses": "loss of every point at that gamma (Cepeda et al., Proposition 1)",
    "rank_of_lift": "rank of W - w w'",
    "rank_tolerance": "eigenvalues of W - w w' up to this size count as 0",
    "spent": "share of the budget on violations that is spent",
    "active": "points with a positive multiplier",
    "least_errors": "points of both labels in one place: no classifier makes fewer errors",
    "active_bounds": "bounds on the hyperplane that hold the optimum back",
    "components": "of a kernel matrix: its eigenvalues that are no rounding, one entry of w each",
    "kernel_shift": "number added to the diagonal of a kernel matrix that was not semidefinite",
    "binding_big_m": "rows that a big-M holds at z_i = 1",
    "big_m_slack": "margin that an indicator within the solver's tolerance of 0 buys for nothing",
    "penalty": "penalty that the budget corresponds to",
    "cutoff": "known objective that the slack bounds start from",
    "kept": "points that the slack bounds keep for sure",
    "violated": "points that they violate for sure",
    "conflicts": "sets of points of which one is violated",
    "intercepts": "both ends of the interval of intercepts of least loss",
    "equivalence": "C, nu, D, ridge and the rest that stand for this norm_bound",
    "at_cutoff": "the relaxation reaches the known objective, which is optimal then",
}

FACTS = MODEL_FACTS | INTEGER_FACTS | SECOND_SOLVER_FACTS | SEARCH_FACTS | CLASSIFIER_FACTS
