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
    """Mark the others, for the hook of tests/conftest.py that leaves out what is marked."""
    for item in items:
        if item.path.suffix == ".ipynb" and item.path.name not in IN_MAKE_TEST:
            item.add_marker(pytest.mark.full("a notebook of many solves"))
