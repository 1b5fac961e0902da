"""`armlabd run`: from settings to an open door, and back down in order."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from armlabd.arm.calibration import parse
from armlabd.clock import SystemClock
from armlabd.config import Config
from armlabd.daemon.core_process import CoreProcess
from armlabd.daemon.first_keys import first_keys
from armlabd.daemon.heap import set_start_aside, settle_heap
from armlabd.daemon.service import Watchdog, notify, watchdog_s
from armlabd.daemon.settings import (
    StartError,
    calibration_text,
    core_settings,
    file_text,
    fitted,
)
from armlabd.daemon.sim_process import SimProcess, arguments_of
from armlabd.daemon.state import (
    FolderLock,
    forget_note,
    prepare,
    sockets_of,
    state_folder,
    write_note,
)
from armlabd.durable import sweep
from armlabd.gate.roles import KeyRing, NewKey
from armlabd.motion.client import CoreClient
from armlabd.motion.settings import CoreSettings
from armlabd.motion.sockets import SOCKET

log = logging.getLogger(__name__)
NICE = -5  # as a systemd unit would set it; only root may


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line adds to the settings."""

    simulated: bool = False
    state: Path | None = None
    port: int | None = None
    sim_arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ready:
    """Told once, when the door is open: where, which keys were made, and how long it took.

    `others` says where other machines reach the door; empty when they do not.
    """

    url: str
    new_keys: tuple[NewKey, ...]
    state: Path
    start_s: float
    simulated: bool
    others: str = ""


async def serve(config: Config, options: Options, on_ready: Callable[[Ready], None]) -> None:
    """Run until SIGTERM or SIGINT.

    Raises StartError, StateError, KeyFileError, DoorError, CoreError, SimError.
    """
    began_s = time.monotonic()
    _ask_for_priority()
    settle_heap()
    config = _adjusted(config, options)
    state = prepare(state_folder(options.state, options.simulated))
    lock = FolderLock(state)
    sweep(state)
    sim = _start_sim(config, options, state)
    try:
        await _serve_in(config, options, state, sim, on_ready, began_s)
    finally:
        if sim is not None:
            await sim.quit()
        lock.release()


def _ask_for_priority() -> None:
    """A stop that comes over HTTP should not wait behind other work of the board."""
    try:
        os.setpriority(os.PRIO_PROCESS, 0, NICE)
    except OSError:
        log.info("ordinary priority: nice %s was refused", NICE)


def _start_sim(config: Config, options: Options, state: Path) -> SimProcess | None:
    if not options.simulated:
        return None
    sim = SimProcess(state, [*arguments_of(config), *options.sim_arguments])
    sim.spawn()
    return sim


async def _serve_in(
    config: Config,
    options: Options,
    state: Path,
    sim: SimProcess | None,
    on_ready: Callable[[Ready], None],
    began_s: float,
) -> None:
    calibration = _calibration(config, state, sim)
    config = fitted(config, None if calibration is None else parse(calibration))
    sockets = sockets_of(state)
    settings = _core_settings(config, state, sockets, sim, calibration)
    keys = KeyRing(state / "keys.json")
    new_keys = first_keys(keys, state)
    heartbeat_s = config.motion.heartbeat_s
    client = CoreClient(sockets / SOCKET, SystemClock(), heartbeat_s=heartbeat_s)
    core = CoreProcess(settings, client)
    core.start_early()
    try:
        # The rooms bring in OpenCV and aiohttp; core and virtual arm start meanwhile.
        from armlabd.daemon.house import Rooms
        from armlabd.doors.http.server import HttpServer
        from armlabd.perceive.small_blocks import fill_small_blocks

        if sim is not None:
            await sim.wait_ready()
        rooms = Rooms(config, state, settings, keys, core, sim.control if sim else None)
        server = HttpServer(rooms.house)
    except BaseException:
        await core.close()
        raise
    ended = asyncio.Event()
    _on_signals(ended.set)
    watching: asyncio.Task[None] | None = None
    try:
        await rooms.start()
        await server.start()
        write_note(sockets, server.url, options.simulated)
        took_s = time.monotonic() - began_s
        network = rooms.board.open(server.port)
        others = network.told()
        on_ready(Ready(server.url, new_keys, state, took_s, options.simulated, others))
        where = ", ".join((server.url, *network.urls))
        watching = _tell_systemd(lambda: rooms.core.cared_for, where)
        fill_small_blocks()
        set_start_aside()
        await ended.wait()
        notify("STOPPING=1")
        log.info("leaving: the arm follows its exit policy (%s)", config.motion.exit)
    finally:
        await rooms.end_runs()
        await rooms.leave()  # the arm may be on its way to park: the door stays open for a stop
        forget_note(sockets)
        if watching is not None:
            watching.cancel()
        await server.close()
        await rooms.close()


def _tell_systemd(fresh: Callable[[], bool], url: str) -> asyncio.Task[None] | None:
    """Ready: the stop chain is armed and the door answers. Signs of life from here on.

    They go on while the daemon leaves: an arm on its way to park is no reason to be ended.
    """
    notify(f"READY=1\nSTATUS=answers at {url}")
    interval_s = watchdog_s()
    if interval_s is None:
        return None
    return asyncio.create_task(Watchdog(interval_s, fresh).run(), name="watchdog")


def _calibration(config: Config, state: Path, sim: SimProcess | None) -> str | None:
    """The arm's calibration file, else what the virtual arm holds from its making.

    Raises StartError.
    """
    if sim is None:
        return calibration_text(config, state)
    from armlabd.sim.calibration import calibration_json

    written = file_text(state / "calibration.json")
    return calibration_json() if written is None else written


def _core_settings(
    config: Config, state: Path, sockets: Path, sim: SimProcess | None, calibration: str | None
) -> CoreSettings:
    port = config.arm.port if sim is None else str(sim.port)
    simulated = sim is not None
    told = core_settings(config, state, port=port, calibration=calibration, simulated=simulated)
    return told if sockets == state else dataclasses.replace(told, socket_dir=str(sockets))


def _adjusted(config: Config, options: Options) -> Config:
    """The settings with the command line's port, and the camera that fits the arm."""
    if options.port is not None:
        http = config.http.model_copy(update={"port": options.port})
        config = config.model_copy(update={"http": http})
    if options.simulated and config.camera.source == "none":
        camera = config.camera.model_copy(update={"source": "sim"})
        return config.model_copy(update={"camera": camera})
    if not options.simulated and config.stop.button.board == "sim":
        raise StartError(
            '[stop.button] board = "sim" is the virtual arm\'s button; a real arm needs one of '
            'its own. Name "pi4", "pi5", "orin", or chip and line, or start with --sim.'
        )
    if not options.simulated and config.camera.source == "sim":
        raise StartError(
            '[camera] source = "sim" is the virtual arm\'s camera; a real arm may not be moved by '
            "what it shows. Name a real source, or start with --sim."
        )
    return config


def _on_signals(end: Callable[[], None]) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end)
