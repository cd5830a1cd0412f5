"""What a long run is given to say how far it is."""

from __future__ import annotations

from collections.abc import Callable

Say = Callable[[str], None]
