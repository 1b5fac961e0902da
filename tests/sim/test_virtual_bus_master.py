"""The real master against the virtual bus, in one process and in virtual time."""

from __future__ import annotations

import pytest

from armlabd.bus.errors import NoAnswer, PortLost
from armlabd.bus.master import Master, torque_off_frame
from armlabd.clock import VirtualClock
from armlabd.sim.arm import VirtualArm
from armlabd.sim.calibration import JOINTS
from armlabd.sim.inprocess import InProcessCable, InProcessTransport
from armlabd.sim.world import World

IDS = (1, 2, 3, 4, 5, 6)


class Rig:
    def __init__(self) -> None:
        self.clock = VirtualClock(100.0)
        self.arm = VirtualArm(World())
        self.cable = InProcessCable(self.arm, self.clock, PortLost)
        self.transport = self.cable.open()
        self.master = Master(self.transport, self.clock)


@pytest.fixture
def rig() -> Rig:
    return Rig()


def test_the_master_reads_all_six(rig: Rig) -> None:
    block = rig.master.read_block(IDS)
    assert block.no_answer is None
    shown = {i: reading.feedback.position for i, reading in block.servos.items()}
    assert shown == {servo.id: servo.present_position() for servo in rig.arm.servos}


def test_the_master_moves_a_joint_and_sees_it_arrive(rig: Rig) -> None:
    rig.master.write(1, "goal_position", 1500)
    rig.master.write(1, "torque_enable", 1)
    rig.clock.sleep(2.0)
    assert rig.master.read(1, "present_position").value == pytest.approx(1500, abs=2)
    assert rig.master.read(1, "moving").value == 0


def test_the_registers_hold_the_calibration(rig: Rig) -> None:
    for spec in JOINTS.values():
        assert rig.master.read(spec.id, "homing_offset").value == spec.homing_offset
        assert rig.master.read(spec.id, "min_position_limit").value == spec.range_min
        assert rig.master.read(spec.id, "max_position_limit").value == spec.range_max


def test_the_masters_eeprom_write_survives_a_power_cycle(rig: Rig) -> None:
    rig.master.write_eeprom(2, "p_coefficient", 16)
    rig.arm.power_cycle()
    assert rig.master.read(2, "p_coefficient").value == 16


def test_the_torque_off_frame_makes_all_limp_and_is_stamped(rig: Rig) -> None:
    for servo in rig.arm.servos:
        servo.write(40, b"\x01")
    rig.transport.write(torque_off_frame())
    rig.clock.sleep(0.001)
    assert not any(servo.torque_on for servo in rig.arm.servos)
    (stamp,) = rig.arm.bus.stamps.since(0, "torque_off")
    assert stamp["t_ns"] == pytest.approx(100.0e9 + 80_000, abs=100)


def test_a_mute_servo_is_named(rig: Rig) -> None:
    rig.arm.bus.faults.muted.add(3)
    block = rig.master.read_block(IDS)
    assert block.no_answer is not None
    assert block.no_answer.ids == (3,)
    with pytest.raises(NoAnswer):
        rig.master.ping(3)


def test_one_late_answer_never_turns_up_as_a_newer_one(rig: Rig) -> None:
    rig.master.read_block(IDS)
    rig.arm.bus.faults.late_s, rig.arm.bus.faults.late_once = 0.120, True
    truth = rig.arm.servos[0]
    for place in range(200):
        truth.motor.place(1000.0 + place)
        block = rig.master.read_block((1,))
        for reading in block.servos.values():
            assert reading.feedback.position == truth.present_position()
        rig.clock.sleep(0.01)


def test_unplugging_is_a_lost_port_and_a_new_one_works_after_replugging(rig: Rig) -> None:
    rig.cable.unplug()
    with pytest.raises(PortLost):
        rig.master.ping(1)
    with pytest.raises(PortLost):
        rig.cable.open()
    rig.cable.plug()
    with pytest.raises(PortLost):
        rig.transport.discard_input()
    Master(rig.cable.open(), rig.clock).ping(1)


def test_a_closed_transport_stays_closed() -> None:
    clock = VirtualClock()
    transport = InProcessTransport(VirtualArm(World()), clock)
    transport.close()
    transport.close()
    with pytest.raises(OSError, match="virtual port is gone"):
        transport.write(b"")


def test_waiting_for_nothing_takes_exactly_until_the_deadline(rig: Rig) -> None:
    assert rig.transport.read(100.5) == b""
    assert rig.clock.monotonic() == 100.5
    assert rig.transport.read(100.2) == b""
    assert rig.clock.monotonic() == 100.5
