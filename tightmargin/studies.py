"""One function over many tasks, every row stored when it arrives."""

from tightmargin.experiments.studies.result_store import stored_frame
from tightmargin.experiments.studies.runner import run_study
from tightmargin.experiments.studies.study import Study

__all__ = ["Study", "run_study", "stored_frame"]
