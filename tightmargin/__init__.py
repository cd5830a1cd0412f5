"""Front door: what a notebook needs. Nothing is loaded before it is used.

>>> import tightmargin as tm
>>> data = tm.TrainingData([[0.0], [1.0]], [-1, 1])
>>> tm.solve(tm.hard_margin_svc(data)).certificate.verdict.value
'CERTIFIED'

Builders and verbs are here, the rest in `tm.search`, `tm.cuts`, `tm.paths`, `tm.data`, `tm.plots`,
`tm.theory`, `tm.studies` and `tm.errors`; the names stand in __init__.pyi.
"""

from typing import Any

import lazy_loader

from tightmargin.gone import gone_text

__version__ = "0.1.0"

_loaded, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    """What the stub has; a name that went is refused with what to take instead."""
    if gone_text(name):
        raise AttributeError(gone_text(name))
    return _loaded(name)
