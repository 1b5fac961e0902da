"""One function a route: translate the request, call the room, translate the verdict."""

from __future__ import annotations

import itertools
import secrets
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from armlabd.doors.http.answers import NO_STORE, Refusal, json_answer, refusal, verdict_answer
from armlabd.doors.http.house import House
from armlabd.doors.http.page_files import PageFiles
from armlabd.gate.roles import Caller
from armlabd.gate.tools import function_schemas, schemas
from armlabd.plan.parse import parse_plan
from armlabd.plan.plan import Plan
from armlabd.verdict import Code, Verdict

ACCEPTED = 202


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that passed the guards: who asks, and the body as an object."""

    request: web.Request
    caller: Caller
    body: dict[str, Any]


class Handlers:
    """The handlers of the route table, by name."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._page = PageFiles.read()
        self._daemon = secrets.token_hex(4)
        self._readings = itertools.count(1)

    async def page(self, asked: Asked) -> web.Response:
        """The page, or one of its files. It acts with a key that a person types in."""
        name = asked.request.match_info.get("file")
        answer = self._page.answer() if name is None else self._page.answer(name)
        if answer is None:
            return refusal(Code.NOT_FOUND, f"The page has no file {name!r:.60}. Open / instead.")
        return answer

    async def healthz(self, asked: Asked) -> web.Response:
        """Alive: the event loop answers."""
        return json_answer({"ok": True})

    async def stop(self, asked: Asked) -> web.Response:
        """Stop the arm: always 200; the body tells what was written and confirmed."""
        cause = f"asked by the key {asked.caller.name!r} over HTTP"
        verdict = await self._house.session.stop(asked.caller, cause)
        self._house.runs.notify_stop()
        return json_answer({"ok": verdict.ok, "message": verdict.sentence, **verdict.data})

    async def clear(self, asked: Asked) -> web.Response:
        """Clear the stop, by a person with the operator role."""
        if asked.body:
            names = ", ".join(sorted(asked.body))[:80]
            sentence = f"{names}: no parameters are taken here. Send {{}}."
            return Refusal("arguments", Verdict.refused(Code.UNKNOWN_PARAMETER, sentence))
        if self._house.session.stopped:  # what was stopped ends before anything can move again
            self._house.runs.notify_stop()
        return verdict_answer(await self._house.session.clear(asked.caller))

    async def tools(self, asked: Asked) -> web.Response:
        """The tool table with live ranges, in both forms."""
        table = self._house.session.table
        return json_answer({"tools": schemas(table), "functions": function_schemas(table)})

    async def call(self, asked: Asked) -> web.Response:
        """One tool call."""
        tool = asked.request.match_info["tool"]
        return verdict_answer(await self._house.session.call(tool, asked.body, asked.caller))

    async def status(self, asked: Asked) -> web.Response:
        """The state of every part, each with what to do next; and whose key asks.

        `reading` lets whoever asks again and again tell an old answer from a new one, and a new
        daemon from the one before.
        """
        caller = asked.caller
        you = {"name": caller.name, "role": caller.role.label}
        reading = {"daemon": self._daemon, "number": next(self._readings)}
        return json_answer({**self._house.status(), "you": you, "reading": reading})

    async def scene(self, asked: Asked) -> web.Response:
        """What lies on the table now, as far as the arm does not hide it."""
        return verdict_answer(await self._house.eye.look())

    async def camera(self, asked: Asked) -> web.Response:
        """The picture seen now, as JPEG; with `?last` that of the last look, without another.

        The header `Taken-S` is the `taken_s` of the scene that belongs to it.
        """
        eye = self._house.eye
        verdict = Verdict(Code.OK) if "last" in asked.request.query else await eye.look()
        frame = eye.frame
        picture = None if frame is None else await eye.jpeg(frame)
        if picture is None or frame is None or verdict.code is Code.NO_CAMERA:
            return verdict_answer(_no_picture(verdict))
        headers = {**NO_STORE, "Taken-S": f"{frame.taken_s:.3f}"}
        return web.Response(body=picture, content_type="image/jpeg", headers=headers)

    async def check_plan(self, asked: Asked) -> web.Response:
        """Every fault and warning of a plan; nothing moves."""
        plan = parse_plan(asked.body)
        if not isinstance(plan, Plan):
            return verdict_answer(Verdict.of_problems(plan))
        return json_answer((await self._house.check(plan)).as_dict())

    async def run_plan(self, asked: Asked) -> web.Response:
        """Start a run for a plan."""
        plan = parse_plan(asked.body)
        if not isinstance(plan, Plan):
            return Refusal("arguments", Verdict.of_problems(plan))
        return verdict_answer(await self._house.runs.start_plan(plan, asked.caller), ACCEPTED)

    async def goal(self, asked: Asked) -> web.Response:
        """Start a run for a sentence. (One that means stop never comes here: the stop lane.)"""
        problem = _only(asked.body, "goal")
        if problem is not None:
            return Refusal("arguments", problem)
        started = await self._house.runs.start_goal(asked.body["goal"], asked.caller)
        return verdict_answer(started, ACCEPTED)

    async def runs(self, asked: Asked) -> web.Response:
        """The newest runs."""
        return json_answer({"runs": await self._house.runs.list()})

    async def run(self, asked: Asked) -> web.Response:
        """One run, whole."""
        run_id = asked.request.match_info["id"]
        found = await self._house.runs.get(run_id)
        if found is None:
            return refusal(Code.NOT_FOUND, f"There is no run {run_id!r:.60}. See GET /runs.")
        return json_answer(found)

    async def cancel(self, asked: Asked) -> web.Response:
        """End a run."""
        run_id = asked.request.match_info["id"]
        return verdict_answer(await self._house.runs.cancel(run_id, asked.caller))

    async def questions(self, asked: Asked) -> web.Response:
        """Every open question."""
        return json_answer({"questions": self._house.runs.questions.list()})

    async def answer(self, asked: Asked) -> web.Response:
        """A person's answer to a question."""
        problem = _only(asked.body, "answer")
        if problem is not None:
            return Refusal("arguments", problem)
        question_id = asked.request.match_info["id"]
        said = asked.body["answer"]
        return verdict_answer(await self._house.runs.answer(question_id, said, asked.caller))

    async def models(self, asked: Asked) -> web.Response:
        """What can be used, and what it is doing."""
        return json_answer(await self._house.models.listed())

    async def use_planner(self, asked: Asked) -> web.Response:
        """Begin to plan with another model; it goes on after the answer."""
        used = await self._house.models.use("planner", asked.body, asked.caller)
        return verdict_answer(used, ACCEPTED)

    async def use_vision(self, asked: Asked) -> web.Response:
        """Begin to look with another model; it goes on after the answer."""
        used = await self._house.models.use("vision", asked.body, asked.caller)
        return verdict_answer(used, ACCEPTED)


def _no_picture(verdict: Verdict) -> Verdict:
    """Why there is no picture."""
    if not verdict.ok:
        return verdict
    return Verdict.refused(Code.NO_CAMERA, "No picture was taken yet. GET /camera.jpg takes one.")


def _only(body: dict[str, Any], name: str) -> Verdict | None:
    """The refusal of a body that is not exactly `{name: ...}`."""
    if name not in body:
        return Verdict.refused(Code.MISSING, f'{name} is missing. Send {{"{name}": "..."}}.')
    extra = sorted(set(body) - {name})
    if extra:
        names = ", ".join(extra)[:80]
        return Verdict.refused(
            Code.UNKNOWN_PARAMETER, f"{names}: not known here. The only parameter is {name}."
        )
    return None
