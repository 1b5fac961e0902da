"""A worker that is lost at any point: a named cause, a fresh start, and never the daemon's end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from odd_worker import WAYS
from questions import ENDLESS, is_plan, question

from armlabd.inference import memory, process, smolvlm
from armlabd.inference.backend import ModelError, Warmth
from armlabd.inference.settings import WorkerSettings
from armlabd.inference.smolvlm import SmolVlm
from armlabd.verdict import Code

pytestmark = pytest.mark.real
WARMTH = {"load": Warmth.LOADING, "answer": Warmth.WARM}
ODD = Path(__file__).parent / "odd_worker.py"


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def odd(
    way: str, folder: Path, monkeypatch: pytest.MonkeyPatch, clock: Clock | None = None
) -> SmolVlm:
    monkeypatch.setattr(process, "WORKER", (str(ODD), way))
    monkeypatch.setattr(smolvlm, "GRACE_S", 0.0)
    monkeypatch.setattr(smolvlm, "SETTLE_S", 0.05)
    settings = WorkerSettings(str(folder), "odd", load_s=30.0)
    return SmolVlm(settings, clock=clock) if clock else SmolVlm(settings)


async def refused(backend: SmolVlm, **more: float) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await backend.answer(question(**more))
    assert backend.pid is None
    return caught.value


@pytest.mark.parametrize("when", ["", "load-"])
@pytest.mark.parametrize(
    ("way", "code", "said"),
    [
        ("garbage", Code.MODEL_LOST, "no JSON"),
        ("endless_line", Code.MODEL_LOST, "without an end"),
        ("no_object", Code.MODEL_LOST, "no message"),
        ("cut", Code.MODEL_LOST, "exit 0"),
        ("ends", Code.MODEL_LOST, "exit 3; the library said no"),
        ("crashes", Code.MODEL_LOST, "SIGSEGV"),
        ("no_memory", Code.MODEL_MEMORY, "bad_alloc"),
        ("killed", Code.MODEL_LOST, "SIGKILL"),
    ],
)
async def test_each_end_has_its_cause(
    when: str, way: str, code: Code, said: str, tiny_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = odd(when + way, tiny_folder, monkeypatch)
    error = await refused(backend)
    assert error.code is code
    assert said in error.sentence
    state = await backend.state()
    assert (state.warmth, state.detail) == (Warmth.FAILED, error.sentence)
    await backend.close()


def test_every_way_of_the_odd_worker_is_used() -> None:
    assert set(WAYS) == {
        *("garbage", "endless_line", "no_object", "cut", "ends", "crashes", "no_memory"),
        *("killed", "deaf", "chatty"),
    }


async def test_the_kernels_kill_for_lack_of_memory_is_told_apart(
    tiny_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kills = iter([3, 4])
    monkeypatch.setattr(memory, "oom_kills", lambda: next(kills))
    error = await refused(odd("killed", tiny_folder, monkeypatch))
    assert error.code is Code.MODEL_MEMORY
    assert "kernel" in error.sentence


async def test_a_deaf_worker_is_ended_at_the_limit(
    tiny_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = await refused(odd("deaf", tiny_folder, monkeypatch), answer_s=0.1)
    assert error.code is Code.MODEL_TIMEOUT


async def test_a_deaf_worker_is_ended_at_the_load_limit(
    tiny_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "WORKER", (str(ODD), "load-deaf"))
    error = await refused(SmolVlm(WorkerSettings(str(tiny_folder), "odd", load_s=0.3)))
    assert error.code is Code.MODEL_TIMEOUT


async def test_a_deaf_worker_is_ended_when_its_question_is_taken_back(
    tiny_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = odd("deaf", tiny_folder, monkeypatch)
    await backend.warm()
    task = asyncio.create_task(backend.answer(question()))
    await asyncio.sleep(0.05)
    pid = backend.pid
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert backend.pid == pid  # nobody waited for it
    monkeypatch.setattr(process, "WORKER", (str(ODD), "chatty"))
    assert (await backend.answer(question())).text == "{}"
    assert backend.pid != pid
    await backend.close()


async def test_closing_ends_what_is_still_letting_go(
    tiny_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = odd("deaf", tiny_folder, monkeypatch)
    monkeypatch.setattr(smolvlm, "SETTLE_S", 600.0)
    await backend.warm()
    task = asyncio.create_task(backend.answer(question()))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await backend.close()
    assert backend.pid is None


async def test_what_libraries_print_and_answers_to_others_are_passed_over(
    tiny_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = odd("chatty", tiny_folder, monkeypatch)
    assert (await backend.answer(question())).text == "{}"
    await backend.close()


async def test_losses_in_a_row_are_waited_for_longer_and_longer(
    tiny_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    backend = odd("ends", tiny_folder, monkeypatch, clock)
    await refused(backend)
    second = await refused(backend)  # the first one is tried again at once
    assert "exit 3" in second.sentence
    waiting = await refused(backend)
    assert "in 2 s" in waiting.sentence
    clock.now_s += 2.0
    assert "After" not in (await refused(backend)).sentence
    clock.now_s += 9.0
    assert "in 1 s" in (await refused(backend)).sentence
    await backend.close()


async def test_killed_and_frozen_at_any_point_of_a_real_answer(
    smolvlm: SmolVlm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARM_OPERATOR_KEY", "a-key-that-is-no-key")
    monkeypatch.setattr("armlabd.inference.smolvlm.RESTART_DELAYS_S", (0.0,))
    monkeypatch.setattr("armlabd.inference.smolvlm.GRACE_S", 0.0)
    for sent, warm, answer_s in (
        (signal.SIGKILL, False, 60.0),
        (signal.SIGKILL, True, 60.0),
        (signal.SIGSTOP, True, 0.3),
    ):
        if warm:
            await smolvlm.warm()
        task = asyncio.create_task(
            smolvlm.answer(question(schema=ENDLESS, max_tokens=1700, answer_s=answer_s))
        )
        while smolvlm.pid is None:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        os.kill(smolvlm.pid, sent)
        with pytest.raises(ModelError) as caught:
            await task
        frozen = sent == signal.SIGSTOP
        assert caught.value.code is (Code.MODEL_TIMEOUT if frozen else Code.MODEL_LOST)
    assert is_plan((await smolvlm.answer(question())).text)
    gets_no_keys_and_goes_first(smolvlm.pid)
    await idle_death(smolvlm)


def gets_no_keys_and_goes_first(pid: int | None) -> None:
    assert pid is not None
    proc = Path(f"/proc/{pid}")
    assert b"ARM_" not in (proc / "environ").read_bytes()
    assert int((proc / "oom_score_adj").read_text()) == 900
    assert os.getpriority(os.PRIO_PROCESS, pid) > os.getpriority(os.PRIO_PROCESS, 0)


async def idle_death(backend: SmolVlm) -> None:
    """A worker that is killed while nobody asks is noticed, and replaced at the next question."""
    pid = backend.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    while backend.pid == pid:
        await asyncio.sleep(0.01)
    state = await backend.state()
    assert state.warmth is Warmth.FAILED
    assert "SIGKILL" in state.detail
    assert is_plan((await backend.answer(question())).text)


async def test_unloading_in_the_middle_ends_the_question_and_the_load(
    tiny_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = odd("deaf", tiny_folder, monkeypatch)
    for moment in ("load", "answer"):
        task = asyncio.create_task(backend.answer(question()))
        while backend.pid is None or (await backend.state()).warmth is not WARMTH[moment]:
            await asyncio.sleep(0.01)
        await backend.unload()
        with pytest.raises(ModelError, match="unloaded"):
            await task
        assert backend.pid is None
    await backend.close()


async def test_a_load_outlives_who_waited_for_it(
    tiny_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = odd("chatty", tiny_folder, monkeypatch)
    task = asyncio.create_task(backend.answer(question()))
    while backend.pid is None:
        await asyncio.sleep(0.01)
    pid = backend.pid
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await backend.state()).warmth is Warmth.LOADING
    assert (await backend.answer(question())).text == "{}"
    assert backend.pid == pid
    await backend.close()


async def test_a_closed_backend_answers_no_more(
    tiny_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = odd("chatty", tiny_folder, monkeypatch)
    await backend.close()
    assert (await refused(backend)).code is Code.NO_MODEL


async def test_an_idle_model_is_unloaded_after_its_time(
    tiny_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "WORKER", (str(ODD), "chatty"))
    backend = SmolVlm(WorkerSettings(str(tiny_folder), "odd", idle_unload_s=0.05))
    await backend.answer(question())
    while backend.pid is not None:
        await asyncio.sleep(0.01)
    assert (await backend.state()).warmth is Warmth.COLD
    await backend.close()


PARENT = textwrap.dedent("""
    import asyncio, os, signal, sys
    from armlabd.inference.settings import WorkerSettings
    from armlabd.inference.smolvlm import SmolVlm

    async def main():
        backend = SmolVlm(WorkerSettings(sys.argv[1], "tiny"))
        task = asyncio.create_task(backend.warm())
        if sys.argv[2] == "loaded":
            await task
        while backend.pid is None:
            await asyncio.sleep(0.01)
        print(backend.pid, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)

    asyncio.run(main())
""")


@pytest.mark.parametrize("when", ["loading", "loaded"])
def test_a_worker_whose_daemon_is_killed_ends(when: str, tiny_folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PARENT, str(tiny_folder), when],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    wait_gone(int(done.stdout))


def wait_gone(pid: int) -> None:
    """Until a process that is not our child has ended. A zombie has."""
    with contextlib.suppress(ProcessLookupError, FileNotFoundError):
        descriptor = os.pidfd_open(pid)
        try:
            import select

            assert select.select([descriptor], [], [], 60.0)[0], "the worker lives on"
        finally:
            os.close(descriptor)


async def test_a_worker_that_cannot_be_started_is_said(
    tiny_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tiny_folder / "no-such-python"))
    error = await refused(SmolVlm(WorkerSettings(str(tiny_folder), "tiny")))
    assert error.code is Code.MODEL_LOST
    assert "could not be started" in error.sentence
