"""Who plans in the goal suite: the rules, an author without a model, or a model."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from armlabd.bench.authors import LyingAuthor, RandomAuthor
from armlabd.bench.goals import Goal
from armlabd.bench.virtual import QUICK
from armlabd.config.load import parse_config
from armlabd.gate.tools import ToolTable, tool_table
from armlabd.inference.backend import Backend
from armlabd.inference.ollama import Ollama, OllamaSettings
from armlabd.inference.settings import WorkerSettings
from armlabd.inference.smolvlm import SmolVlm
from armlabd.plan.model import ModelPlanner
from armlabd.plan.planner import Planner
from armlabd.plan.rules import RulesPlanner

OLLAMA_URL: Final = "http://127.0.0.1:11434"
FORMS: Final = ("skills", "tools")
AUTHORS: Final = {"random": RandomAuthor, "liar": LyingAuthor}
PlannerOf = Callable[[Goal], Planner]


class ChoiceError(ValueError):
    """No such planner can be tried; the text says what can."""


@dataclass(frozen=True, slots=True)
class Subject:
    """The planner to be tried: "rules", "random", "liar", "smolvlm:FOLDER" or "ollama:TAG".

    `form`: what a model writes, skills or tool calls; "" lets authors without a model take turns.
    """

    backend: str = "rules"
    form: str = ""
    url: str = OLLAMA_URL
    variant: str = "fp32"
    temperature: float = 0.0  # of a model in our worker; 0 takes the likeliest token

    def __post_init__(self) -> None:
        kind, _, model = self.backend.partition(":")
        plain = self.backend in ("rules", *AUTHORS)
        if not plain and not (kind in ("smolvlm", "ollama") and model):
            raise ChoiceError(
                f"--backend {self.backend!r} is none of rules, random, liar, smolvlm:FOLDER, "
                "ollama:TAG."
            )
        if self.form not in ("", *FORMS):
            raise ChoiceError(f"--form {self.form!r} is none of {', '.join(FORMS)}.")
        if kind == "smolvlm" and not Path(model).is_dir():
            raise ChoiceError(f"There is no folder {model!r}. Name it as smolvlm:FOLDER.")

    @property
    def is_model(self) -> bool:
        """True where one model in memory serves all goals."""
        return ":" in self.backend


@contextlib.asynccontextmanager
async def planners(subject: Subject) -> AsyncIterator[PlannerOf]:
    """A planner for each goal; what it needs is loaded once and ended afterwards."""
    if not subject.is_model:
        yield lambda goal: _plain(subject, goal)
        return
    backend = _backend(subject)
    planner = ModelPlanner(backend, RulesPlanner(), tools=_tools(subject.form == "tools"))
    try:
        yield lambda goal: planner
    finally:
        await planner.close()
        await backend.close()


def _plain(subject: Subject, goal: Goal) -> Planner:
    if subject.backend == "rules":
        return RulesPlanner()
    by_turns = goal.seed % 2 == 1 and not subject.form
    tools = _tools(subject.form == "tools" or by_turns)
    return ModelPlanner(AUTHORS[subject.backend](goal.seed), RulesPlanner(), tools=tools)


def _tools(wanted: bool) -> ToolTable | None:
    return tool_table(parse_config(QUICK)) if wanted else None


def _backend(subject: Subject) -> Backend:
    kind, _, model = subject.backend.partition(":")
    if kind == "ollama":
        return Ollama(OllamaSettings(subject.url, model))
    settings = WorkerSettings(
        model, Path(model).name, variant=subject.variant, temperature=subject.temperature
    )
    return SmolVlm(settings)
