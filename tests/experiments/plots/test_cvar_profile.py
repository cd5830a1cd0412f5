"""The picture of the CVaR profile: what its curves and marks say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from tests.inside.cuts import CvarProfile
from tests.inside.experiments import profile_figure, save_profile
from tests.references import reference_solutions
from tightmargin.cuts import cvar_profile, extended_nu_path


@pytest.fixture(scope="module")
def profile() -> CvarProfile:
    data = reference_solutions.points("overlapping", 4, n=20)
    return cvar_profile(extended_nu_path(data, [0.95, 0.7, 0.35, 0.2, 0.1, 0.05]), 40)


def test_the_picture_shows_bounds_marks_and_solved_points(profile: CvarProfile) -> None:
    figure = profile_figure(profile, "Twenty points")
    FigureCanvasAgg(figure).draw()
    (axes,) = figure.axes
    curve, solved = axes.lines[:2]
    np.testing.assert_array_equal(curve.get_xydata(), np.c_[profile.nu, profile.upper])
    np.testing.assert_array_equal(solved.get_xydata(), np.c_[profile.solved, profile.solved_upper])
    corners = axes.collections[0].get_paths()[0].vertices
    for nu, lower, upper in zip(profile.nu, profile.lower, profile.upper, strict=True):
        heights = corners[np.isclose(corners[:, 0], nu), 1]
        assert heights.min() == pytest.approx(lower)
        assert heights.max() == pytest.approx(upper)
    mark = next(line for line in axes.lines if line.get_linestyle() == "--")
    assert list(mark.get_xdata()) == [profile.nu_bar] * 2
    (zone,) = axes.patches
    assert zone.get_x() + zone.get_width() == pytest.approx(profile.constant_until) == 0.1
    words = {text.get_text(): text.get_position()[0] for text in axes.texts}
    assert words[f"nu_bar = {profile.nu_bar:.4g}"] == profile.nu_bar
    assert words["not convex"] < profile.nu_bar < words["convex"]
    assert axes.get_xlabel() == "nu"
    assert axes.get_title() == "Twenty points"


def test_separable_data_have_no_mark(tmp_path: Path) -> None:
    data = reference_solutions.points("separable", 2)
    profile = cvar_profile(extended_nu_path(data, [0.9, 0.5]), 10)
    (axes,) = profile_figure(profile).axes
    assert not axes.texts
    assert all(line.get_linestyle() != "--" for line in axes.lines)
    file = tmp_path / "profile.png"
    save_profile(profile, file)
    assert file.read_bytes().startswith(b"\x89PNG")
