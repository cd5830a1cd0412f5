"""Machines that commands saved, read back for new points."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tightmargin.experiments.data.preparation import restore
from tightmargin.experiments.data.specs import load
from tightmargin.experiments.estimators.fitted import Fitted, FittedProbabilities
from tightmargin.experiments.saved_results.training_data import training_data
from tightmargin.formulations.data.normalisation import Normaliser
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.solvers.plain_json import checksum
from tightmargin.solvers.probability.binary import ENTRY, ClassProbabilities
from tightmargin.solvers.result import SCHEMA, SolveResult


def read_fitted(file: str | Path) -> Fitted | FittedProbabilities:
    """A machine that `solve --out`, or `path weighted_svc --out`, saved.

    The training data is looked for where it was, and only where the machine is written in terms
    of it.

    Parameters
    ----------
    file : str or path
        JSON, as the command line wrote it.

    Raises
    ------
    ValueError
        The file is neither, holds no machine, or the training data is no longer the same.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> file = tm.solve(tm.c_svc(data, C=1.0)).save("fit.json")
    >>> tm.read_fitted(file).labels(data.X).shape
    (12,)
    """
    document = _path_document(Path(file))
    if document is not None:
        return _probabilities(Path(file), document)
    result = SolveResult.load(file)
    return Fitted(result, partial(training_data, result))


def _path_document(file: Path) -> Mapping[str, Any] | None:
    """What a path wrote; None for any other file, which SolveResult judges."""
    try:
        document = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) and document.get("command") == "path" else None


def _probabilities(file: Path, document: Mapping[str, Any]) -> FittedProbabilities:
    stated = {word: part for word, part in document.items() if word != "sha256"}
    try:
        if document.get("schema") != SCHEMA or document.get("formulation") != ENTRY:
            raise ValueError(
                f"of all paths that of {ENTRY} predicts, and this is one of "
                f"{document.get('formulation')!r}"
            )
        if document["sha256"] != checksum(stated):
            raise ValueError("the checksum does not match: the file was altered")
        record = dict(document["normalisation"])
        if "kernel" not in record:
            mapped = Normaliser.from_json(record).apply if record else np.asarray
            machine = ClassProbabilities.from_document(document)
            return FittedProbabilities(machine, mapped, (), document["data"], record)
        prepared = restore(_same_data(document["data"]), record)
        assert isinstance(prepared.data, TrainingData | GramData)
        machine = ClassProbabilities.from_document(document, prepared.data)
        return FittedProbabilities(machine, prepared.mapped, (), document["data"], record)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{file} is not a readable path: {error}") from None
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None


def _same_data(stated: Mapping[str, Any]) -> TrainingData:
    raw = load(stated["spec"], label=stated.get("label"), positive=stated.get("positive"))
    if raw.sha256 != stated["sha256"]:
        raise ValueError(
            f"the path was saved for other data: its sha256 begins {stated['sha256'][:12]}, that "
            f"of {raw.spec} {raw.sha256[:12]}"
        )
    return raw
