"""`python -m armlabd.sim --state DIR`: the virtual arm as a process of its own."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from armlabd.sim.arm import VirtualArm
from armlabd.sim.commands import blocks_from
from armlabd.sim.faults import BusFaults
from armlabd.sim.hidden import HiddenErrors
from armlabd.sim.process import AlreadyRunning, SimProcess
from armlabd.sim.world import World


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(prog="armlabd.sim", description="The virtual arm.")
    made.add_argument("--state", type=Path, required=True, help="folder for port and socket")
    made.add_argument("--seed", type=int, default=0, help="of noise, faults and hidden errors")
    made.add_argument("--blocks", help='JSON list: [{"label", "x", "y", "yaw_deg"}]')
    made.add_argument("--orphan-s", type=float, help="end after this long without a byte or client")
    made.add_argument("--hidden-errors", action="store_true", help="joint zeros off, backlash")
    made.add_argument("--no-sag", action="store_true", help="servos hold without giving way")
    made.add_argument("--realtime", action="store_true", help="ask for SCHED_FIFO (benchmarks)")
    return made


def build_arm(args: argparse.Namespace) -> VirtualArm:
    """The arm that the command line asks for. Raises ValueError with a sentence."""
    blocks = None if args.blocks is None else blocks_from(json.loads(args.blocks))
    return VirtualArm(
        World(blocks),
        faults=BusFaults(args.seed),
        hidden=HiddenErrors.drawn(args.seed) if args.hidden_errors else None,
        sag=not args.no_sag,
    )


def _announce(process: SimProcess) -> None:
    where = process.addresses
    line = {"port": str(where.port), "control": str(where.control), "pid": os.getpid()}
    print(json.dumps(line), flush=True)


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until told to stop. Exit 0, or 2 for wrong arguments, 3 when the folder is taken."""
    args = parser().parse_args(argv)
    try:
        process = SimProcess(build_arm(args), args.state, seed=args.seed, orphan_s=args.orphan_s)
    except ValueError as error:
        print(f"armlabd.sim: {error}", file=sys.stderr)
        return 2
    except AlreadyRunning as error:
        print(f"armlabd.sim: {error}", file=sys.stderr)
        return 3
    if args.realtime:
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    process.run(lambda: _announce(process))
    return 0


if __name__ == "__main__":
    sys.exit(main())
