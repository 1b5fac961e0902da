"""armlabd models: what is listed, what a name means, waiting for a swap, fetching."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hub_stand_in import REPOSITORY, hub
from ollama_stand_in import Model, ollama

from armlabd.cli.client import Answer, WrongUse
from armlabd.cli.main import main
from armlabd.cli.meter import Meter
from armlabd.cli.models import choice_of, lines_of

CATALOG = f"""
[[model]]
id = "small"
backend = "smolvlm"
repository = "{REPOSITORY}"
licence = "Apache-2.0"
disk_mb = 1
memory_mb = 1
can = ["plan"]
good_for = "tests"
board = "any"
"""


def part(**more: Any) -> dict[str, Any]:
    return {
        "backend": "ollama",
        "model": "one:1b",
        "state": "warm",
        "chosen_by": "config",
        "swapping_to": None,
        "last_swap": "",
        "next": "",
        **more,
    }


def listed(**more: Any) -> Answer:
    rows = [
        {"backend": "rules", "model": "", "state": "warm", "used_for": []},
        {"backend": "ollama", "model": "one:1b", "state": "warm", "used_for": ["planner"],
         "disk_bytes": 986_000_000, "memory_bytes": 1_600_000_000, "licence": "Apache-2.0"},
        {"backend": "ollama", "model": "both", "state": "cold"},
        {"backend": "smolvlm", "model": "both", "state": "cold"},
        {"backend": "ollama", "model": "late:latest", "state": "cold"},
        {"backend": "smolvlm", "model": "small", "state": "absent",
         "next": "armlabd models fetch small"},
    ]  # fmt: skip
    vision = part(backend="none", model="")
    told = {"planner": part(**more), "vision": vision, "models": rows, "ollama": {"next": ""}}
    return Answer(200, {**told, "catalog": ""})


# --- list -----------------------------------------------------------------------------------------


def test_the_list_tells_who_plans_and_what_there_is(daemon: Any, capsys: Any) -> None:
    daemon.answers = [listed(state="failed", next="No Ollama answers. Start it.")]
    assert main(["models", "list"]) == 0
    text = capsys.readouterr().out
    assert "planner: ollama one:1b, failed (chosen by config)" in text
    assert "next: No Ollama answers. Start it." in text
    assert "986 MB disk, 1,600 MB memory  <- planner" in text
    assert "armlabd models fetch small" in text


def test_the_list_says_what_is_wrong_with_server_and_catalog() -> None:
    told = {**listed().body, "ollama": {"next": "start it"}, "catalog": "no catalog"}
    assert [text for text, _ in lines_of(told)][-2:] == ["start it", "no catalog"]


def test_the_list_as_json_is_the_daemons_own(daemon: Any, capsys: Any) -> None:
    daemon.answers = [listed()]
    assert main(["models", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == listed().body


# --- use ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "choice"),
    [
        ("rules", {"backend": "rules"}),
        ("config", {"backend": "config"}),
        ("one:1b", {"backend": "ollama", "model": "one:1b"}),
        ("late", {"backend": "ollama", "model": "late"}),
        ("small", {"backend": "smolvlm", "model": "small"}),
        ("ollama:new:3b", {"backend": "ollama", "model": "new:3b"}),
        ("smolvlm:both", {"backend": "smolvlm", "model": "both"}),
        ("/opt/model", {"backend": "smolvlm", "model": "/opt/model"}),
    ],
)
def test_what_a_name_means(name: str, choice: dict[str, str]) -> None:
    assert choice_of(name, "planner", listed().body["models"]) == choice


@pytest.mark.parametrize(
    ("name", "job", "words"),
    [
        ("both", "planner", "ollama or smolvlm:both"),
        ("nope", "planner", "rules, config and BACKEND:MODEL"),
        ("ollama", "planner", "models list"),
        ("ollama:", "planner", "models list"),
        ("rules", "vision", "none, config"),
    ],
)
def test_a_name_that_means_nothing_is_refused(name: str, job: str, words: str) -> None:
    with pytest.raises(WrongUse) as caught:
        choice_of(name, job, listed().body["models"])
    assert words in str(caught.value)


def test_use_waits_until_the_model_is_loaded(daemon: Any, capsys: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("armlabd.cli.models.POLL_S", 0.0)
    moving = listed(swapping_to="ollama:late", state="swapping")
    daemon.answers = [listed(), Answer(202, {"ok": True}), moving, moving, listed(model="late")]
    assert main(["models", "use", "late"]) == 0
    assert daemon.asked[1] == ("PUT", "/models/planner", {"backend": "ollama", "model": "late"})
    out = capsys.readouterr().out
    assert out.count("planner: ollama:late is loaded ...") == 1
    assert "planner: ollama late, warm" in out


def test_use_for_vision_without_waiting_as_json(daemon: Any, capsys: Any) -> None:
    daemon.answers = [listed(), Answer(202, {"ok": True}), listed()]
    assert main(["models", "use", "none", "--for", "vision", "--no-wait", "--json"]) == 0
    assert daemon.asked[1] == ("PUT", "/models/vision", {"backend": "none"})
    assert json.loads(capsys.readouterr().out)["backend"] == "none"


def test_a_swap_that_failed_is_told_and_counts_as_refused(daemon: Any, capsys: Any) -> None:
    failed = listed(last_swap="ollama:late was not taken into use: too large")
    daemon.answers = [listed(), Answer(202, {"ok": True}), failed]
    assert main(["models", "use", "late"]) == 1
    told = capsys.readouterr()
    assert "was not taken into use: too large" in told.err
    assert "planner: ollama one:1b, warm" in told.out


def test_what_the_daemon_refuses_is_told(daemon: Any, capsys: Any) -> None:
    refusal = Answer(404, {"ok": False, "code": "no_model", "error": "It is not here."})
    daemon.answers = [listed(), refusal]
    assert main(["models", "use", "late"]) == 1
    assert "refused (no_model): It is not here." in capsys.readouterr().err
    busy = Answer(429, {"code": "rate_limit", "error": "Too many."})
    daemon.answers = [listed(), Answer(202, {"ok": True}), busy]
    assert main(["models", "use", "late"]) == 1


# --- fetch ----------------------------------------------------------------------------------------


def test_a_folder_is_fetched_into_the_state_folder(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "catalog.toml").write_text(CATALOG)
    with hub() as server:
        for name in ("config.json", "tokenizer.json", "preprocessor_config.json"):
            server.files[name] = b"{}"
        for graph in ("decoder_model_merged", "embed_tokens", "vision_encoder"):
            server.files[f"onnx/{graph}_int8.onnx"] = graph.encode() * 100
        words = ["models", "fetch", "small", "--state", str(tmp_path), "--endpoint", server.url]
        words += ["--catalog", str(tmp_path / "catalog.toml")]
        assert main(words) == 0
        out = capsys.readouterr().out
        assert "licence Apache-2.0" in out
        assert "onnx/decoder_model_merged_int8.onnx" in out
        assert "armlabd models use small" in out
        assert (tmp_path / "models/small/onnx/vision_encoder_int8.onnx").is_file()
        assert main([*words, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["model"] == "small"
        assert main([*words, "--variant", "q4"]) == 1
        assert "Choose another --variant: int8" in capsys.readouterr().err


async def test_a_tag_is_pulled_through_ollama_and_goes_on_after_a_break(
    tmp_path: Path, capsys: Any
) -> None:
    async with ollama(library={"new:3b": Model("new:3b")}) as server:
        config = tmp_path / "config.toml"
        config.write_text(f'[planner.ollama]\nurl = "{server.url}"\n')
        words = ["models", "fetch", "new:3b", "--config", str(config)]
        server.faults.pull_reset_after = 5
        assert await asyncio.to_thread(main, words) == 1
        assert "broke off" in capsys.readouterr().err
        before = server.pulled["new:3b"]
        server.faults.pull_reset_after = None
        assert await asyncio.to_thread(main, words) == 0
        assert "new:3b is here" in capsys.readouterr().out
        assert "new:3b" in server.models
        assert before > 0
        assert await asyncio.to_thread(main, ["models", "fetch", "nope", *words[3:]]) == 1
        assert "file does not exist" in capsys.readouterr().err


def test_on_a_terminal_there_is_a_bar(monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    with Meter() as meter:
        meter.show("pulling manifest", 0, 0)
        meter.show("pulling 0123", 5_000_000, 10_000_000)
        meter.show("pulling 0123", 10_000_000, 10_000_000)
    assert "10.0/10.0 MB" in capsys.readouterr().out


def test_a_tag_elsewhere_is_not_pulled(capsys: Any) -> None:
    assert main(["models", "fetch", "big:120b-cloud"]) == 1
    assert "runs elsewhere" in capsys.readouterr().err


def test_settings_that_cannot_be_read_are_wrong_use(tmp_path: Path, capsys: Any) -> None:
    assert main(["models", "fetch", "x", "--config", str(tmp_path / "none.toml")]) == 2
    assert "no such file" in capsys.readouterr().err
