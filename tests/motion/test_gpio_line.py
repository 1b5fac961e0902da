"""The GPIO line against a scripted gpiod: found by label and name, and every way it can fail."""

from __future__ import annotations

import enum
import errno
import os
import sys
from collections.abc import Callable
from inspect import signature
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from armlabd.motion.boards import BOARDS
from armlabd.motion.button import Reading
from armlabd.motion.gpio_line import CONSUMER, MOST_EVENTS, GpioLine

gpiod_module = pytest.importorskip("gpiod")
gpiod_line = gpiod_module.line


class Level(enum.Enum):
    LOW = 0
    HIGH = 1


class FakeChip:
    """One chip: its label and its lines by name. `lines[n]` is who holds a line."""

    def __init__(self, label: str, names: list[str], holders: dict[int, str] | None = None) -> None:
        self.label, self.names, self.holders = label, names, holders or {}
        self.denied = self.gone = False

    def __enter__(self) -> FakeChip:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is held."""

    def get_info(self) -> SimpleNamespace:
        return SimpleNamespace(label=self.label, num_lines=len(self.names))

    def get_line_info(self, offset: int) -> SimpleNamespace:
        holder = self.holders.get(offset)
        used = holder is not None
        return SimpleNamespace(name=self.names[offset], used=used, consumer=holder or "")


class FakeRequest:
    """A requested line; `fail` is raised by whatever is asked next."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.level = Level.LOW
        self.events: list[SimpleNamespace] = []
        self.fail: Exception | None = None
        self.released = False
        self._seqno = 0

    def edge(self, at_s: float, skip: int = 0) -> None:
        """One edge more, after `skip` that were lost."""
        self._seqno += 1 + skip
        self.events.append(SimpleNamespace(line_seqno=self._seqno, timestamp_ns=int(at_s * 1e9)))

    def _work(self) -> None:
        if self.fail is not None:
            raise self.fail

    def wait_edge_events(self, _: float) -> bool:
        self._work()
        return bool(self.events)

    def read_edge_events(self, most: int) -> list[SimpleNamespace]:
        self._work()
        read, self.events = self.events[:most], self.events[most:]
        return read

    def get_value(self, _: int) -> Level:
        self._work()
        return self.level

    def release(self) -> None:
        self.released = True
        self._work()


class Gpiod(ModuleType):
    """The module, as far as it is used."""

    def __init__(self, folder: Path) -> None:
        super().__init__("gpiod")
        self.folder = folder
        self.chips: dict[str, FakeChip] = {}
        self.requests: list[tuple[str, dict[int, Any], str, int]] = []
        self.request = FakeRequest(33)
        self.refuse: list[OSError] = []
        self.line = gpiod_line

    def add(self, name: str, chip: FakeChip) -> None:
        (self.folder / name).touch()
        self.chips[str(self.folder / name)] = chip

    def Chip(self, path: str) -> FakeChip:
        chip = self.chips[os.path.realpath(path)]
        if chip.denied:
            raise PermissionError(errno.EACCES, "Permission denied")
        if chip.gone:
            raise OSError(errno.ENODEV, "No such device")
        return chip

    def LineSettings(self, **given: Any) -> SimpleNamespace:
        return SimpleNamespace(**given)

    def request_lines(self, path: str, lines: dict[int, Any], who: str, size: int) -> FakeRequest:
        self.requests.append((path, lines, who, size))
        if self.refuse:
            raise self.refuse.pop(0)
        return self.request


PI5 = ["ID_SDA", "ID_SCL", "GPIO2", "GPIO3", "GPIO4", "GPIO5"]
Line = Callable[..., GpioLine]


@pytest.fixture
def gpiod(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Gpiod:
    fake = Gpiod(tmp_path)
    monkeypatch.setitem(sys.modules, "gpiod", fake)
    return fake


@pytest.fixture
def pi5(gpiod: Gpiod, tmp_path: Path) -> GpioLine:
    """The stop line of a Pi 5, not yet opened."""
    gpiod.add("gpiochip0", FakeChip("pinctrl-rp1", PI5))
    gpiod.add("gpiochip10", FakeChip("gpio-brcmstb@107d508500", ["-", "2712_BOOT_CS_N"]))
    return GpioLine(BOARDS["pi5"].chip, BOARDS["pi5"].line, folder=str(tmp_path))


def test_the_line_is_asked_for_as_an_input_with_both_edges_a_pull_up_and_no_debouncing(
    gpiod: Gpiod, pi5: GpioLine, tmp_path: Path
) -> None:
    assert pi5.open()
    path, lines, who, size = gpiod.requests[0]
    assert (path, who, size) == (str(tmp_path / "gpiochip0"), CONSUMER, MOST_EVENTS)
    assert vars(lines[5]) == {
        "direction": gpiod_line.Direction.INPUT,
        "edge_detection": gpiod_line.Edge.BOTH,
        "bias": gpiod_line.Bias.PULL_UP,
    }
    assert (pi5.fd, pi5.why) == (33, "")
    assert "GPIO5 of pinctrl-rp1" in pi5.where
    assert "gpiochip0, 5" in pi5.where


@pytest.mark.parametrize("number", [0, 4, 11])
def test_case_85_chips_renumbered_by_another_kernel_are_found_by_label_and_name(
    gpiod: Gpiod, tmp_path: Path, number: int
) -> None:
    gpiod.add(f"gpiochip{number}", FakeChip("pinctrl-rp1", PI5))
    for other in {0, 4, 11} - {number}:
        gpiod.add(f"gpiochip{other}", FakeChip(f"other-{other}", ["GPIO5"] * 6))
    line = GpioLine("pinctrl-rp1", "GPIO5", folder=str(tmp_path))
    assert line.open()
    assert gpiod.requests[0][0].endswith(f"gpiochip{number}")


def test_case_85_a_link_with_the_old_number_is_the_same_chip(
    gpiod: Gpiod, pi5: GpioLine, tmp_path: Path
) -> None:
    (tmp_path / "gpiochip4").symlink_to(tmp_path / "gpiochip0")
    assert pi5.open()


def test_case_85_chips_renumbered_while_it_runs_are_found_again(
    gpiod: Gpiod, pi5: GpioLine, tmp_path: Path
) -> None:
    assert pi5.open()
    gpiod.chips.pop(str(tmp_path / "gpiochip0"))
    (tmp_path / "gpiochip0").unlink()
    gpiod.request.fail = OSError(errno.ENODEV, "No such device")
    assert pi5.take(True) == Reading(None)
    assert (pi5.fd, gpiod.request.released) == (-1, True)
    assert not pi5.open()
    gpiod.add("gpiochip7", FakeChip("pinctrl-rp1", PI5))
    gpiod.request = FakeRequest(34)
    assert pi5.open()
    assert pi5.take(True) == Reading(False)


def test_a_line_can_be_named_by_its_number(gpiod: Gpiod, tmp_path: Path) -> None:
    gpiod.add("gpiochip0", FakeChip("own", ["", "", ""]))
    assert GpioLine("own", 2, folder=str(tmp_path)).open()
    assert list(gpiod.requests[0][1]) == [2]
    beyond = GpioLine("own", 3, folder=str(tmp_path))
    assert not beyond.open()
    assert "own has no line 3" in beyond.why


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda g: g.chips.clear() or [p.unlink() for p in g.folder.iterdir()], "there is: none"),
        (lambda g: setattr(chip(g), "label", "pinctrl-bcm2711"), "there is: gpio-brcmstb@107d5085"),
        (lambda g: setattr(chip(g), "names", ["GPIO50"]), "has no line GPIO5"),
        (lambda g: setattr(chip(g), "denied", True), "group gpio"),
        (lambda g: setattr(chip(g), "gone", True), "there is: gpio-brcmstb"),
        (lambda g: g.add("gpiochip1", FakeChip("pinctrl-rp1", PI5)), "both labelled pinctrl-rp1"),
        (
            lambda g: (chip(g).holders.update({5: "i2c"}), g.refuse.append(OSError(16, "busy"))),
            "is taken by i2c",
        ),
        (lambda g: g.refuse.append(OSError(errno.EBUSY, "busy")), "taken by another program"),
        (lambda g: g.refuse.append(OSError(errno.EIO, "I/O error")), "was refused: I/O error"),
    ],
)
def test_a_line_that_cannot_be_had_is_named_with_what_to_do(
    gpiod: Gpiod, pi5: GpioLine, spoil: Callable[[Gpiod], object], words: str
) -> None:
    spoil(gpiod)
    assert not pi5.open()
    assert words in pi5.why
    assert pi5.fd == -1


def chip(gpiod: Gpiod) -> FakeChip:
    return gpiod.chips[str(gpiod.folder / "gpiochip0")]


def test_without_gpiod_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gpiod", None)
    line = GpioLine("pinctrl-rp1", "GPIO5")
    assert not line.open()
    assert "gpiod is missing" in line.why


@pytest.mark.parametrize("number", [errno.EINVAL, errno.EOPNOTSUPP, 524])
def test_a_chip_that_cannot_pull_up_is_taken_as_it_is(
    gpiod: Gpiod, pi5: GpioLine, number: int
) -> None:
    gpiod.refuse.append(OSError(number, "not supported"))
    assert pi5.open()
    assert gpiod.requests[1][1][5].bias is gpiod_line.Bias.AS_IS
    gpiod.refuse += [OSError(number, "no"), OSError(number, "no")]
    assert not pi5.open()


def test_the_orin_s_chip_is_not_asked_for_a_pull_up(gpiod: Gpiod, tmp_path: Path) -> None:
    orin = BOARDS["orin"]
    gpiod.add("gpiochip0", FakeChip("tegra234-gpio", ["PA.00", "PQ.05"]))
    gpiod.add("gpiochip1", FakeChip("tegra234-gpio-aon", ["PAA.00", "PQ.05"]))
    line = GpioLine(orin.chip, orin.line, pull_up=orin.own_pull_up, folder=str(tmp_path))
    assert line.open()
    assert gpiod.requests[0][1][1].bias is gpiod_line.Bias.AS_IS


# --- reading ----------------------------------------------------------------------------------


def test_the_level_alone_is_read_unless_edges_are_wanted(gpiod: Gpiod, pi5: GpioLine) -> None:
    assert pi5.open()
    gpiod.request.edge(5.0)
    assert pi5.take(False) == Reading(False)
    gpiod.request.level = Level.HIGH
    assert pi5.take(True) == Reading(True, 1, False, 5.0)
    assert pi5.take(True) == Reading(True)


def test_a_gap_in_the_numbers_of_events_is_told_at_any_place(gpiod: Gpiod, pi5: GpioLine) -> None:
    assert pi5.open()
    request = gpiod.request
    request.edge(5.0)
    request.edge(5.1, skip=1)
    assert pi5.take(True) == Reading(False, 2, True, 5.0)
    request.edge(5.2)
    assert pi5.take(True) == Reading(False, 1, False, 5.2)
    request.edge(5.3, skip=3)
    assert pi5.take(True) == Reading(False, 1, True, 5.3)


def test_a_gap_before_the_very_first_event_is_told(gpiod: Gpiod, pi5: GpioLine) -> None:
    assert pi5.open()
    gpiod.request.edge(5.0, skip=1)
    assert pi5.take(True).lost


def test_a_storm_is_read_in_bounded_parts(gpiod: Gpiod, pi5: GpioLine) -> None:
    assert pi5.open()
    for number in range(MOST_EVENTS + 5):
        gpiod.request.edge(5.0 + number / 1e4)
    assert pi5.take(True).edges == MOST_EVENTS
    assert pi5.take(True).edges == 5


@pytest.mark.parametrize(
    "error",
    [OSError(errno.ENODEV, "No such device"), OSError(errno.EBADF, "Bad fd"), ValueError("odd")],
)
@pytest.mark.parametrize("events", [True, False])
def test_any_error_of_reading_is_an_unread_line_that_is_let_go(
    gpiod: Gpiod, pi5: GpioLine, error: Exception, events: bool
) -> None:
    assert pi5.open()
    gpiod.request.fail = error
    assert pi5.take(events) == Reading(None)
    assert "stopped answering" in pi5.why
    assert pi5.take(events) == Reading(None), "and goes on being one"


def test_every_board_of_the_settings_is_in_the_table() -> None:
    from typing import get_args

    from armlabd.config.stop import ButtonConfig

    named = set(get_args(ButtonConfig.model_fields["board"].annotation)) - {"", "sim"}
    assert named == set(BOARDS)
    assert {(board.header_pin, board.ground_pin) for board in BOARDS.values()} == {(29, 30)}


def test_the_real_module_has_what_the_scripted_one_plays() -> None:
    asked = signature(gpiod_module.request_lines)
    assert list(asked.parameters)[:4] == ["path", "config", "consumer", "event_buffer_size"]
    values = gpiod_line.Value
    assert (values.ACTIVE.value, values.INACTIVE.value) == (1, 0)
    plain = gpiod_module.LineSettings()
    assert not plain.active_low
    assert plain.debounce_period.total_seconds() == 0
    assert plain.event_clock is gpiod_line.Clock.MONOTONIC
    for kind, names in (
        (gpiod_module.Chip, ("get_info", "get_line_info", "__enter__")),
        (gpiod_module.LineRequest, ("wait_edge_events", "read_edge_events", "get_value", "fd")),
        (gpiod_module.EdgeEvent, ("__dataclass_fields__",)),
    ):
        assert all(hasattr(kind, name) for name in names)
    assert {"timestamp_ns", "line_seqno"} <= set(gpiod_module.EdgeEvent.__dataclass_fields__)


def test_without_any_chip_the_real_module_says_so(tmp_path: Path) -> None:
    line = GpioLine("pinctrl-rp1", "GPIO5", folder=str(tmp_path))
    assert not line.open()
    assert "there is: none" in line.why
    (tmp_path / "gpiochip0").write_text("no device")
    assert not line.open()
    assert line.take(True) == Reading(None)
