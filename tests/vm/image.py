"""The emulated machine's disk: installed by scripts/install.sh, calibrated, never yet booted."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import board as b
import forge

HERE = Path(__file__).parent
INSTALL = "/root/armlabd/scripts/install.sh"
FLAGS = ("--no-models", "--wheelhouse", "/wheels", "--lan", "--port", "/dev/armlab-bus", "--yes")
PARTS = ("--camera", "0", "--button", "pi5")
NETWORK = "[Match]\nType=ether\n[Network]\nAddress=10.0.2.15/24\nLinkLocalAddressing=no\n"
UNIT = """[Unit]
Description={title}
DefaultDependencies=no
After=local-fs.target systemd-udevd.service sys-kernel-config.mount
Wants=sys-kernel-config.mount
Before=armlabd.service
[Service]
Type={kind}
RemainAfterExit={stays}
ExecStart={command}
[Install]
WantedBy=multi-user.target
"""
# A chip before the board's own, so that no number that anybody might have learnt by heart is right.
# The line comes up open, as with nothing attached: whoever asks for it pulls it up.
HARDWARE = """#!/bin/sh
set -e
modprobe gpio-sim
chip() {
    mkdir -p "/sys/kernel/config/gpio-sim/$1/bank0/line5"
    cd "/sys/kernel/config/gpio-sim/$1"
    echo 28 >bank0/num_lines
    echo "$2" >bank0/label
    echo GPIO5 >bank0/line5/name
    echo 1 >live
}
chip other another-chip
chip header pinctrl-rp1
"""
# An emulated processor is ten times slower than a board's: only the waiting times are longer.
SLOW = "[Service]\nTimeoutStartSec=300\nWatchdogSec=60\n"
# Whole tenths of a second in which it stands still are nobody's silence.
PATIENT = {"heartbeat_s = 0.1": "heartbeat_s = 1.0", "lease_s = 0.5": "lease_s = 2.0"}
SIZE = "1800M"


def disk(kernel: Path) -> Path:
    """The image of this source tree; made anew when the tree has changed."""
    kept = b.cache() / f"vm-disk-{_sum(kernel)}.ext4"
    if not kept.exists():
        for old in b.cache().glob("vm-disk-*"):
            old.unlink() if old.is_file() else shutil.rmtree(old)
        _make(kernel, kept)
    return kept


def _sum(kernel: Path) -> str:
    """What the image depends on."""
    words = b.run("git", "-C", b.ROOT, "ls-files", "-co", "--exclude-standard").stdout.split("\n")
    own = [f"tests/vm/{name}.py" for name in ("forge", "image", "shell")]
    inside = ("armlabd/", "systemd/", "scripts/install", "pyproject.toml", "config.toml")
    names = [n for n in words if n.startswith(inside)] + own
    total = hashlib.sha256(str((kernel / "complete").stat().st_mtime_ns).encode())
    for name in sorted(names):
        if (b.ROOT / name).is_file():
            total.update(name.encode() + b"\0" + (b.ROOT / name).read_bytes())
    return total.hexdigest()[:16]


def _make(kernel: Path, target: Path) -> None:
    root = target.with_suffix(".root")
    b.run("cp", "-a", "--reflink=auto", b.bare_root(), root)
    (root / "complete").unlink()
    shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
    b.source_of(root / "root/armlabd")
    forge.inside(root, "sh", "-c", "apt-get update -qq && apt-get install -y -qq kmod")
    forge.inside(root, INSTALL, *FLAGS, *PARTS, binds=(f"--bind-ro={b.wheelhouse()}:/wheels",))
    b.run("cp", "-a", kernel / "modules", root / "lib/")
    _attach(root)
    _calibrate(root)
    beside = target.with_suffix(".new")
    b.run("mke2fs", "-q", "-t", "ext4", "-L", "armlab", "-d", root, beside, SIZE)
    beside.replace(target)
    shutil.rmtree(root)


def _patient(config: Path) -> None:
    text = config.read_text()
    for told, slow in PATIENT.items():
        assert text.count(f"\n{told}") == 1, told
        text = text.replace(told, slow)
    config.write_text(text)


def _attach(root: Path) -> None:
    """A network, the simulated hardware, and a shell for the tests."""
    (root / "etc/machine-id").write_text("")
    (root / "etc/hostname").write_text("armboard\n")
    (root / "etc/systemd/network/10-wire.network").write_text(NETWORK)
    drop_in = root / "etc/systemd/system/armlabd.service.d"
    drop_in.mkdir()
    (drop_in / "slow.conf").write_text(SLOW)
    _patient(root / "etc/armlabd/config.toml")
    bench = root / "usr/local/lib/bench"
    bench.mkdir(parents=True)
    (bench / "hardware").write_text(HARDWARE)
    shutil.copy2(HERE / "shell.py", bench / "shell.py")
    for file in bench.iterdir():
        file.chmod(0o755)
    python = "/usr/bin/python3"
    _unit(root, "hardware", "oneshot", "yes", "/usr/local/lib/bench/hardware")
    _unit(root, "shell", "simple", "no", f"{python} /usr/local/lib/bench/shell.py")
    forge.inside(
        root, "systemctl", "enable", "-q", "systemd-networkd", "bench-hardware", "bench-shell"
    )


def _unit(root: Path, name: str, kind: str, stays: str, command: str) -> None:
    text = UNIT.format(title=f"bench {name}", kind=kind, stays=stays, command=command)
    (root / f"etc/systemd/system/bench-{name}.service").write_text(text)


def _calibrate(root: Path) -> None:
    """The virtual arm's calibration, as `armlabd calibrate` leaves it."""
    from armlabd.sim.calibration import calibration_json

    (root / "root/calibration.json").write_text(calibration_json())
    place = "-o armlabd -g armlabd -m 0600 /root/calibration.json /var/lib/armlabd/"
    forge.inside(
        root,
        "sh",
        "-c",
        f"install -d -o armlabd -g armlabd -m 0700 /var/lib/armlabd; install {place}",
    )
