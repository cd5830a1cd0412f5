"""Data by name, by generator, and what is done to them before a model is built."""

from tightmargin.experiments.data.gaussian_classes import (
    gaussian_class_data,
    gaussian_class_means,
    gaussian_class_probabilities,
)
from tightmargin.experiments.data.outlier_generators import (
    label_flip_data,
    outlier_data,
    outlier_test_data,
)
from tightmargin.experiments.data.preparation import prepare
from tightmargin.experiments.data.specs import load, load_classes, read_points
from tightmargin.formulations import GramData, MulticlassData, TrainingData
from tightmargin.formulations.data.kernel_pca import fit_kernel_pca
from tightmargin.formulations.data.kernels import gram_data

__all__ = [
    "GramData",
    "MulticlassData",
    "TrainingData",
    "fit_kernel_pca",
    "gaussian_class_data",
    "gaussian_class_means",
    "gaussian_class_probabilities",
    "gram_data",
    "label_flip_data",
    "load",
    "load_classes",
    "outlier_data",
    "outlier_test_data",
    "prepare",
    "read_points",
]
