"""The core as a process: one socket, one loop, and the schedule of a 100 Hz cycle.

Between ticks the loop sleeps in select on the socket, so that a stop is read the moment it comes;
of several requests that arrive together stops go first. A peer that does not read is dropped.
"""

from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
import sys
from _socket import AF_UNIX, SOCK_STREAM, socket  # `socket` on top of it costs 0.5 MB for names
from collections.abc import Callable
from typing import Any

from armlabd.arm.joints import Pose
from armlabd.clock import Clock, SystemClock
from armlabd.motion.adapter import Adapter
from armlabd.motion.core import Core
from armlabd.motion.disk import ThreadDisk
from armlabd.motion.latch import boot_id
from armlabd.motion.lines import line_of
from armlabd.motion.messages import LineReader, encode, encode_change
from armlabd.motion.settings import CoreSettings, SettingsError
from armlabd.motion.state import PASSING, lasting, passing, quick_state, slow_state

SOCKET = "core.sock"
READ_BYTES = 65_536
MOST_CONNECTIONS = 16
MOST_PENDING = 1_000_000  # bytes a peer may leave unread
SKIP_PUSH = 65_536  # with more than this unread a push is left out
SLOW_PUSHES = 25  # a slow part with every 25th push: once a second
COLLECT_TICKS = 6000  # once a minute
VIRTUAL_PORT_S = 1.0
LISTEN_LOOKS = 16  # one look in so many that does not wait is for new peers too
TOLD = ("stop", "clear", "move", "park", "come_inside")  # their answers change the state
_NONE: list[int] = []


class Peer:
    """One connection: messages in, lines out, never blocking."""

    def __init__(self, sock: socket) -> None:
        self.sock = sock
        self.lines = LineReader()
        self.out = bytearray()
        self.closed = False
        sock.setblocking(False)

    def send(self, line: bytes) -> None:
        """Queue a line and send what goes at once."""
        if self.closed:
            return
        self.out += line
        self.flush()
        if len(self.out) > MOST_PENDING:
            self.closed = True

    def flush(self) -> None:
        """Send what goes without waiting."""
        try:
            while self.out:
                del self.out[: self.sock.send(self.out)]
        except BlockingIOError:
            return
        except OSError:
            self.closed = True

    def receive(self) -> list[dict[str, Any]]:
        """The messages that have come; end of file or nonsense closes the peer."""
        try:
            data = self.sock.recv(READ_BYTES)
            messages = self.lines.feed(data) if data else []
            self.closed = self.closed or not data
        except BlockingIOError:
            return []
        except (OSError, ValueError):
            self.closed = True
            return []
        return messages


class Server:
    """Serves `core` on core.sock until it has finished."""

    def __init__(self, core: Core, clock: Clock) -> None:
        self.core = core
        self.clock = clock
        settings = core.settings
        self.path = os.path.join(settings.socket_dir or settings.state_dir, SOCKET)
        self.peers: dict[int, Peer] = {}
        self._pushes = self._looks = 0
        self._told: dict[str, Any] = {}  # the state that every peer has, but what is passing
        self._lasting: tuple[object, ...] | None = None  # of the last push
        self._pose: Pose | None = None
        self._goal: Pose | None = None
        self._unsent: list[int] = []  # peers that have left something unread
        self._listener = _listen(self.path)
        self._numbers = [self._listener.fileno()]  # for select: the listener, then the peers
        self._poller = select.poll()  # for a look without waiting: button and peers
        self._button_fd = -1
        core.publish = self._publish
        core.between = lambda: self.poll(0.0)
        core.wanted = self._wanted

    def run(self) -> None:
        """The loop."""
        core, now, cycles = self.core, self.clock.monotonic, self.core.cycles
        while not core.finished:
            wait_s = 0.0 if core.has_work else cycles.due_s - now()
            self.poll(max(0.0, wait_s))
            if now() >= cycles.due_s:
                core.tick()
                if core.cycles.ticks % COLLECT_TICKS == 0 and core.conductor.job is None:
                    gc.collect()  # automatic collection is off; by hand at rest it takes 0.3 ms
            elif core.has_work:
                core.work()

    def poll(self, wait_s: float) -> None:
        """Wait for requests at most `wait_s`; carry out those that came, stops first.

        The button's line is waited for too: a press does not wait for the next cycle.
        """
        if self.core.button.fd != self._button_fd:
            self._follow_button(self.core.button.fd)
        if wait_s <= 0.0 and not self._unsent and self._looks % LISTEN_LOOKS:
            readable = [number for number, _ in self._poller.poll(0)]
            writable: list[int] = self._unsent
        else:
            # Not `poll`, which knows whole milliseconds only.
            readable, writable, _ = select.select(self._numbers, self._unsent, _NONE, wait_s)
        self._looks += 1
        if readable or writable:
            self._serve(readable, writable)

    def _serve(self, readable: list[int], writable: list[int]) -> None:
        received_s = self.clock.monotonic()
        if self._button_fd in readable:
            self._read_button(received_s)
        for number in writable:
            self.peers[number].flush()
        came: list[tuple[Peer, dict[str, Any]]] = []
        for number in readable:
            peer = self.peers.get(number)
            if peer is not None:
                came += [(peer, message) for message in peer.receive()]
            elif number == self._listener.fileno():
                self._accept()
        if len(came) > 1:
            came.sort(key=lambda item: item[1].get("do") != "stop")
        for peer, message in came:
            self.core.handle(message, self._reply_to(peer, message), peer, received_s)
        self._sweep()

    def _wanted(self) -> bool:
        """True when a peer has said something that is not yet read."""
        return bool(self._poller.poll(0))

    def _read_button(self, received_s: float) -> None:
        """A line that is lost gives its number back: a peer that is let in next may get it."""
        self.core.look_at_button(received_s, woken=True)
        if self.core.button.fd != self._button_fd:
            self._follow_button(self.core.button.fd)

    def _follow_button(self, number: int) -> None:
        """Wait on the button's line as it is now: it may have been lost, or be back."""
        if self._button_fd >= 0:
            self._numbers.remove(self._button_fd)
            self._poller.unregister(self._button_fd)
        if number >= 0:
            self._numbers.append(number)
            self._poller.register(number, select.POLLIN)
        self._button_fd = number

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            number, _ = self._listener._accept()  # type: ignore[attr-defined]
            sock = socket(fileno=number)
            if len(self.peers) >= MOST_CONNECTIONS:
                sock.close()
            else:
                peer = Peer(sock)
                self.peers[number] = peer
                self._numbers.append(number)
                self._poller.register(number, select.POLLIN)
                self._pushes, self._told = 0, {}  # everything comes with its first push

    def _sweep(self) -> None:
        """Part from those that have hung up; remember who has left something unread."""
        for number, peer in list(self.peers.items()):
            if peer.closed:
                del self.peers[number]
                self._numbers.remove(number)
                self._poller.unregister(number)
                peer.sock.close()
                self.core.lease.gone(peer)
        self._unsent = [number for number, peer in self.peers.items() if peer.out]

    def _publish(self, core: Core) -> None:
        """What has changed to everybody; twice a second everything."""
        if not self.peers:
            return
        line = self._line(core)
        self._pushes += 1
        for peer in self.peers.values():
            if len(peer.out) < SKIP_PUSH:
                peer.send(line)
            else:
                self._told = {}  # it has missed something
            if peer.out or peer.closed:
                self._unsent = [number for number, one in self.peers.items() if one.out]

    def _line(self, core: Core) -> bytes:
        """What to push: nearly always the place of the arm alone, which is cheap."""
        now_s = self.clock.monotonic()
        seen, pose, goal = lasting(core, now_s), core.measured.pose, core.conductor.goal
        whole = self._pushes % SLOW_PUSHES == 0
        known = bool(self._told) and not whole and seen is not None and seen == self._lasting
        same = pose is self._pose and goal is self._goal
        self._lasting, self._pose, self._goal = seen, pose, goal
        if known and pose is not None:
            return passing(core, now_s, pose, same)
        state = quick_state(core)
        if whole:
            line = encode({"details": slow_state(core)}) + encode({"state": state})
        else:
            line = encode_change(state, self._told)
        self._told = {name: value for name, value in state.items() if name not in PASSING}
        return line

    def _reply_to(self, peer: Peer, message: dict[str, Any]) -> Callable[[dict[str, Any]], None]:
        """Where an answer goes. Whoever is told of a stop or a motion finds it in the state too."""
        number, word = message.get("id"), message.get("do")

        def reply(answer: dict[str, Any]) -> None:
            if word in TOLD:
                self._publish(self.core)
            if number is not None:
                peer.send(encode({"id": number, "answer": answer}))

        return reply

    def close(self) -> None:
        """Send what is left, and take the socket away."""
        for peer in self.peers.values():
            peer.flush()
            peer.sock.close()
        self._listener.close()
        with contextlib.suppress(OSError):
            os.unlink(self.path)


def _listen(path: str) -> socket:
    """The listening socket; an old one of a dead core is replaced. Raises OSError."""
    probe = socket(AF_UNIX, SOCK_STREAM)
    taken = probe.connect_ex(path) == 0
    probe.close()
    if taken:
        raise OSError(f"another core already listens on {path}")
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    listener = socket(AF_UNIX, SOCK_STREAM)
    old_mask = os.umask(0o177)
    try:
        listener.bind(path)
    finally:
        os.umask(old_mask)
    listener.listen(8)
    listener.setblocking(False)
    return listener


def real_time() -> str:
    """Ask for real-time scheduling and locked memory; says in words what was granted."""
    said = []
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(20))
        said.append("SCHED_FIFO 20")
    except (OSError, AttributeError):
        said.append("ordinary scheduling (SCHED_FIFO refused)")
    said.append("memory locked" if _lock_memory() else "memory not locked (mlockall refused)")
    return ", ".join(said)


def _lock_memory() -> bool:
    # MCL_CURRENT, MCL_FUTURE, MCL_ONFAULT: what is used stays, what is reserved costs nothing
    return _libc("mlockall", 1 | 2 | 4) == 0


def _hand_back_memory() -> None:
    """What starting up has used and freed goes back to the system, before memory is locked."""
    _libc("malloc_trim", 0)


def _libc(name: str, number: int) -> int | None:
    """Call a function of the C library with one whole number; None where that cannot be done."""
    try:
        import _ctypes  # `ctypes` on top of it costs 0.25 MB

        place = _ctypes.dlsym(_ctypes.dlopen("", 0), name)
        result: int = _ctypes.call_function(place, (number,))
    except (ImportError, OSError, AttributeError):
        return None
    return result


def _await_port(path: str, clock: Clock) -> None:
    """A virtual arm may be starting beside this process."""
    until_s = clock.monotonic() + VIRTUAL_PORT_S
    while not os.path.exists(path) and clock.monotonic() < until_s:
        clock.sleep(0.002)


def say(text: str) -> None:
    """The diary goes to standard error, which systemd and the daemon collect."""
    with contextlib.suppress(OSError):
        os.write(2, f"core: {text}\n".encode())


def main(argv: list[str] | None = None) -> None:
    """`python -m armlabd.motion.core SETTINGS.json`; exits 0 after a goodbye, 2 on bad settings."""
    arguments = sys.argv[1:] if argv is None else argv
    try:
        with open(arguments[0], encoding="utf-8") as file:
            settings = CoreSettings.from_json(file.read())
    except (IndexError, OSError, SettingsError) as error:
        say(f"cannot start: {error}")
        sys.exit(2)
    clock = SystemClock()
    if settings.simulated:
        _await_port(settings.port, clock)
    disk = ThreadDisk()
    try:
        adapter = Adapter(settings.state_dir, settings.port, settings.baud, clock, disk)
        line, boot, pid = line_of(settings), boot_id(), os.getpid()
        core = Core(settings, clock, adapter.open, disk, line=line, boot=boot, pid=pid, say=say)
        core.link.on_ready = adapter.confirm
        server = Server(core, clock)
    except (OSError, SettingsError) as error:
        say(f"cannot start: {error}")
        sys.exit(2)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: core.leaving.begin(settings.exit, clock.monotonic()))
    gc.collect()
    _hand_back_memory()
    core.scheduling = real_time()
    gc.freeze()
    gc.disable()
    try:
        server.run()
    finally:
        server.close()
        core.link.close()
        core.button.close()
        disk.close()
