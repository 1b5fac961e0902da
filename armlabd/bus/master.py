"""Transactions on the bus: one request, the answers that belong to it, or the reason there is none.

One retry policy for everything. Input is emptied before each request; an answer counts only when
id, length and checksum fit and it cannot be a late one (`late`). Error bits are values next to the
data, never failures. Every reading carries the time its request was sent, so its age is never
understated. Nothing here polls without sleeping, and nothing knows what the servos are for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from armlabd.bus import frames
from armlabd.bus.counters import Counters, Statistics
from armlabd.bus.errors import Cause, NoAnswer, NotWritten
from armlabd.bus.fixed import FixedRead
from armlabd.bus.frames import BROADCAST_ID, Instruction
from armlabd.bus.port import Transport
from armlabd.bus.reading import BlockRead, BlockReading, Reading, Readings
from armlabd.bus.registers import (
    BLOCK_ADDRESS,
    BLOCK_BYTES,
    REGISTERS,
    TABLE_BYTES,
    Register,
    decode_block,
    encode_value,
)
from armlabd.bus.wire import Timing, Wire
from armlabd.clock import Clock

EEPROM_SETTLE_S = 0.3  # a read sooner may give garbage with a fitting checksum (bench of others)


class _Plan(NamedTuple):
    """A read made longer, if need be, so that no late answer fits it."""

    address: int
    total: int
    skip: int


def torque_off_frame() -> bytes:
    """The frame that makes every servo limp: a write of 0 to register 40, sent to all."""
    return frames.write(BROADCAST_ID, REGISTERS["torque_enable"].address, b"\x00")


def _register(register: Register | str) -> Register:
    """The table's entry; KeyError for an unknown name."""
    return REGISTERS[register] if isinstance(register, str) else register


def _writable(register: Register | str) -> Register:
    """The entry, if the master may write it; else ValueError."""
    found = _register(register)
    if found.access != "rw":
        raise ValueError(f"Register {found.name} is written by the servo alone.")
    return found


class Master:
    """The one owner of a transport. Not for use from two threads.

    `retries` is how often a transaction is tried again; every call takes its own, and `retries=0`
    is the single short attempt of a fixed cycle. Every call may raise `PortLost` (an OSError).
    """

    def __init__(
        self,
        transport: Transport,
        clock: Clock,
        *,
        retries: int = 2,
        timing: Timing | None = None,
        counters: Counters | None = None,
    ) -> None:
        self.counters = counters or Counters()
        self.timing = timing or Timing()
        self._clock = clock
        self._retries = retries
        self._wire = Wire(transport, clock, self.timing, self.counters)

    # --- questions

    def ping(self, id: int, *, retries: int | None = None) -> Reading:
        """Is servo `id` there? Raises NoAnswer."""
        for attempt in self._attempts(retries):
            if self._wire.late.doubtful(id, 0) or self._wire.late.rests(id):
                seen = self._read_once((id,), 5, 1, self._slack(retries), unicast=True).get(id)
            else:
                seen = self._ask_once(id, frames.ping(id), self._slack(retries))
            if seen:
                return seen._replace(data=b"")
            self._count_retry(attempt, retries)
        raise self._wire.no_answer((id,))

    def read(self, id: int, register: Register | str, *, retries: int | None = None) -> Reading:
        """One register of one servo; `.value` is the signed number. Raises NoAnswer."""
        entry = _register(register)
        found = self._read((id,), entry.address, entry.size, retries, unicast=True)
        if id not in found:
            raise self._wire.no_answer((id,))
        return found[id]._replace(register=entry)

    def sync_read(
        self, ids: Iterable[int], address: int, count: int, *, retries: int | None = None
    ) -> Readings:
        """The same bytes of several servos. Who does not answer is absent, and named inside."""
        return self._read(tuple(ids), address, count, retries, unicast=False)

    def read_block(self, ids: Iterable[int], *, retries: int | None = None) -> BlockRead:
        """Position to current of several servos in one transaction."""
        found = self.sync_read(ids, BLOCK_ADDRESS, BLOCK_BYTES, retries=retries)
        servos = {
            id: BlockReading(decode_block(reading.data), reading.error_bits, reading.at_s)
            for id, reading in found.items()
        }
        return BlockRead(servos, found.no_answer)

    def begin_fixed(self, form: FixedRead, order: bytes = b"") -> None:
        """Ask for a read that is made every cycle, if all is regular; `fixed_read` takes it in.

        `order`, a frame that nobody answers, is sent before it in any case.
        """
        if self._wire.calm(form.ids):
            self._wire.begin(form, self.timing.slack_s, order)
        elif order:
            self._wire.order(order)

    def fixed_read(self, form: FixedRead) -> tuple[bytes, float] | Readings:
        """One short attempt at a read that is made every cycle; begun before, or made now.

        The regular answer is the bytes as they came (`form` finds its way in them) and when they
        were asked for. While anything is irregular: the `sync_read` it stands for, without retries.
        """
        done = self._wire.finish(form)
        if done is None and self._wire.calm(form.ids):
            self._wire.begin(form, self.timing.slack_s)
            done = self._wire.finish(form)
        if done is None:
            return self._read(form.ids, form.address, form.count, 0, unicast=False)
        sent_s, answers = done
        if isinstance(answers, bytes):
            return answers, sent_s
        found = {id: Reading(frame.params, frame.error, sent_s) for id, frame in answers.items()}
        return self._readings(form.ids, found)

    # --- orders

    def write(
        self, id: int, register: Register | str, value: int, *, retries: int | None = None
    ) -> Reading:
        """Write one register and have it acknowledged; the reading carries the error bits.

        When a late acknowledgement could come, the register is read back instead. Raises NoAnswer,
        and ValueError for a value or register that cannot be written.
        """
        return self._write(id, register, value, Instruction.WRITE, retries)

    def reg_write(
        self, id: int, register: Register | str, value: int, *, retries: int | None = None
    ) -> Reading:
        """Like `write`, but the servo waits for `action`. Raises NoAnswer."""
        return self._write(id, register, value, Instruction.REG_WRITE, retries)

    def action(self) -> None:
        """Have all servos carry out what waits. Nobody answers."""
        self._wire.order(frames.action())

    def sync_write(self, register: Register | str, values: Mapping[int, int]) -> None:
        """Write one register of several servos at once. Nobody answers."""
        entry = _writable(register)
        data = {id: encode_value(entry, value) for id, value in values.items()}
        self.sync_write_bytes(entry.address, data)

    def sync_write_bytes(self, address: int, data: Mapping[int, bytes]) -> None:
        """Write neighbouring registers of several servos at once. Nobody answers."""
        self._wire.order(frames.sync_write(address, data))

    def order(self, request: bytes) -> None:
        """Send a frame made beforehand that nobody answers."""
        self._wire.order(request)

    def order_now(self, request: bytes) -> None:
        """Send a frame made beforehand that nobody answers, without waiting for a quiet line."""
        self._wire.send_now(request)

    def broadcast_write(self, register: Register | str, value: int) -> None:
        """Write one register of all servos, at once and without waiting for a quiet line."""
        entry = _writable(register)
        self._wire.send_now(frames.write(BROADCAST_ID, entry.address, encode_value(entry, value)))

    def write_eeprom(
        self, id: int, register: Register | str, value: int, *, settle_s: float = EEPROM_SETTLE_S
    ) -> bool:
        """Make a setting survive power-off: unlock, write, settle, read back, lock, verify.

        False when the servo held the value already and nothing was written. Torque is not touched;
        switch it off first where that matters (homing_offset). Sleeps `settle_s` on the clock.
        Raises NoAnswer, NotWritten, and ValueError for a register that cannot be set like this.
        """
        entry = _writable(register)
        if not entry.eeprom or entry.name == "baud_rate":
            raise ValueError(f"Register {entry.name} is no setting that write_eeprom can make.")
        encode_value(entry, value)
        if self.read(id, entry).value == value:
            return False
        now_id = value if entry.name == "id" else id
        self.write(id, "lock", 0)
        try:
            self._write(id, entry, value, Instruction.WRITE, None, look_at=now_id)
            self._clock.sleep(settle_s)
            found = self.read(now_id, entry).value
        finally:
            self._lock(now_id, id)
        if found != value:
            raise NotWritten(now_id, entry.name, value, found)
        if (lock := self.read(now_id, "lock").value) != 1:
            raise NotWritten(now_id, "lock", 1, lock)
        return True

    def _lock(self, *ids: int) -> None:
        """Lock the settings of the first of `ids` that answers; NoAnswer when none does."""
        for id in dict.fromkeys(ids):
            try:
                self.write(id, "lock", 1)
            except NoAnswer as error:
                failure = error
            else:
                return
        raise failure

    def last_cause(self, id: int) -> Cause | None:
        """Why the last answer of `id` that did not count did not; None when all have."""
        return self._wire.last_cause(id)

    def rest_s(self, id: int) -> float:
        """How long servo `id` still rests, after many misses, before it is asked anything."""
        return max(0.0, self._wire.late.rest_s(id, self._clock.monotonic()))

    def statistics(self) -> Statistics:
        """An immutable snapshot of all counters."""
        return self.counters.snapshot()

    # --- one attempt

    def _read(
        self, ids: tuple[int, ...], address: int, count: int, retries: int | None, *, unicast: bool
    ) -> Readings:
        """Read with retries; each retry asks only those who have not answered."""
        found: dict[int, Reading] = {}
        missing = ids
        for attempt in self._attempts(retries):
            found |= self._read_once(missing, address, count, self._slack(retries), unicast=unicast)
            if len(found) == len(ids):
                break
            missing = tuple(id for id in ids if id not in found)
            self._count_retry(attempt, retries)
        return self._readings(ids, found)

    def _readings(self, ids: tuple[int, ...], found: Mapping[int, Reading]) -> Readings:
        """What was found, in the order asked for, and who is missing."""
        readings = Readings((id, found[id]) for id in ids if id in found)
        if missing := tuple(id for id in ids if id not in found):
            readings.no_answer = self._wire.no_answer(missing)
        return readings

    def _read_once(
        self, ids: tuple[int, ...], address: int, count: int, slack_s: float, *, unicast: bool
    ) -> dict[int, Reading]:
        """One attempt at those servos that do not rest."""
        asked, plan = ids, _Plan(address, count, 0)
        if self._wire.late.owed:
            asked, plan = self._avoid_late(ids, address, count, slack_s)
        if not asked:
            return {}
        make = frames.read(asked[0], *plan[:2]) if unicast else frames.sync_read(asked, *plan[:2])
        sent_s, answers = self._wire.transact(make, dict.fromkeys(asked, plan.total), slack_s)
        end = plan.skip + count
        return {
            id: Reading(frame.params[plan.skip : end], frame.error, sent_s)
            for id, frame in answers.items()
        }

    def _avoid_late(
        self, ids: tuple[int, ...], address: int, count: int, slack_s: float
    ) -> tuple[tuple[int, ...], _Plan]:
        """Whom to ask, and for which bytes, while late answers may come."""
        self._probe(ids, slack_s)
        asked = tuple(id for id in ids if not self._wire.late.rests(id))
        plan = self._plan(asked, address, count)
        if plan is None:
            asked = ()
        for id in ids:
            if id not in asked:
                self._wire.rest(id)
        return asked, plan or _Plan(address, count, 0)

    def _plan(self, ids: tuple[int, ...], address: int, count: int) -> _Plan | None:
        """Lengthen the read until none of `ids` owes an answer of that length."""
        total = self._wire.late.safe_bytes(ids, count)
        if total == count:
            return _Plan(address, count, 0)
        start = min(address, TABLE_BYTES - total)
        return _Plan(start, total, address - start) if start >= 0 else None

    def _probe(self, ids: tuple[int, ...], slack_s: float) -> None:
        """Try the servos that have rested long enough; who answers is asked again from now on."""
        now_s = self._clock.monotonic()
        due = tuple(id for id in ids if self._wire.late.probe_due(id, now_s))
        plan = self._plan(due, 0, 1) if due else None
        if plan is None:
            return
        self.counters.probes += 1
        request = frames.sync_read(due, *plan[:2])
        self._wire.transact(request, dict.fromkeys(due, plan.total), slack_s)
        self._wire.expect_noise()  # older answers may be behind those of the probe

    def _ask_once(self, id: int, request: bytes, slack_s: float) -> Reading | None:
        """One request that is answered without data."""
        sent_s, answers = self._wire.transact(request, {id: 0}, slack_s)
        return Reading(b"", answers[id].error, sent_s) if id in answers else None

    def _write(
        self,
        id: int,
        register: Register | str,
        value: int,
        instruction: Instruction,
        retries: int | None,
        *,
        look_at: int | None = None,
    ) -> Reading:
        """Write with retries. `look_at`: read back there instead of waiting for the answer."""
        entry = _writable(register)
        data = encode_value(entry, value)
        request = frames.encode(id, instruction, bytes((entry.address,)) + data)
        slack_s = self.timing.flash_s if entry.eeprom else self._slack(retries)
        target = id if look_at is None else look_at
        for attempt in self._attempts(retries):
            if target != id or self._wire.late.doubtful(id, 0) or self._wire.late.rests(id):
                done = self._write_and_look(request, entry, data, id, target, slack_s)
            else:
                done = self._ask_once(id, request, slack_s)
            if done:
                return done
            self._count_retry(attempt, retries)
        raise self._wire.no_answer((target,))

    def _write_and_look(
        self, request: bytes, entry: Register, data: bytes, id: int, target: int, slack_s: float
    ) -> Reading | None:
        """Write, let any acknowledgement pass unbelieved, and read the register back."""
        self._wire.let_pass(request, {id: 0, target: 0}, slack_s)
        args = (target,), entry.address, entry.size, slack_s
        seen = self._read_once(*args, unicast=True).get(target)
        if seen is None or seen.data == data:
            return seen and seen._replace(data=b"")
        self._wire.count_miss(target, Cause.UNCONFIRMED)
        return None

    def _attempts(self, retries: int | None) -> range:
        """One attempt and the retries."""
        return range(1 + (self._retries if retries is None else retries))

    def _slack(self, retries: int | None) -> float:
        """A single attempt waits briefly; an attempt with retries waits long."""
        single = len(self._attempts(retries)) == 1
        return self.timing.slack_s if single else self.timing.patient_slack_s

    def _count_retry(self, attempt: int, retries: int | None) -> None:
        """Count an attempt that will be repeated."""
        self.counters.retries += attempt + 1 < len(self._attempts(retries))
