"""The virtual arm: servos, bus, table, blocks and camera that speak the real thing's bytes."""

from __future__ import annotations

from armlabd.sim.calibration import calibration_json

__all__ = ["calibration_json"]
