"""What the bus has counted, and a snapshot of it that nobody can change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from armlabd.bus.errors import Cause
from armlabd.bus.fixed import FixedRead


class ServoStatistics(NamedTuple):
    """One servo: requests to it, answers that counted, misses by cause, answers with error bits."""

    asked: int
    answered: int
    missed: int
    with_error_bits: int
    causes: Mapping[Cause, int]


class Statistics(NamedTuple):
    """Everything counted since the start.

    `drains` are waits for a quiet line after a miss; `discarded_bytes` came when nothing was asked;
    `noise_bytes` stood between frames; `stray_frames` were whole but of another id or length.
    `echoes` are requests that the adapter sent back; `foreign` counts what another program wrote.
    """

    transactions: int
    retries: int
    drains: int
    probes: int
    discarded_bytes: int
    noise_bytes: int
    stray_frames: int
    echoes: int
    foreign: int
    causes: Mapping[Cause, int]
    servos: Mapping[int, ServoStatistics]


class Counters:
    """The running counts; may outlive a `Master` when the port is opened again."""

    def __init__(self) -> None:
        self.transactions = 0
        self.retries = 0
        self.drains = 0
        self.probes = 0
        self.discarded_bytes = 0
        self.noise_bytes = 0
        self.stray_frames = 0
        self.echoes = 0
        self.foreign = 0
        self.asked: Counter[int] = Counter()
        self.answered: Counter[int] = Counter()
        self.with_error_bits: Counter[int] = Counter()
        self.misses: Counter[tuple[int, Cause]] = Counter()
        self._regular: dict[FixedRead, int] = {}

    def ask(self, ids: Iterable[int]) -> None:
        """One request to `ids`."""
        self.transactions += 1
        for id in ids:
            self.asked[id] += 1

    def answer(self, id: int, error_bits: int) -> None:
        """An answer that counted."""
        self.answered[id] += 1
        if error_bits:
            self.with_error_bits[id] += 1

    def count_regular(self, form: FixedRead, data: bytes) -> None:
        """A fixed read that all answered regularly: `ask` and `answer` for all of them."""
        self._regular[form] = self._regular.get(form, 0) + 1
        if form.errors(data) != form.no_errors:
            for id, error_bits in zip(form.ids, form.errors(data), strict=True):
                self.with_error_bits[id] += error_bits > 0

    def _settle(self) -> None:
        """Bring the regular reads into the books of each servo."""
        for form, count in self._regular.items():
            self.transactions += count
            for id in form.ids:
                self.asked[id] += count
                self.answered[id] += count
        self._regular.clear()

    def snapshot(self) -> Statistics:
        """An immutable copy."""
        self._settle()
        causes: Counter[Cause] = Counter()
        for (_, cause), count in self.misses.items():
            causes[cause] += count
        ids = sorted({*self.asked, *(id for id, _ in self.misses)})
        return Statistics(
            self.transactions,
            self.retries,
            self.drains,
            self.probes,
            self.discarded_bytes,
            self.noise_bytes,
            self.stray_frames,
            self.echoes,
            self.foreign,
            MappingProxyType(dict(causes)),
            MappingProxyType({id: self._servo(id) for id in ids}),
        )

    def _servo(self, id: int) -> ServoStatistics:
        """The counts of one servo."""
        causes = {cause: count for (of, cause), count in self.misses.items() if of == id}
        return ServoStatistics(
            self.asked[id],
            self.answered[id],
            sum(causes.values()),
            self.with_error_bits[id],
            MappingProxyType(causes),
        )
