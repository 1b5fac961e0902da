"""What can be wrong with one virtual servo beyond what its registers say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from armlabd.sim import memory as at

TURN: Final = 4096
SENSOR_BIT: Final = 0x02
FOR_EVER: Final = -1
SPIKE_LOAD: Final = 1000  # 0.1 %
SPIKE_CURRENT: Final = 480  # of 6.5 mA, 3.1 A


@dataclass(slots=True)
class Illness:
    """The faults of one servo; reads are counted down, `FOR_EVER` never ends."""

    stuck: bool = False  # takes goals and does not go there
    sensor: bool = False  # the angle sensor's error bit
    jump_steps: int = 0  # shown on top of the true position
    jump_reads: int = 0
    spike_reads: int = 0  # load and current at their highest

    @property
    def bits(self) -> int:
        """Error bits on top of those of the protection."""
        return SENSOR_BIT if self.sensor else 0

    def show(self, memory: bytearray) -> None:
        """Change what the next read of the measurements finds."""
        if self.jump_reads:
            self.jump_reads -= self.jump_reads > 0
            place = at.signed(at.word(memory, at.POSITION), 15) + self.jump_steps
            several = memory[at.PHASE] & 0x10
            at.put(memory, at.POSITION, 2, at.unsigned(place if several else place % TURN, 15))
        if self.spike_reads:
            self.spike_reads -= self.spike_reads > 0
            at.put(memory, at.LOAD, 2, SPIKE_LOAD)
            at.put(memory, at.CURRENT, 2, SPIKE_CURRENT)
