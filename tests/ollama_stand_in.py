"""A server that speaks as Ollama does, with every fault known of it behind a switch.

It answers from `author`, a function (or coroutine) from the request's body to the text. The routes,
fields and error texts are those of Ollama 0.33; streams are cut at odd places, within characters
too. Nothing here is a model.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from ollama_parts import (
    AT,
    GIB,
    OOM,
    Author,
    Faults,
    Loaded,
    Model,
    body_of,
    details,
    error,
    last,
    line_of,
    reset,
)

__all__ = ("GIB", "OOM", "Faults", "Model", "OllamaStandIn", "ollama")


@dataclass
class OllamaStandIn:
    """One server on loopback. `asked` are the chat bodies, `loads` how often a model was loaded."""

    models: dict[str, Model] = field(default_factory=dict)
    library: dict[str, Model] = field(default_factory=dict)  # what can be pulled
    author: Author = lambda body: "{}"
    faults: Faults = field(default_factory=Faults)
    cut_bytes: int = 7
    piece_chars: int = 5
    asked: list[dict[str, Any]] = field(default_factory=list)
    seen: list[tuple[str, str]] = field(default_factory=list)
    loaded: dict[str, Loaded] = field(default_factory=dict)
    loads: int = 0
    cancelled: int = 0  # requests whose client left: Ollama's 499
    pulled: dict[str, int] = field(default_factory=dict)  # bytes that are there of a layer
    url: str = ""
    freeing: set[asyncio.Task[None]] = field(default_factory=set)

    def add(self, name: str, **more: Any) -> Model:
        """`ollama pull` on the board, done by somebody else."""
        self.models[name] = Model(name, **more)
        return self.models[name]

    def expire(self, name: str) -> None:
        """keep_alive is over."""
        self.loaded.pop(name, None)

    # --- routes -----------------------------------------------------------------------------

    def application(self) -> web.Application:
        app = web.Application(middlewares=[self._watched])
        app.add_routes(
            [
                web.get("/api/version", self._version),
                web.get("/api/tags", self._tags),
                web.get("/api/ps", self._ps),
                web.post("/api/show", self._show),
                web.post("/api/chat", self._chat),
                web.post("/api/pull", self._pull),
                web.delete("/api/delete", self._delete),
            ]
        )
        return app

    @web.middleware
    async def _watched(self, request: web.Request, handler: Any) -> web.StreamResponse:
        self.seen.append((request.method, request.path))
        try:
            return await handler(request)  # type: ignore[no-any-return]
        except web.HTTPNotFound:
            return web.Response(status=404, text="404 page not found")
        except asyncio.CancelledError:
            self.cancelled += 1
            raise

    async def _version(self, request: web.Request) -> web.Response:
        return web.json_response({"version": "0.33.0"})

    async def _tags(self, request: web.Request) -> web.Response:
        return web.json_response({"models": [self._shown(m) for m in self.models.values()]})

    async def _ps(self, request: web.Request) -> web.Response:
        return web.json_response({"models": [self._running(m) for m in self.loaded.values()]})

    async def _show(self, request: web.Request) -> web.Response:
        model, problem = self._model(await body_of(request))
        if model is None:
            return problem
        told: dict[str, Any] = {
            "details": details(),
            "model_info": {},
            "template": "",
            "tensors": [],
        }
        if not self.faults.old:
            told["capabilities"] = list(model.abilities)
        if model.remote_host:
            told |= {"remote_host": model.remote_host, "remote_model": model.name}
        return web.json_response(told)

    async def _delete(self, request: web.Request) -> web.Response:
        model, problem = self._model(await body_of(request))
        if model is None:
            return problem
        del self.models[model.name]
        return web.Response(status=200)

    def _shown(self, model: Model) -> dict[str, Any]:
        told: dict[str, Any] = {
            "name": model.name,
            "model": model.name,
            "modified_at": AT,
            "size": model.bytes,
            "digest": model.digest,
            "details": details(),
        }
        if not self.faults.old:
            told["capabilities"] = list(model.abilities)
        return told | ({"remote_host": model.remote_host} if model.remote_host else {})

    def _running(self, loaded: Loaded) -> dict[str, Any]:
        told = {**self._shown(loaded.model), "expires_at": AT, "size_vram": 0}
        return told if self.faults.old else {**told, "context_length": loaded.window}

    def _model(self, body: dict[str, Any]) -> tuple[Model | None, web.Response]:
        name = str(body.get("model") or "")
        if not name:
            return None, error(400, "model is required")
        tagged = name if ":" in name.rsplit("/", 1)[-1] else f"{name}:latest"
        old = f'model "{name}" not found, try pulling it first'
        words = old if self.faults.old else f"model '{name}' not found"
        return self.models.get(name) or self.models.get(tagged), error(404, words)

    # --- chat -------------------------------------------------------------------------------

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        body = await body_of(request)
        if not body:
            return error(400, "missing request body")
        self.asked.append(body)
        model, problem = self._model(body)
        if model is None:
            return problem
        if self.faults.refuse is not None:
            return error(*self.faults.refuse)
        if "completion" not in model.abilities:
            return error(400, f'"{model.name}" does not support chat')
        if body.get("think") and "thinking" not in model.abilities:
            return error(400, f'"{model.name}" does not support thinking')
        if not body.get("messages") and body.get("keep_alive") == 0:
            self._unload(model)
            return last(model, "unload")
        problem_at_load, load_s = await self._load(model, body)
        if problem_at_load is not None:
            return problem_at_load
        if not body.get("messages"):
            return last(model, "load")
        return await self._answer(request, body, model, load_s)

    async def _load(self, model: Model, body: dict[str, Any]) -> tuple[web.Response | None, float]:
        window = int(body.get("options", {}).get("num_ctx", 4096))
        kept = self.loaded.get(model.name)
        if kept is not None and kept.window in (window, self.faults.window):
            kept.keep_alive = body.get("keep_alive", "5m")
            return None, 0.0
        self.loaded.pop(model.name, None)
        if self.faults.load_error:
            return error(500, self.faults.load_error), 0.0
        await asyncio.sleep(self.faults.load_s)  # a client that leaves now ends the load
        self.loads += 1
        window = self.faults.window or window
        self.loaded[model.name] = Loaded(model, window, body.get("keep_alive", "5m"))
        return None, max(self.faults.load_s, 1e-3)

    def _unload(self, model: Model) -> None:
        """Answered at once; the memory is freed later."""

        async def free() -> None:
            await asyncio.sleep(self.faults.free_s)
            self.loaded.pop(model.name, None)

        task = asyncio.create_task(free())
        self.freeing.add(task)
        task.add_done_callback(self.freeing.discard)

    async def _answer(
        self, request: web.Request, body: dict[str, Any], model: Model, load_s: float
    ) -> web.StreamResponse:
        said = "".join(str(m.get("content", "")) for m in body["messages"])
        count = max(1, -(-len(said) // 4))
        window = self.loaded[model.name].window
        if count > window:
            if self.faults.strict_window:
                return error(400, "the prompt is longer than context length")
            count = window // 2 + 2  # the beginning is cut, without a word
        text = self.author(body)
        text = await text if inspect.isawaitable(text) else text
        await asyncio.sleep(self.faults.first_byte_s)
        done = self._done(model, body, text, count, load_s)
        if body.get("stream", True) is False:
            message = {"role": "assistant", "content": text}
            return web.json_response({**done, "message": message})
        return await self._streamed(request, model, self._written(text), done)

    def _written(self, text: str) -> str:
        if self.faults.length_after is not None:
            return text[: self.faults.length_after]
        if self.faults.wrap == "fence":
            return f"```json\n{text}\n```"
        if self.faults.wrap == "prose":
            return f"Sure! Here is the plan you asked for:\n\n{text}\n\nAnything else?"
        return text

    def _done(
        self, model: Model, body: dict[str, Any], text: str, count: int, load_s: float
    ) -> dict[str, Any]:
        length = self.faults.length_after is not None
        times = {
            "total_duration": int((load_s + 0.5) * 1e9),
            "load_duration": int(load_s * 1e9),
            "prompt_eval_count": count
            if self.faults.prompt_count is None
            else self.faults.prompt_count,
            "prompt_eval_duration": 120_000_000,
            "eval_count": -(-len(text) // 4),
            "eval_duration": 380_000_000,
        }
        return {
            "model": model.name,
            "created_at": AT,
            "done": True,
            "done_reason": "length" if length else "stop",
            **{name: value for name, value in times.items() if value},  # zeros are left out
        }

    async def _streamed(
        self, request: web.Request, model: Model, text: str, done: dict[str, Any]
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
        response.enable_chunked_encoding()
        await response.prepare(request)
        if self.faults.raw is not None:
            await response.write(self.faults.raw)
            return response
        queue = b""
        async for line in self._lines(model, text, done):
            if line is None:
                await self._cut(response, queue, whole=True)
                reset(request)
                return response
            queue = await self._cut(response, queue + line)
        await self._cut(response, queue, whole=True)
        return response

    async def _lines(
        self, model: Model, text: str, done: dict[str, Any]
    ) -> AsyncIterator[bytes | None]:
        """The lines of a stream; None: the connection is cut here."""
        kind = "thinking" if self.faults.thinking_only else "content"
        pieces = [text[i : i + self.piece_chars] for i in range(0, len(text), self.piece_chars)]
        faults = self.faults
        for number, piece in enumerate([*pieces, None]):
            if number == faults.error_after:
                yield line_of({"error": "an error was encountered while running the model"})
                return
            if number == faults.stall_after:
                await asyncio.sleep(3600)
            if number == faults.reset_after:
                yield None
                return
            if number == faults.end_after:
                return
            if piece is None:
                break
            message = {"role": "assistant", "content": "", kind: piece}
            yield line_of(
                {"model": model.name, "created_at": AT, "message": message, "done": False}
            )
            await asyncio.sleep(faults.between_s)
        yield line_of({**done, "message": {"role": "assistant", "content": ""}})

    async def _cut(self, response: web.StreamResponse, data: bytes, whole: bool = False) -> bytes:
        """Send in odd pieces: several lines in one, one line over several. What is left waits."""
        while len(data) >= self.cut_bytes or (whole and data):
            await response.write(data[: self.cut_bytes])
            data = data[self.cut_bytes :]
            await asyncio.sleep(0)
        return data

    # --- pull -------------------------------------------------------------------------------

    async def _pull(self, request: web.Request) -> web.StreamResponse:
        body = await body_of(request)
        name = str(body.get("model", ""))
        response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
        response.enable_chunked_encoding()
        await response.prepare(request)
        for number, line in enumerate(self._pull_lines(name)):
            if number == self.faults.pull_reset_after:
                reset(request)
                return response
            if number == self.faults.pull_error_after:
                line = {"error": "max retries exceeded: EOF"}
            await self._cut(response, line_of(line), whole=True)
            if "error" in line:
                return response
        if name in self.library:
            self.models[name] = self.library[name]
        return response

    def _pull_lines(self, name: str) -> Any:
        yield {"status": "pulling manifest"}
        if name not in self.library:
            yield {"error": "pull model manifest: file does not exist"}
            return
        model = self.library[name]
        status = f"pulling {model.digest[:12]}"
        layer = {"status": status, "digest": f"sha256:{model.digest}", "total": model.bytes}
        here = self.pulled.get(name, 0)
        yield layer if not here else {**layer, "completed": here}
        while here < model.bytes:
            here = min(model.bytes, here + -(-model.bytes // 8))
            self.pulled[name] = here
            yield {**layer, "completed": here}
        yield {"status": "verifying sha256 digest"}
        yield {"status": "writing manifest"}
        yield {"status": "success"}


@contextlib.asynccontextmanager
async def ollama(
    kind: type[OllamaStandIn] = OllamaStandIn, **settings: Any
) -> AsyncIterator[OllamaStandIn]:
    """A running stand-in on a free port of loopback."""
    stand_in = kind(**settings)
    runner = web.AppRunner(
        stand_in.application(), handler_cancellation=True, access_log=None, shutdown_timeout=0.2
    )
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    stand_in.url = f"http://{host}:{port}"
    try:
        yield stand_in
    finally:
        for task in list(stand_in.freeing):
            task.cancel()
        await runner.cleanup()
