"""Where the core's socket lies while the disk takes no files."""

from __future__ import annotations

import json
import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from armlabd.motion import sockets


@pytest.fixture
def short() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="s-") as name:  # a socket's path has to be short
        yield Path(name)


@pytest.fixture
def disk(short: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state folder on a disk that takes no files, and room for a stand-in beside it."""
    state = short / "state"
    state.mkdir()
    monkeypatch.setattr(sockets, "SERVICE_FOLDER", str(short / "none" / "none"))
    monkeypatch.setenv("RUNTIME_DIRECTORY", f"{short / 'run'}:{short / 'other'}")
    real = sockets.write_trouble

    def trouble(folder: Any) -> OSError | None:
        return OSError(30, "Read-only file system") if str(folder) == str(state) else real(folder)

    monkeypatch.setattr(sockets, "write_trouble", trouble)
    return state


def listen(folder: str) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(os.path.join(folder, sockets.SOCKET))
    listener.listen(1)
    return listener


def test_a_disk_that_takes_files_has_the_socket_in_the_state_folder(short: Path) -> None:
    assert sockets.choose_folder(short) == str(short)
    assert sockets.socket_folder(short) == str(short)
    assert list(short.iterdir()) == []


def test_on_a_read_only_disk_it_lies_in_a_private_folder_and_is_found_there(disk: Path) -> None:
    chosen = sockets.choose_folder(disk)
    assert chosen.startswith(str(disk.parent / "run"))
    assert os.stat(chosen).st_mode & 0o777 == 0o700
    assert sockets.socket_folder(disk) == str(disk), "nobody listens yet"
    with listen(chosen):
        assert sockets.socket_folder(disk) == chosen


def test_a_core_that_listens_stays_where_it_is_when_the_disk_changes(
    disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with listen(str(disk)):  # the disk became read-only under a running core
        assert sockets.choose_folder(disk) == str(disk)
    chosen = sockets.choose_folder(disk)
    monkeypatch.setattr(sockets, "write_trouble", lambda _: None)
    with listen(chosen):  # and the other way round
        assert sockets.choose_folder(disk) == chosen
    assert sockets.choose_folder(disk) == str(disk)


def test_two_state_folders_never_share_a_stand_in(disk: Path) -> None:
    assert not set(sockets.stand_ins(disk)) & set(sockets.stand_ins(disk / "sim"))


def test_a_stand_in_that_others_can_write_is_not_trusted(disk: Path) -> None:
    chosen = Path(sockets.choose_folder(disk))
    with listen(str(chosen)):
        chosen.chmod(0o777)
        assert sockets.socket_folder(disk) == str(disk)


def test_a_stand_in_behind_a_link_is_not_trusted(disk: Path) -> None:
    chosen = Path(sockets.choose_folder(disk))
    moved = chosen.parent / "elsewhere"
    chosen.rename(moved)
    chosen.symlink_to(moved)
    with listen(str(moved)):
        assert sockets.socket_folder(disk) == str(disk)


def test_without_any_place_the_first_trouble_is_told(
    disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sockets, "stand_ins", lambda _: ("/proc/none/x",))
    with pytest.raises(OSError, match="Read-only file system"):
        sockets.choose_folder(disk)


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a folder to somebody else")
def test_a_stand_in_that_somebody_else_made_first_is_neither_used_nor_believed(
    disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from armlabd.cli.client import note_of

    planted = Path(sockets.stand_ins(disk)[0])
    planted.mkdir(parents=True)
    note = {"url": "http://127.0.0.1:9", "pid": os.getpid()}
    (planted / "daemon.json").write_text(json.dumps(note))
    assert note_of(disk) == note, "one of this user is believed"
    os.chown(planted, 12345, 12345)
    assert note_of(disk) is None
    with listen(str(planted)):
        assert sockets.socket_folder(disk) == str(disk)
    monkeypatch.setattr(sockets, "stand_ins", lambda _: (str(planted),))
    with pytest.raises(OSError, match="Read-only"):
        sockets.choose_folder(disk)


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a folder to somebody else")
def test_root_finds_the_socket_of_the_service(disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockets, "SERVICE_FOLDER", str(disk.parent / "run"))
    chosen = sockets.choose_folder(disk)
    for path in (chosen, str(Path(chosen).parent)):
        os.chown(path, 12345, 12345)
    with listen(chosen):
        assert sockets.socket_folder(disk) == chosen
