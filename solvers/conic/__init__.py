"""The conic relaxations over many penalties or budgets in low-rank form."""
