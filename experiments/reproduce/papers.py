"""Every paper's reproductions, registered by being imported."""

from experiments.reproduce.bi_vapnik import figure1, table2, table3_adult, table3_wdbc
from experiments.reproduce.registry import Effort, Reproduction, chosen, everything

BI_VAPNIK = (figure1, table2, table3_adult, table3_wdbc)

__all__ = ["BI_VAPNIK", "Effort", "Reproduction", "chosen", "everything"]
