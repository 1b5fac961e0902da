"""The HTTP door: every request runs through the guards in their order, then to its handler."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from armlabd.doors.http.answers import refusal, verdict_answer
from armlabd.doors.http.guards import (
    HostGuard,
    check_type,
    local_address_of,
    parse_object,
    peer_of,
    read_body,
)
from armlabd.doors.http.handlers import Asked, Handlers, goal_means_stop
from armlabd.doors.http.house import House
from armlabd.doors.http.routes import ROUTES, STOP_LANE, Bucket, Route
from armlabd.gate.roles import Caller
from armlabd.verdict import Code, Verdict

log = logging.getLogger(__name__)
Handler = Callable[[Asked], Awaitable[web.Response]]
STOP_BODY_LIMIT = 4096  # bytes of a stop's body that are read before it is dropped


class HttpDoor:
    """Builds the application. `house` is what the guards and handlers may reach."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._hosts = HostGuard.of(house.config)
        self._handlers = Handlers(house)
        self._by_resource: dict[tuple[str, str], Route] = {}

    def application(self) -> web.Application:
        """The aiohttp application."""
        app = web.Application(middlewares=[self._guard])
        for route in ROUTES:
            self._by_resource[(route.method, route.path)] = route
            app.router.add_route(route.method, route.path, self._never)
        return app

    async def _never(self, request: web.Request) -> web.StreamResponse:
        raise AssertionError("the guard answers every request")

    @web.middleware
    async def _guard(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        try:
            return await self._answer(request)
        except (web.HTTPException, ConnectionError):
            raise
        except Exception:
            log.exception("%s %s failed", request.method, request.path)
            return refusal(Code.INTERNAL, "A fault of armlabd itself; see its log.")

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        key = request.headers.get("X-API-Key")
        caller = self._house.keys.check(key)
        if request.method == "POST" and request.path in STOP_LANE and caller is not None:
            return await self._stop(request, caller)
        wrong = self._hosts.check(
            request.headers.get("Host"), request.headers.get("Origin"), local_address_of(request)
        )
        if wrong is not None:
            return verdict_answer(wrong)
        route = self._route_of(request)
        if route is not None and route.role is None:
            return await self._handlers.healthz(Asked(request, _NOBODY, {}))
        if caller is None:
            return self._wrong_key(request, key)
        return await self._with_body(request, route, caller)

    async def _with_body(
        self, request: web.Request, route: Route | None, caller: Caller
    ) -> web.StreamResponse:
        """Address, size, type and JSON; then role and rate of the route, then its handler."""
        if route is None:
            return self._no_such_address(request)
        body = await read_body(request, self._house.config.http.max_body_bytes)
        if isinstance(body, Verdict):
            return self._refused_unread(body)
        parsed = parse_object(body)
        if goal_means_stop(request.path, parsed):
            return await self._handlers.stop(Asked(request, caller, {}))
        for problem in (check_type(request, body), parsed):
            if isinstance(problem, Verdict):
                return verdict_answer(problem)
        assert isinstance(parsed, dict)
        refused = self._role(route, caller) or self._rate(route, caller)
        if refused is not None:
            return verdict_answer(refused)
        handler: Handler = getattr(self._handlers, route.handler)
        return await handler(Asked(request, caller, parsed))

    async def _stop(self, request: web.Request, caller: Caller) -> web.Response:
        """The stop lane: decided before everything but the key; the body is not looked at."""
        answer = await self._handlers.stop(Asked(request, caller, {}))
        unread = (request.content_length or 0) > STOP_BODY_LIMIT or (
            request.content_length is None and request.body_exists
        )
        if unread:
            answer.force_close()
        return answer

    def _wrong_key(self, request: web.Request, key: str | None) -> web.Response:
        wait_s = self._house.wrong_keys.note(peer_of(request)) if key else None
        if wait_s is not None:
            sentence = f"Too many wrong keys from this address. Wait {wait_s:.0f} s, then try."
            return refusal(Code.SLOW_DOWN, sentence, wait_s)
        what = "is wrong or was revoked" if key else "is missing"
        return refusal(
            Code.BAD_KEY,
            f"The X-API-Key header {what}. Ask the arm's operator for a key "
            "(armlabd keys add NAME --role agent).",
        )

    def _route_of(self, request: web.Request) -> Route | None:
        resource = request.match_info.route.resource
        if resource is None or request.match_info.http_exception is not None:
            return None
        return self._by_resource.get((request.method, resource.canonical))

    def _no_such_address(self, request: web.Request) -> web.Response:
        exception = request.match_info.http_exception
        if isinstance(exception, web.HTTPMethodNotAllowed):
            allowed = ", ".join(sorted(exception.allowed_methods))
            sentence = f"{request.method} is not possible here. Allowed: {allowed}."
            return refusal(Code.METHOD, sentence)
        known = sorted({route.path for route in ROUTES})
        sentence = f"There is nothing at {request.path!r:.80}. Addresses: {', '.join(known)}."
        return refusal(Code.NOT_FOUND, sentence)

    def _refused_unread(self, verdict: Verdict) -> web.Response:
        """A body that was not read to its end: the connection cannot go on."""
        answer = verdict_answer(verdict)
        answer.force_close()
        return answer

    def _role(self, route: Route, caller: Caller) -> Verdict | None:
        if route.role is None or caller.role >= route.role:
            return None
        return Verdict.refused(
            Code.ROLE,
            f"{route.method} {route.path} is for the role {route.role.label}; the key "
            f"{caller.name!r} has the role {caller.role.label}. Use a key of that role.",
        )

    def _rate(self, route: Route, caller: Caller) -> Verdict | None:
        limiter: dict[Bucket, Callable[[str], float | None]] = {
            Bucket.READ: self._house.rate.read,
            Bucket.GOAL: self._house.rate.goal,
        }
        ask = limiter.get(route.bucket)
        wait_s = ask(caller.name) if ask else None
        if wait_s is None:
            return None
        sentence = f"Too many requests with this key. Wait {wait_s:.2f} s, then go on."
        return Verdict(Code.RATE, sentence, retry_after_s=wait_s)


class _Nobody:
    """The caller of an open route."""


_NOBODY: Any = _Nobody()
