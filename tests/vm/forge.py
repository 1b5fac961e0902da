"""Debian's own kernel for the emulated machine, and gpio-sim for it; made once and kept.

Debian leaves gpio-sim out of its kernel. It is built here from Debian's own kernel source, against
Debian's own headers, inside a root folder; nothing of it is in this tree.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import board as b

INSTALL = (
    "linux-image-amd64 initramfs-tools linux-headers-amd64 linux-source make gcc xz-utils bzip2"
)
# The early root folder holds what finds the disk and no more: half the time of a boot is unpacking.
PREPARE = """set -e
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
mkdir -p /etc/initramfs-tools/conf.d
echo MODULES=list >/etc/initramfs-tools/conf.d/armlab
printf '%s\\n' virtio_pci virtio_blk ext4 >/etc/initramfs-tools/modules
apt-get install -y -qq --no-install-recommends -o Dpkg::Options::=--force-confold {packages}
"""
# A module outside the kernel may not call irq_to_desc; generic_handle_irq does the same.
BUILD = """set -e
kernel=$(ls /lib/modules)
mkdir -p /root/gpio-sim && cd /root/gpio-sim
source=$(ls /usr/src/linux-source-*.tar.xz)
inside=$(basename "$source" .tar.xz)
tar -xJf "$source" --strip-components=3 "$inside/drivers/gpio/gpio-sim.c" \\
    "$inside/drivers/gpio/gpiolib.h" "$inside/kernel/irq/irq_sim.c"
mv gpio-sim.c chip.c
grep -q 'handle_simple_irq(irq_to_desc(irqnum))' irq_sim.c
sed -i 's/handle_simple_irq(irq_to_desc(irqnum))/generic_handle_irq(irqnum)/' irq_sim.c
printf 'obj-m := gpio-sim.o\\ngpio-sim-y := chip.o irq_sim.o\\n' >Makefile
make -s -C "/lib/modules/$kernel/build" M="$PWD" modules
install -D -m 0644 gpio-sim.ko "/lib/modules/$kernel/updates/gpio-sim.ko"
depmod "$kernel"
"""


def kernel() -> Path:
    """A folder with vmlinuz, initrd.img and modules/, gpio-sim among them."""
    kept = b.cache() / f"vm-kernel-{b.SUITE}"
    if not (kept / "complete").exists():
        shutil.rmtree(kept, ignore_errors=True)
        workshop = b.cache() / f"vm-workshop-{b.SUITE}"
        _furnish(workshop)
        _take(workshop, kept)
        shutil.rmtree(workshop)
        (kept / "complete").touch()
    return kept


def _furnish(workshop: Path) -> None:
    """A root folder with kernel, headers, source and compiler; the module is built in it."""
    shutil.rmtree(workshop, ignore_errors=True)
    b.run("cp", "-a", "--reflink=auto", b.bare_root(), workshop)
    shutil.copy("/etc/resolv.conf", workshop / "etc/resolv.conf")
    for script in (PREPARE.format(packages=INSTALL), BUILD):
        inside(workshop, "sh", "-c", script)


def _take(workshop: Path, kept: Path) -> None:
    kept.mkdir()
    for name in ("vmlinuz", "initrd.img"):
        (found,) = (workshop / "boot").glob(f"{name}-*-amd64")
        shutil.copy2(found, kept / name)
    b.run("cp", "-a", workshop / "lib/modules", kept / "modules")
    for link in kept.glob("modules/*/build"), kept.glob("modules/*/source"):
        for one in link:
            one.unlink()


def inside(root: Path, *words: str, binds: tuple[str, ...] = ()) -> str:
    """A command in a root folder that is off; what it said."""
    base = ["nice", "-n", "5", "systemd-nspawn", "-q", "-D", root, "--register=no", "--keep-unit"]
    return b.run(*base, "--pipe", *binds, *words).stdout
