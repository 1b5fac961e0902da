"""The arm's port for commands that speak to the servos themselves, while no daemon has it."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from armlabd.bus.errors import PortError, PortKind
from armlabd.bus.master import Master
from armlabd.bus.wire import Timing
from armlabd.clock import SystemClock
from armlabd.config import Config, load_config
from armlabd.daemon.sim_process import SimProcess, arguments_of
from armlabd.daemon.state import FolderLock, StateError, prepare, state_folder
from armlabd.motion.adapter import Adapter
from armlabd.motion.calibrate_bus import CalibrateError, CalibrationBus
from armlabd.motion.disk import DirectDisk

HELD = (
    "The arm is in the hands of armlabd. End it first (systemctl stop armlabd, or Ctrl-C where it "
    "runs), then try again."
)


class Arm(NamedTuple):
    """An arm that is open for calibration."""

    bus: CalibrationBus
    config: Config
    state: Path
    control: Path | None  # the virtual arm's control socket


def settings_of(options: argparse.Namespace) -> tuple[Config, Path]:
    """The settings and the state folder that the options name. Raises ConfigError, StateError."""
    config = load_config(options.config)
    return config, prepare(state_folder(options.state, options.sim))


@contextlib.contextmanager
def opened(options: argparse.Namespace) -> Iterator[Arm]:
    """The arm's port, for this command alone.

    Raises CalibrateError (with the remedy when armlabd has the arm), PortError, ConfigError,
    StateError, SimError.
    """
    config, state = settings_of(options)
    try:
        lock = FolderLock(state)
    except StateError as error:
        raise CalibrateError(f"{error} {HELD}") from error
    sim = SimProcess(state, arguments_of(config)) if options.sim else None
    try:
        if sim is not None:
            sim.spawn()
            asyncio.run(sim.wait_ready())
        with _transport(config, state, sim) as bus:
            yield Arm(bus, config, state, None if sim is None else sim.control)
    finally:
        if sim is not None and sim.ours:
            asyncio.run(sim.quit())
        lock.release()


@contextlib.contextmanager
def _transport(config: Config, state: Path, sim: SimProcess | None) -> Iterator[CalibrationBus]:
    clock = SystemClock()
    port = config.arm.port if sim is None else str(sim.port)
    adapter = Adapter(str(state), port, config.arm.baud, clock, DirectDisk())
    try:
        transport = adapter.open()
    except PortError as error:
        if error.kind is PortKind.BUSY:
            raise CalibrateError(f"{error.sentence} {HELD}") from error
        raise
    try:
        master = Master(transport, clock, timing=Timing(baud=config.arm.baud))
        yield CalibrationBus(master, clock)
    finally:
        transport.close()
