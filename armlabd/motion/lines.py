"""Who reads a stop line: gpiod for a real one, a pipe for the virtual arm's."""

from __future__ import annotations

from armlabd.durable import Pathlike
from armlabd.motion.boards import SIM, Wanted
from armlabd.motion.button import LineSource
from armlabd.motion.settings import CoreSettings


def make_line(wanted: Wanted, state_dir: Pathlike) -> LineSource:
    """The reader of a line, not yet opened; gpiod is imported when it is."""
    if wanted.chip == SIM:
        from armlabd.motion.pipe_line import PipeLine

        return PipeLine(state_dir)
    from armlabd.motion.gpio_line import GpioLine

    return GpioLine(wanted.chip, wanted.line, pull_up=wanted.pull_up)


def line_of(told: CoreSettings) -> LineSource | None:
    """The line that a core is to read; None without one that is required and named."""
    if not told.button_required or not told.button_chip:
        return None
    wanted = Wanted(told.button_chip, told.button_line, told.button_pull_up)
    return make_line(wanted, told.state_dir)
