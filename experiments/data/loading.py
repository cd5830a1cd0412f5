"""Data as the formulations read it that are named: points of two classes, or of several."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tightmargin.experiments.data.specs import load, load_classes
from tightmargin.formulations.catalogue import Entry, entry_named
from tightmargin.formulations.data.class_labels import recorded_classes, recorded_features
from tightmargin.formulations.data.multiclass_data import MulticlassData
from tightmargin.formulations.data.point_weights import recorded_weights
from tightmargin.formulations.data.training_data import GramData, TrainingData

Raw = TrainingData | MulticlassData

KINDS: Mapping[str, str] = {
    TrainingData.__name__: "points of two classes",
    GramData.__name__: "a kernel matrix",
    MulticlassData.__name__: "points of several classes",
}


def reads(entry: Entry) -> str:
    """What an entry reads, in words."""
    return " or ".join(KINDS.get(kind.__name__, kind.__name__) for kind in entry.takes)


def takes_classes(entry: Entry) -> bool:
    """Whether every label of the data is to be a class of its own."""
    return MulticlassData in entry.takes and TrainingData not in entry.takes


def load_for(
    names: Iterable[str], spec: str, *, label: str | None = None, positive: str | None = None
) -> Raw:
    """Data of a SPEC, see tightmargin.experiments.data.specs, as formulations read it.

    names: formulations that are to read the same data.
    Raises ValueError: as `load`; formulations of which some read two classes and some several.
    """
    several: dict[str, bool] = {name: takes_classes(entry_named(name)) for name in names}
    if len(set(several.values())) > 1:
        first, second = (next(n for n in several if several[n] is is_so) for is_so in (True, False))
        raise ValueError(
            f"{first} reads {reads(entry_named(first))} and {second} "
            f"{reads(entry_named(second))}: they have no data in common"
        )
    read = load_classes if any(several.values()) else load
    return read(spec, label=label, positive=positive)


def about(raw: Raw) -> dict[str, Any]:
    """What a record keeps of data as loaded; the names of the classes where there are several."""
    found: dict[str, Any] = {"spec": raw.spec, "n": raw.n, "d": raw.d, "sha256": raw.sha256}
    return found | recorded_classes(raw) | recorded_weights(raw) | recorded_features(raw)
