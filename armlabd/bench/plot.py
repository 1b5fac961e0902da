"""Figures as an SVG picture, written by hand: curves of samples on the left, bars on the right."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple
from xml.sax.saxutils import escape

WIDTH: Final = 1100
HEIGHT: Final = 540
LEFT: Final = (70, 60, 430, 380)  # x, y, width, height of the curves
RIGHT: Final = (760, 60, 300, 380)
COLOURS: Final = ("#7a7a7a", "#b9b9b9", "#0b5cad", "#63a4e0", "#b3541e", "#e0a063")
POINTS: Final = 200  # of a curve
TICKS_MS: Final = (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100)


class Curve(NamedTuple):
    """Samples of one kind."""

    name: str
    samples: Sequence[float]


class Bars(NamedTuple):
    """Named values from 0 to 100."""

    title: str
    values: Sequence[tuple[str, float]]


def picture(title: str, axis: str, curves: Sequence[Curve], bars: Bars) -> str:
    """The whole picture: how many samples lie below each value (logarithmic), and the bars."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        _text(LEFT[0], 28, title, size=18),
        _text(LEFT[0], 50, axis),
        *_grid(),
        *(part for number, curve in enumerate(curves) for part in _curve(number, curve)),
        _text(RIGHT[0] - 190, 50, bars.title),
        *_bars(bars),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _text(x: float, y: float, text: str, *, size: int = 12, anchor: str = "start") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}"'
    return f"<text {place}>{escape(text)}</text>"


def _x(value: float) -> float:
    """Where a number of ms stands; what is outside stands at the edge."""
    low, high = math.log(TICKS_MS[0]), math.log(TICKS_MS[-1])
    part = (math.log(max(value, TICKS_MS[0])) - low) / (high - low)
    return LEFT[0] + LEFT[2] * min(part, 1.0)


def _y(share: float) -> float:
    return LEFT[1] + LEFT[3] * (1 - share)


def _grid() -> list[str]:
    parts = []
    for tick in TICKS_MS:
        parts.append(_line(_x(tick), _y(0), _x(tick), _y(1)))
        parts.append(_text(_x(tick), _y(0) + 16, f"{tick:g}", anchor="middle"))
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(_line(LEFT[0], _y(share), LEFT[0] + LEFT[2], _y(share)))
        parts.append(_text(LEFT[0] - 6, _y(share) + 4, f"{100 * share:.0f} %", anchor="end"))
    return [*parts, _text(LEFT[0] + LEFT[2] / 2, _y(0) + 34, "ms", anchor="middle")]


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" stroke="#dddddd" fill="none"/>'


def _curve(number: int, curve: Curve) -> list[str]:
    """A rising line, and its name below the grid."""
    colour = COLOURS[number % len(COLOURS)]
    ordered = sorted(curve.samples)
    last = len(ordered) - 1
    ranks = [round(last * k / POINTS) for k in range(POINTS + 1)]
    points = " ".join(f"{_x(ordered[k]):.1f},{_y((k + 1) / (last + 1)):.1f}" for k in ranks)
    x, y = LEFT[0] + 215 * (number % 2), LEFT[1] + LEFT[3] + 52 + 18 * (number // 2)
    return [
        f'<polyline points="{points}" stroke="{colour}" stroke-width="2" fill="none"/>',
        f'<rect x="{x}" y="{y - 9}" width="12" height="10" fill="{colour}"/>',
        _text(x + 18, y, curve.name),
    ]


def _bars(bars: Bars) -> list[str]:
    x, y, width, height = RIGHT
    step = height / max(len(bars.values), 1)
    parts = []
    for number, (name, value) in enumerate(bars.values):
        top = y + number * step
        long = width * min(max(value, 0.0), 100.0) / 100
        size = f'x="{x}" y="{top:.1f}" width="{long:.1f}" height="{step * 0.7:.1f}"'
        parts.append(f'<rect {size} fill="{COLOURS[2]}"/>')
        parts.append(_text(x - 8, top + step * 0.6, name, size=11, anchor="end"))
        parts.append(_text(x + long + 6, top + step * 0.6, f"{value:.0f}", size=11))
    return parts
