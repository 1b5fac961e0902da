"""Models in the daemon: what is chosen, what is listed, swapping, falling back, over a restart."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from ollama_stand_in import OOM, OllamaStandIn, ollama
from tiny import build_tiny

from armlabd.config.load import parse_config
from armlabd.daemon import planners
from armlabd.daemon.choice import Choice, ChoiceFile, read_choice
from armlabd.daemon.planners import ModelHouse, models_folder
from armlabd.gate.roles import Caller, Role
from armlabd.inference import memory
from armlabd.inference.catalog import Catalog
from armlabd.plan.planner import Planned
from armlabd.plan.question import Question
from armlabd.verdict import Code, Verdict

PERSON = Caller("lab", Role.OPERATOR)
Settings = dict[str, Any]


@pytest.fixture
async def server() -> AsyncIterator[OllamaStandIn]:
    async with ollama() as stand_in:
        stand_in.add("one:1b", abilities=("completion", "vision"))
        stand_in.add("two:1b")
        stand_in.add("blind:1b", abilities=("embedding",))
        stand_in.add("far:120b-cloud")
        yield stand_in


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planners, "WATCH_S", 0.02)


def settings(server: OllamaStandIn, model: str = "", **more: Any) -> Settings:
    ollama = {"url": server.url, "model": model}
    return {"planner": {"ollama": ollama, **more.pop("planner", {})}, **more}


@asynccontextmanager
async def house(state: Path, given: Settings) -> AsyncIterator[ModelHouse]:
    one = ModelHouse(parse_config(given), state, catalog=Catalog())
    await one.start()
    try:
        yield one
    finally:
        await one.close()


async def until(one: ModelHouse, *states: str, job: str = "planner") -> dict[str, Any]:
    """What is told of a job, once it is in one of the states."""
    async with asyncio.timeout(60):  # rather a failure than a test that hangs
        while True:
            told: dict[str, Any] = (await one.listed())[job]
            if told["state"] in states:
                return told
            await asyncio.sleep(0.01)


async def use(one: ModelHouse, model: str, job: str = "planner") -> Verdict:
    backend, _, name = model.partition(":")
    return await one.use(job, {"backend": backend, **({"model": name} if name else {})}, PERSON)


def row_of(listed: dict[str, Any], model: str) -> dict[str, Any]:
    found: dict[str, Any] = next(row for row in listed["models"] if row["model"] == model)
    return found


# --- what is chosen -------------------------------------------------------------------------------


async def test_without_a_model_the_rules_plan_and_nobody_is_asked(
    server: OllamaStandIn, tmp_path: Path
) -> None:
    async with house(tmp_path, settings(server)) as one:
        status = one.status()
        assert (one.planner.name, status["backend"], status["state"]) == ("rules", "rules", "warm")
        assert one.vision is None
    assert server.seen == []


async def test_case_74_the_model_is_warmed_at_the_start(
    server: OllamaStandIn, tmp_path: Path
) -> None:
    async with house(tmp_path, settings(server, "one:1b")) as one:
        told = await until(one, "warm")
        assert (told["model"], told["chosen_by"]) == ("one:1b", "config")
        assert one.planner.name == "ollama:one:1b"
    assert server.loads == 1


async def test_auto_takes_the_first_of_two_that_is_there(
    server: OllamaStandIn, tmp_path: Path
) -> None:
    tiny = build_tiny(tmp_path / "tiny", vision=False)
    both = settings(server, "gone:7b", planner={"smolvlm": {"model": str(tiny), "variant": "fp32"}})
    async with house(tmp_path, both) as one:
        told = await until(one, "cold", "loading", "warm", "absent", "failed")
        assert (told["backend"], told["model"]) == ("smolvlm", str(tiny))


async def test_a_start_waits_for_no_model(server: OllamaStandIn, tmp_path: Path) -> None:
    server.faults.load_s = 30.0
    async with house(tmp_path, settings(server, "one:1b")) as one:
        assert (await until(one, "loading"))["model"] == "one:1b"


async def test_case_75_status_tells_cold_loading_and_warm(
    server: OllamaStandIn, tmp_path: Path
) -> None:
    server.faults.load_s = 0.3
    async with house(tmp_path, settings(server, "one:1b")) as one:
        assert (await until(one, "loading"))["state"] == one.status()["state"] == "loading"
        assert (await until(one, "warm"))["facts"]["window"] == 8192
        server.expire("one:1b")
        await until(one, "cold")
        assert one.status()["state"] == "cold"
    assert {body["keep_alive"] for body in server.asked} == {3600}


# --- what is listed -------------------------------------------------------------------------------


async def test_the_list_tells_what_is_there_and_what_is_loaded(
    server: OllamaStandIn, tmp_path: Path
) -> None:
    async with house(tmp_path, settings(server, "one:1b")) as one:
        await until(one, "warm")
        listed = await one.listed()
    assert listed["ollama"]["state"] == "up"
    assert row_of(listed, "one:1b")["state"] == "warm"
    assert row_of(listed, "one:1b")["used_for"] == ["planner"]
    assert row_of(listed, "one:1b")["can"] == ["plan", "see"]
    assert row_of(listed, "two:1b")["state"] == "cold"
    assert row_of(listed, "far:120b-cloud")["state"] == "refused"
    assert json.dumps(listed)


async def test_a_model_pulled_on_the_board_appears_without_a_restart(
    server: OllamaStandIn, tmp_path: Path
) -> None:
    async with house(tmp_path, settings(server, "new:3b")) as one:
        told = await until(one, "absent")
        assert "armlabd models fetch new:3b" in told["next"]
        assert all(row["model"] != "new:3b" for row in (await one.listed())["models"])
        server.add("new:3b")
        assert row_of(await one.listed(), "new:3b")
        assert (await until(one, "warm"))["next"] == ""
    assert server.loads == 1


async def test_no_server_is_told_with_the_remedy_and_the_catalog_still_listed(
    tmp_path: Path,
) -> None:
    async with ollama() as server:
        given = settings(server, "one:1b")
    one = ModelHouse(parse_config(given), tmp_path)
    await one.start()
    told = await until(one, "failed")
    listed = await one.listed()
    await one.close()
    assert "systemctl start ollama" in told["next"]
    assert listed["ollama"]["state"] == "gone"
    assert row_of(listed, "smolvlm-256m")["next"] == "armlabd models fetch smolvlm-256m"
    assert row_of(listed, "smolvlm-256m")["box_format"] == "none"


async def test_folders_are_listed_without_a_catalog(server: OllamaStandIn, tmp_path: Path) -> None:
    build_tiny(tmp_path / "models" / "mine")
    async with house(tmp_path, settings(server)) as one:
        row = row_of(await one.listed(), "mine")
    assert (row["backend"], row["state"]) == ("smolvlm", "cold")
    assert row["disk_bytes"] > 0


def test_real_and_virtual_arm_share_the_models() -> None:
    assert models_folder(Path("/s"), simulated=False) == Path("/s/models")
    assert models_folder(Path("/s/sim"), simulated=True) == Path("/s/models")


# --- swapping -------------------------------------------------------------------------------------


async def test_a_swap_frees_the_old_model_before_it_loads_the_new_one(
    server: OllamaStandIn, tmp_path: Path
) -> None:
    server.faults.free_s = 0.1
    async with house(tmp_path, settings(server, "one:1b")) as one:
        await until(one, "warm")
        assert (await use(one, "ollama:two:1b")).ok
        assert one.status()["state"] == "swapping"
        told = await until(one, "warm")
        assert (told["model"], told["chosen_by"]) == ("two:1b", "a person")
        assert one.planner.name == "ollama:two:1b"
    order = [(body["model"], body["keep_alive"]) for body in server.asked]
    assert order == [("one:1b", 3600), ("one:1b", 0), ("two:1b", 3600)]
    assert set(server.loaded) == {"two:1b"}


async def test_a_swap_that_fails_leaves_the_old_model(
    server: OllamaStandIn, tmp_path: Path
) -> None:
    async with house(tmp_path, settings(server, "one:1b")) as one:
        await until(one, "warm")
        server.faults.load_error = OOM
        assert (await use(one, "ollama:two:1b")).ok
        while one.status()["swapping_to"]:
            await asyncio.sleep(0.01)
        assert one.planner.name == "ollama:one:1b"
        assert "two:1b was not taken into use" in one.status()["last_swap"]
        assert "5.6 GiB" in one.status()["next"]
        server.faults.load_error = ""
    assert not (tmp_path / "models.json").exists()


async def test_a_newer_choice_takes_the_place_of_one_on_its_way(
    server: OllamaStandIn, tmp_path: Path
) -> None:
    async with house(tmp_path, settings(server)) as one:
        server.faults.load_s = 30.0
        assert (await use(one, "ollama:one:1b")).ok
        while not server.asked:
            await asyncio.sleep(0.01)
        assert (await use(one, "rules")).ok
        told = await until(one, "warm")
        assert told["backend"] == "rules"
        while not server.cancelled:  # nobody waits for it: the load is given up
            await asyncio.sleep(0.01)
    assert server.loads == 0


@pytest.mark.parametrize(
    ("model", "code", "words"),
    [
        ("ollama:gone:7b", Code.NO_MODEL, "armlabd models fetch gone:7b"),
        ("ollama:blind:1b", Code.NO_MODEL, "it can embedding, and completion is needed"),
        ("ollama:far:120b-cloud", Code.NO_MODEL, "runs elsewhere"),
        ("smolvlm:nothing", Code.NO_MODEL, "armlabd models fetch"),
    ],
)
async def test_what_cannot_be_used_is_refused_by_name_and_nothing_changes(
    server: OllamaStandIn, tmp_path: Path, model: str, code: Code, words: str
) -> None:
    async with house(tmp_path, settings(server)) as one:
        verdict = await use(one, model)
        assert (verdict.code, words in verdict.sentence) == (code, True), verdict.sentence
        assert one.status()["state"] == "warm"
    assert server.loads == 0


async def test_a_model_that_does_not_fit_is_refused_with_figures(
    server: OllamaStandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the model before it gives back counts as free."""
    server.add("large:8b", bytes=4 << 30)
    monkeypatch.setattr(memory, "available", lambda: 4 << 30)
    async with house(tmp_path, settings(server, "one:1b")) as one:
        await until(one, "warm")
        assert (await use(one, "ollama:large:8b")).ok  # 4.4 GiB, of 4 free and 1 given back
        await until(one, "warm")
        await use(one, "rules")
        await until(one, "warm")
        verdict = await use(one, "ollama:large:8b")
    assert verdict.code is Code.MODEL_MEMORY
    assert "needs about 4496 MiB of memory; 4096 MiB are free" in verdict.sentence


async def test_vision_is_swapped_apart_and_a_shared_model_stays(
    server: OllamaStandIn, tmp_path: Path
) -> None:
    async with house(tmp_path, settings(server, "one:1b")) as one:
        await until(one, "warm")
        assert (await use(one, "ollama:two:1b", "vision")).code is Code.NO_MODEL
        assert (await use(one, "ollama:one:1b", "vision")).ok
        assert (await until(one, "warm", job="vision"))["model"] == "one:1b"
        looker = one.vision
        assert looker is not None
        assert (looker.backend.model, looker.box_format) == ("one:1b", "none")
        await use(one, "rules")
        await until(one, "warm")
        assert "one:1b" in server.loaded  # it still looks
        await use(one, "none", "vision")
        while "one:1b" in server.loaded:
            await asyncio.sleep(0.01)
        assert one.vision is None


async def test_smolvlm_is_taken_into_use_and_its_memory_given_back(
    server: OllamaStandIn, tmp_path: Path
) -> None:
    build_tiny(tmp_path / "models" / "tiny")
    given = settings(server, planner={"smolvlm": {"variant": "fp32"}})
    async with house(tmp_path, given) as one:
        assert (await use(one, "smolvlm:tiny")).ok
        told = await until(one, "warm", "failed")
        assert (told["model"], told["state"]) == ("tiny", "warm"), told
        held = (await until(one, "warm"))["memory_bytes"]
        assert held > 0
        assert (await use(one, "ollama:one:1b")).ok
        assert (await until(one, "warm"))["model"] == "one:1b"


class SlowEnd:
    """A backend that takes its time to close."""

    def __init__(self) -> None:
        self.may, self.closed = asyncio.Event(), False

    async def close(self) -> None:
        await self.may.wait()
        self.closed = True


async def test_a_swap_that_is_given_up_leaves_no_backend_half_closed(
    server: OllamaStandIn, tmp_path: Path
) -> None:
    async with house(tmp_path, settings(server)) as one:
        backends, old = one._backends, SlowEnd()
        backends._made[Choice("ollama", "old:1b")] = old  # type: ignore[assignment]
        swap = asyncio.create_task(backends.keep_only(()))
        await asyncio.sleep(0)
        swap.cancel()
        with pytest.raises(asyncio.CancelledError):
            await swap
        asyncio.get_running_loop().call_soon(old.may.set)
        await backends.close()
        assert old.closed


# --- plans ----------------------------------------------------------------------------------------


class Slow:
    """A planner whose plan takes as long as the test wants; it tells when it was given up."""

    def __init__(self, name: str) -> None:
        self.name, self.begun, self.given_up = name, 0, 0
        self.done = asyncio.Event()

    async def plan(self, *_: Any, **__: Any) -> Planned:
        self.begun += 1
        try:
            await self.done.wait()
        except asyncio.CancelledError:
            self.given_up += 1
            raise
        return Planned(Question("?", (), Code.AMBIGUOUS, "goal"), self.name, note=f"by {self.name}")

    def needs_scene(self, goal: str) -> bool:
        return False


async def test_a_swap_during_a_run_affects_the_next_plan_only() -> None:
    """What is planned stays as it is; what is being generated is given up and planned anew."""
    old, new = Slow("old"), Slow("new")
    switch = planners.Switch(old)
    old.done.set()
    first = await switch.plan("a", None)  # type: ignore[arg-type]
    old.done.clear()
    second = asyncio.create_task(switch.plan("b", None))  # type: ignore[arg-type]
    while old.begun < 2:
        await asyncio.sleep(0)
    switch.hold()
    while not old.given_up:
        await asyncio.sleep(0)
    assert not second.done()
    switch.go_on(new)
    new.done.set()
    assert (await second).planner == "new"
    assert (first.planner, switch.note, switch.name) == ("old", "by new", "new")


async def test_a_plan_waits_for_a_swap_and_can_be_cancelled_meanwhile() -> None:
    planner = Slow("old")
    switch = planners.Switch(planner)
    switch.hold()
    waiting = asyncio.create_task(switch.plan("a", None))  # type: ignore[arg-type]
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    switch.go_on()
    going = asyncio.create_task(switch.plan("a", None))  # type: ignore[arg-type]
    while not planner.begun:
        await asyncio.sleep(0)
    going.cancel()
    with pytest.raises(asyncio.CancelledError):
        await going
    assert planner.given_up == 1


# --- over a restart -------------------------------------------------------------------------------


async def test_a_choice_survives_a_restart_and_config_counts_again_when_asked_to(
    server: OllamaStandIn, tmp_path: Path
) -> None:
    given = settings(server, "one:1b")
    async with house(tmp_path, given) as one:
        await until(one, "warm")
        await use(one, "ollama:two:1b")
        await until(one, "warm")
    async with house(tmp_path, given) as one:
        told = await until(one, "warm")
        assert (told["model"], told["chosen_by"]) == ("two:1b", "a person")
        assert (await use(one, "config")).ok
        told = await until(one, "warm")
        assert (told["model"], told["chosen_by"]) == ("one:1b", "config")
    async with house(tmp_path, given) as one:
        assert (await until(one, "warm"))["model"] == "one:1b"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "5",
        '{"planner": 5}',
        '{"planner": {"backend": "cloud"}}',
        '{"planner": {"backend": "ollama"}}',
        '{"planner": {"backend": "config"}}',
        '{"pilot": {"backend": "rules"}}',
        "[" * 5000,
    ],
)
async def test_a_broken_choice_file_leaves_the_settings_and_says_so(
    server: OllamaStandIn, tmp_path: Path, text: str
) -> None:
    (tmp_path / "models.json").write_text(text)
    async with house(tmp_path, settings(server)) as one:
        assert one.planner.name == "rules"
        assert "models.json cannot be read" in one.status()["next"]
        assert (await use(one, "rules")).ok
        await until(one, "warm")
        assert one.status()["next"] == ""


async def test_a_full_disk_swaps_all_the_same_and_says_that_it_forgets(
    server: OllamaStandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("armlabd.daemon.choice.write_atomic", full)
    async with house(tmp_path, settings(server)) as one:
        await use(one, "ollama:one:1b")
        told = await until(one, "warm")
    assert told["model"] == "one:1b"
    assert "not remembered over a restart (No space left on device)" in told["next"]


def test_choices_are_kept_apart(tmp_path: Path) -> None:
    file = ChoiceFile(tmp_path)
    file.keep("planner", Choice("ollama", "a:1b"))
    file.keep("vision", Choice("smolvlm", "b"))
    file.keep("planner", None)
    again = ChoiceFile(tmp_path)
    assert (again.of("planner"), again.of("vision")) == (None, Choice("smolvlm", "b"))


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, Code.MISSING),
        ({"backend": "ollama"}, Code.MISSING),
        ({"backend": "ollama", "model": ""}, Code.MISSING),
        ({"backend": "none"}, Code.WRONG_TYPE),
        ({"backend": 5}, Code.WRONG_TYPE),
        ({"backend": ["rules"]}, Code.WRONG_TYPE),
        ({"backend": "ollama", "model": 5}, Code.WRONG_TYPE),
        ({"backend": "ollama", "model": "x" * 201}, Code.WRONG_TYPE),
        ({"backend": "ollama", "model": "a\nb"}, Code.WRONG_TYPE),
        ({"backend": "rules", "model": "a"}, Code.UNKNOWN_PARAMETER),
        ({"backend": "rules", "x": 1}, Code.UNKNOWN_PARAMETER),
    ],
)
def test_a_body_of_another_form_is_refused(body: dict[str, Any], code: Code) -> None:
    verdict = read_choice("planner", body)
    assert isinstance(verdict, Verdict)
    assert verdict.code is code
