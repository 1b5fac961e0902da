"""The HTTP door: every request runs through the guards in their order, then to its handler."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from aiohttp import web

from armlabd.doors.http.answers import Refusal, refusal
from armlabd.doors.http.connections import Connections
from armlabd.doors.http.guards import (
    HostGuard,
    check_type,
    local_address_of,
    parse_object,
    peer_of,
    read_body,
    single,
)
from armlabd.doors.http.handlers import Asked, Handlers
from armlabd.doors.http.house import House
from armlabd.doors.http.lane import NOBODY, body_means_stop, is_stop
from armlabd.doors.http.routes import ROUTES, Bucket, Route
from armlabd.gate.rate import SlidingWindow
from armlabd.gate.roles import Caller
from armlabd.verdict import Code, Verdict

log = logging.getLogger(__name__)
Handler = Callable[[Asked], Awaitable[web.Response]]
SPOKEN = ("goal", "answer")  # handlers of what people say in their own words
STRANGER_ROWS = (
    30  # in the audit, of requests without a right key, in any minute: no flood fills it
)
STRANGER_WINDOW_S = 60.0


class HttpDoor:
    """Builds the application. `house` is what the guards and handlers may reach."""

    def __init__(self, house: House, connections: Connections) -> None:
        self._house, self._connections = house, connections
        self._hosts = HostGuard.of(house.config)
        self._handlers = Handlers(house)
        self._strangers = SlidingWindow(house.clock, STRANGER_ROWS, STRANGER_WINDOW_S)
        self._by_address: dict[tuple[str, str], Route] = {}

    def application(self) -> web.Application:
        """The aiohttp application. HEAD is answered wherever GET is."""
        app = web.Application(middlewares=[self._guard])
        for route in ROUTES:
            for method in ("GET", "HEAD") if route.method == "GET" else (route.method,):
                self._by_address[(method, route.path)] = route
                app.router.add_route(method, route.path, _never, expect_handler=_expect)
        return app

    @web.middleware
    async def _guard(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        try:
            with self._connections.busy(request.protocol):
                return await self._answer(request)
        except (web.HTTPException, ConnectionError):
            raise
        except Exception:
            log.exception("%s %s failed", request.method, request.path)
            return refusal(Code.INTERNAL, "A fault of armlabd itself; see its log.")

    async def _answer(self, request: web.Request) -> web.Response:
        key = request.headers.get("X-API-Key")
        caller = self._house.keys.check(key)
        route = self._route_of(request)
        body: bytes | Verdict | None = None
        if caller is not None:
            body = await self._early_body(request, route)
            if is_stop(request) or body_means_stop(body):
                return await self._handlers.stop(Asked(request, caller, {}))
        answer = await self._guarded(request, route, caller, body)
        if route is not None and route.recorded and isinstance(answer, Refusal):
            await self._record(request, caller, answer.check, answer.verdict)
        return answer

    async def _guarded(
        self,
        request: web.Request,
        route: Route | None,
        caller: Caller | None,
        body: bytes | Verdict | None,
    ) -> web.Response:
        """Host and Origin, key, address; then the rest of the checks."""
        host, origin = single(request, "Host"), single(request, "Origin")
        wrong = self._hosts.check(host, origin, local_address_of(request))
        if wrong is not None:
            return Refusal("host", wrong)
        if route is not None and route.role is None:
            return await self._handler(route)(Asked(request, caller or NOBODY, {}))
        if caller is None:
            return self._wrong_key(request)
        if route is None:
            return self._no_such_address(request)
        return await self._known(request, route, caller, body)

    async def _record(
        self, request: web.Request, caller: Caller | None, check: str, verdict: Verdict
    ) -> None:
        """One audit row for what this door refused; of strangers only so many."""
        if caller is None:
            if self._strangers.wait_s() > 0:
                return
            self._strangers.note()
        what = f"{request.method} {request.path}"
        await self._house.session.ledger.at_door(caller or NOBODY, what, check, verdict)

    async def _early_body(
        self, request: web.Request, route: Route | None
    ) -> bytes | Verdict | None:
        """The body of a goal or answer, which may mean stop; of nothing else before its turn."""
        if route is None or route.handler not in SPOKEN:
            return None
        return await read_body(request, self._house.config.http.max_body_bytes)

    async def _known(
        self, request: web.Request, route: Route, caller: Caller, body: bytes | Verdict | None
    ) -> web.Response:
        """Size, type and JSON; then role and rate of the route, then its handler."""
        if body is None:
            body = await read_body(request, self._house.config.http.max_body_bytes)
        if isinstance(body, Verdict):
            return self._refused_unread(body)
        problem = check_type(request, body)
        parsed = problem or parse_object(body)
        if isinstance(parsed, Verdict):
            if route.handler == "call":
                self._house.rate.call(caller.name)  # it counts, whatever it is refused for
            return Refusal("body", parsed)
        if (wrong := self._role(route, caller)) is not None:
            return Refusal("role", wrong)
        if (early := self._rate(route, caller)) is not None:
            return Refusal("rate", early)
        return await self._handler(route)(Asked(request, caller, parsed))

    def _handler(self, route: Route) -> Handler:
        handler: Handler = getattr(self._handlers, route.handler)
        return handler

    def _wrong_key(self, request: web.Request) -> web.Response:
        key = request.headers.get("X-API-Key")
        wait_s = self._house.wrong_keys.note(peer_of(request)) if key else None
        if wait_s is not None:
            sentence = f"Too many wrong keys from this address. Wait {wait_s:.0f} s, then try."
            return refusal(Code.SLOW_DOWN, sentence, wait_s)
        what = "is wrong or was revoked" if key else "is missing"
        sentence = (
            f"The X-API-Key header {what}. Ask the arm's operator for a key "
            "(armlabd keys add NAME --role agent)."
        )
        return Refusal("key", Verdict.refused(Code.BAD_KEY, sentence))

    def _route_of(self, request: web.Request) -> Route | None:
        resource = request.match_info.route.resource
        if resource is None or request.match_info.http_exception is not None:
            return None
        return self._by_address.get((request.method, resource.canonical))

    def _no_such_address(self, request: web.Request) -> web.Response:
        exception = request.match_info.http_exception
        if isinstance(exception, web.HTTPMethodNotAllowed):
            allowed = ", ".join(sorted(exception.allowed_methods))
            sentence = f"{request.method} is not possible here. Allowed: {allowed}."
            answer = refusal(Code.METHOD, sentence)
            answer.headers["Allow"] = allowed
            return answer
        known = ", ".join(dict.fromkeys(route.path for route in ROUTES))
        sentence = f"There is nothing at {request.path!r:.80}. Addresses: {known}."
        return refusal(Code.NOT_FOUND, sentence)

    def _refused_unread(self, verdict: Verdict) -> web.Response:
        """A body that was not read to its end: the connection cannot go on."""
        answer = Refusal("body", verdict)
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
        return Verdict(Code.RATE, sentence, retry_after_s=round(wait_s, 3))


async def _never(request: web.Request) -> web.StreamResponse:
    raise AssertionError("the guard answers every request")


async def _expect(request: web.Request) -> None:
    """`Expect: 100-continue` is granted; other expectations are passed over, also for a stop."""
    if request.headers.get("Expect", "").lower() == "100-continue":
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.writer.output_size = 0  # the answer itself has not begun
