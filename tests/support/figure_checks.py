"""What tests of pictures ask of every figure: letters inside it, large enough, none on another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

LEAST = 8  # points at the width for which a figure is made
RAISED = 0.7  # size of an exponent, of that of its text
ROOM = 0.5  # pixels that boxes may share by rounding


def texts_of(figure: Figure) -> list[tuple[Text, Any]]:
    """Every text that is drawn, with its box in pixels."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    drawn = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text()]
    hidden = {id(text) for axes in figure.axes for text in _outside(axes)}
    seen, found = set(), []
    for text in drawn:
        if id(text) in hidden or id(text) in seen or _parent_is_hidden(text, figure):
            continue
        seen.add(id(text))
        found.append((text, text.get_window_extent(renderer)))
    return found


def _parent_is_hidden(text: Text, figure: Figure) -> bool:
    return any(not axes.axison and text in _ticks(axes) for axes in figure.axes)


def _ticks(axes: Any) -> list[Text]:
    return [
        label
        for axis in (axes.xaxis, axes.yaxis)
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks())
        for label in (tick.label1, tick.label2)
    ]


def _outside(axes: Any) -> Iterator[Text]:
    """Labels of ticks that matplotlib keeps in store beyond the ends of an axis."""
    for axis in (axes.xaxis, axes.yaxis):
        low, high = sorted(axis.get_view_interval())
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
            if not low <= tick.get_loc() <= high:
                yield from (tick.label1, tick.label2)


def faults_of(figure: Figure) -> list[str]:
    """A sentence for each text that is too small, cut off, or on another text."""
    texts = texts_of(figure)
    frame = figure.bbox
    faults = [
        f"{text.get_text()!r} has {size:g} points"
        for text, _ in texts
        for size in [text.get_fontsize() * (RAISED if "^" in text.get_text() else 1)]
        if size < LEAST
    ]
    for text, box in texts:
        if min(box.x0 - frame.x0, box.y0 - frame.y0, frame.x1 - box.x1, frame.y1 - box.y1) < -ROOM:
            faults.append(f"{text.get_text()!r} is cut off")
    for k, (text, box) in enumerate(texts):
        for other, second in texts[k + 1 :]:
            wide = min(box.x1, second.x1) - max(box.x0, second.x0)
            high = min(box.y1, second.y1) - max(box.y0, second.y0)
            if min(wide, high) > ROOM:
                faults.append(f"{text.get_text()!r} lies on {other.get_text()!r}")
    return faults


def series(axes: Any) -> dict[str, Any]:
    """Lines by what the legend calls them."""
    return {line.get_label(): line for line in axes.lines}


def lines_of(axes: Any) -> dict[float, Any]:
    """Vertices of the contour lines, by level."""
    return {
        float(drawn.levels[0]): np.vstack([path.vertices for path in drawn.get_paths()])
        for drawn in axes.collections
        if not drawn.filled
    }
