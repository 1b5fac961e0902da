"""Inside the emulated machine: runs commands for the tests, one JSON line each way."""

from __future__ import annotations

import json
import os
import subprocess
import time

PORT = "/dev/virtio-ports/armlab.bench"


def carried_out(asked: dict[str, object]) -> dict[str, object]:
    """Run `argv`; what came of it."""
    argv = asked["argv"]
    assert isinstance(argv, list)
    try:
        done = subprocess.run(argv, capture_output=True, text=True, errors="replace", timeout=120)
    except (OSError, subprocess.TimeoutExpired) as error:
        return {"code": 127, "out": "", "err": str(error)}
    return {"code": done.returncode, "out": done.stdout, "err": done.stderr}


def main() -> None:
    """Serve for ever."""
    while not os.path.exists(PORT):
        time.sleep(0.1)
    with open(PORT, "r+b", buffering=0) as port:
        waiting = b""
        while True:
            waiting += port.read(65_536) or b""
            while b"\n" in waiting:
                line, waiting = waiting.split(b"\n", 1)
                answer = {**carried_out(json.loads(line)), "id": json.loads(line)["id"]}
                port.write(json.dumps(answer).encode() + b"\n")


if __name__ == "__main__":
    main()
