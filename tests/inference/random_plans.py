"""Plans by a model with weights by chance, each under a schema of its own: all must be in form."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from pathlib import Path

from armlabd.config import Config
from armlabd.gate.tools import tool_table
from armlabd.inference.backend import Ask, Finish
from armlabd.inference.settings import WorkerSettings
from armlabd.inference.smolvlm import SmolVlm
from armlabd.plan.listed import Listed, Place
from armlabd.plan.schema import Schema, skills_schema, tools_schema
from armlabd.plan.schema_check import faults

LABELS = (
    *("red block", "blue block (left)", 'the "big" one', "back\\slash", "räder", "红色方块"),
    *("🧱", "a" * 40, "x {y} [z]", "<image>", "<|im_end|>", "it's", "tab\tor\nline", "1 2 3"),
)
PLACES = ("bin", "tray", "x 0.2 y -0.1", "a free spot", "beside red block")
WINDOW = 4096
MAX_TOKENS = 3200  # of a byte a token: room for the longest plan of skills
WILD = 20.0  # nearly every allowed token is as likely as any other
TOOL_SHARE = 10  # one in so many is a plan of tools


@dataclass
class Written:
    """What came of it."""

    count: int = 0
    whole: int = 0  # that ended by themselves
    tokens: int = 0
    steps: int = 0
    kinds: dict[str, int] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)


def schema_of(chance: random.Random) -> Schema:
    objects = chance.sample(LABELS, chance.randint(0, 6))
    places = chance.sample(PLACES, chance.randint(0, 4))
    listed = Listed(
        {label: index for index, label in enumerate(objects)},
        {name: Place(named=name) for name in places},
    )
    return skills_schema(listed)


async def random_plans(
    folder: Path, count: int, *, temperature: float = WILD, int8: bool = False
) -> Written:
    """`count` answers of a worker that chooses by chance among what the mask allows."""
    chance, made = random.Random(count), Written()
    tools = tools_schema(tool_table(Config()))
    told = WorkerSettings(
        str(folder),
        "random",
        variant="int8" if int8 else "fp32",
        window=WINDOW,
        temperature=temperature,
        seed=1,
    )
    backend = SmolVlm(told)
    try:
        for number in range(count):
            by_tools = number % TOOL_SHARE == TOOL_SHARE - 1
            schema = tools if by_tools else schema_of(chance)
            ask = Ask("You plan.", f"Goal {number}", schema, (), MAX_TOKENS, 300.0)
            answer = await backend.answer(ask)
            made.count += 1
            made.tokens, made.steps = made.tokens + answer.output_tokens, made.steps + answer.steps
            if answer.finish is Finish.LENGTH and by_tools:
                continue  # forty steps of a byte a token do not fit the tiny model's window
            made.whole += answer.finish is Finish.STOP
            judge(answer.text, schema, made)
    finally:
        await backend.close()
    return made


def judge(text: str, schema: Schema, made: Written) -> None:
    try:
        value = json.loads(text)
    except ValueError as error:
        made.wrong.append(f"{error}: {text[:300]}")
        return
    made.wrong += faults(value, schema)
    made.kinds[value["answer"]] = made.kinds.get(value["answer"], 0) + 1
