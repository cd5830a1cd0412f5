"""Three notebooks run in `make test`; the others in `make test-full`, or when they are named."""

from __future__ import annotations

import pytest

IN_MAKE_TEST = {
    "00_tour.ipynb",
    "04_classes_probabilities_matrices.ipynb",
    "06_gallery_of_edits.ipynb",
}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each: tests/conftest.py leaves out what is marked `full`, and prints the reasons."""
    for item in items:
        if item.path.suffix != ".ipynb":
            continue
        if item.path.name in IN_MAKE_TEST:
            item.add_marker(pytest.mark.slow("a notebook, run from its first cell to its last"))
        else:
            item.add_marker(pytest.mark.full("a notebook of many solves"))
