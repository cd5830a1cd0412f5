"""Front door: what a notebook needs. Nothing is loaded before it is used.

>>> import tightmargin as tm
>>> data = tm.TrainingData([[0.0], [1.0]], [-1, 1])
>>> tm.solve(tm.hard_margin_svc(data)).certificate.verdict.value
'CERTIFIED'

Builders and verbs are here, the rest in `tm.search`, `tm.cuts`, `tm.paths`, `tm.data`, `tm.plots`,
`tm.theory`, `tm.studies` and `tm.errors`; the names stand in __init__.pyi.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
