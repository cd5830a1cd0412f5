"""Every paper's reproductions, registered by being imported."""

from tightmargin.experiments.reproduce.bi_vapnik import figure1, table2, table3_adult, table3_wdbc
from tightmargin.experiments.reproduce.cepeda_gomez_han import figure1 as cepeda_figure1
from tightmargin.experiments.reproduce.cepeda_gomez_han import table1 as cepeda_table1
from tightmargin.experiments.reproduce.cepeda_gomez_han import table2 as cepeda_table2
from tightmargin.experiments.reproduce.cepeda_gomez_han import table3 as cepeda_table3
from tightmargin.experiments.reproduce.cepeda_gomez_han import table4 as cepeda_table4
from tightmargin.experiments.reproduce.framework.registry import (
    Effort,
    Reproduction,
    chosen,
    everything,
)
from tightmargin.experiments.reproduce.lee import matrix as lee_matrix
from tightmargin.experiments.reproduce.lee import multiclass as lee_multiclass
from tightmargin.experiments.reproduce.lee import probabilities as lee_probabilities
from tightmargin.experiments.reproduce.lee import sgd as lee_sgd
from tightmargin.experiments.reproduce.perez_cruz import figure2 as perez_cruz_figure2
from tightmargin.experiments.reproduce.perez_cruz import figure3 as perez_cruz_figure3
from tightmargin.experiments.reproduce.perez_cruz import figure4 as perez_cruz_figure4
from tightmargin.experiments.reproduce.perez_cruz import table1 as perez_cruz_table1
from tightmargin.experiments.reproduce.perez_cruz import table3 as perez_cruz_table3
from tightmargin.experiments.reproduce.takeda_sugiyama import figure1 as takeda_sugiyama_figure1
from tightmargin.experiments.reproduce.takeda_sugiyama import figure2 as takeda_sugiyama_figure2
from tightmargin.experiments.reproduce.takeda_sugiyama import figure3 as takeda_sugiyama_figure3
from tightmargin.experiments.reproduce.takeda_sugiyama import theorems as takeda_sugiyama_theorems

BI_VAPNIK = (figure1, table2, table3_adult, table3_wdbc)
CEPEDA_GOMEZ_HAN = (cepeda_figure1, cepeda_table1, cepeda_table2, cepeda_table3, cepeda_table4)
LEE = (lee_sgd, lee_probabilities, lee_multiclass, lee_matrix)
PEREZ_CRUZ = (
    perez_cruz_figure2, perez_cruz_figure3, perez_cruz_figure4, perez_cruz_table1,
    perez_cruz_table3,
)  # fmt: skip
TAKEDA_SUGIYAMA = (
    takeda_sugiyama_figure1, takeda_sugiyama_figure2, takeda_sugiyama_figure3,
    takeda_sugiyama_theorems,
)  # fmt: skip

__all__ = [
    "BI_VAPNIK",
    "CEPEDA_GOMEZ_HAN",
    "LEE",
    "PEREZ_CRUZ",
    "TAKEDA_SUGIYAMA",
    "Effort",
    "Reproduction",
    "chosen",
    "everything",
]
