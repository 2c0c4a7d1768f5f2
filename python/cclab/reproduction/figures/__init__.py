"""The figures of a published study: our numbers, and the printed points over them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from cclab.drawing.ticks import finished
from cclab.reproduction.figures import over_sweep, over_time

if TYPE_CHECKING:
    from cclab.drawing.style import Drawing
    from cclab.measure.results import Results
    from cclab.reproduction.file import Published
    from cclab.reproduction.schema import FigureOf

__all__ = ["Drawn", "draw"]


@dataclass(frozen=True)
class Drawn:
    """A figure, and what it is of."""

    figure: FigureOf
    backends: tuple[str, ...]
    drawing: Drawing

    @property
    def name(self) -> str:
        """Of its file, without the suffix."""
        return "-".join((self.figure.name, *self.backends))


def draw(published: Published, figure: FigureOf, measured: dict[str, Results]) -> list[Drawn]:
    """The figures of what each backend measured: over a sweep one figure compares all backends,
    over time each has its own. Empty if nothing was run."""
    if not measured:
        return []
    if figure.kind in ("lines", "bars"):
        every = finished(lambda: over_sweep.draw(published, figure, measured))
        made = [(tuple(measured), every)]
    else:
        made = [
            ((backend,), finished(partial(over_time.draw, figure, results)))
            for backend, results in measured.items()
        ]
    return [Drawn(figure, backends, drawing) for backends, drawing in made if drawing is not None]
