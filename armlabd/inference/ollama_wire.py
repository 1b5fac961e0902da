"""HTTP with an Ollama server: whole answers, and streams of JSON lines, each with its limits.

A stream may be cut anywhere, also within a character, and may tell an error in any line although
its status is 200. What is read is bounded. No proxy is used and no redirect followed.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing
from typing import Any

import aiohttp

from armlabd.inference import ollama_errors as errors
from armlabd.inference.backend import ModelError

OK = 200
CONNECT_S = 3.0
MAX_LINE_BYTES = 1 << 20
MAX_BODY_BYTES = 8 << 20  # /api/show of a model with a long licence is about 0.1 MB
Message = Mapping[str, Any]


class OllamaWire:
    """One server. Every method raises ModelError; `model` is whom the sentences name."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        self._session: aiohttp.ClientSession | None = None
        self._closed = False

    async def ask(
        self, method: str, path: str, model: str, limit_s: float, body: Message | None = None
    ) -> dict[str, Any]:
        """One whole answer within `limit_s`."""
        silent = errors.unreachable(self.url, f"silent for {limit_s:g} s")
        with self._told(model, silent):
            async with asyncio.timeout(limit_s), self._request(method, path, body) as response:
                return await _message(response, model)

    async def stream(
        self, path: str, body: Message, model: str, first_s: float, between_s: float
    ) -> AsyncGenerator[dict[str, Any], None]:
        """The lines of a streamed answer. Leaving it early ends what the server does for it.

        `first_s` bounds the time to the first byte, `between_s` every wait after it.
        """
        with self._told(model, errors.too_slow(model, "said nothing for", first_s)):
            async with asyncio.timeout(first_s):
                response = await self._request("POST", path, body)
        try:
            with self._told(model, errors.too_slow(model, "fell silent for", between_s)):
                if response.status != OK:
                    async with asyncio.timeout(between_s):
                        await _message(response, model)
                async with aclosing(_lines(response, model, between_s)) as lines:
                    async for line in lines:
                        yield _checked(_parse(line, model), response.status, model)
        finally:
            response.close()  # not released: the server must see that nobody listens any more

    @contextlib.contextmanager
    def _told(self, model: str, silent: ModelError) -> Iterator[None]:
        """Whatever goes wrong with the connection, as a ModelError; `silent` for a limit."""
        try:
            yield
        except TimeoutError as error:
            raise silent from error
        except aiohttp.ClientConnectorError as error:
            raise errors.unreachable(self.url, _reason(error)) from error
        except (aiohttp.ClientError, OSError) as error:
            raise errors.broken_off(model, _reason(error)) from error

    async def close(self) -> None:
        """Let go of the connections; whoever asks after it gets a ModelError."""
        self._closed = True
        if self._session is not None:
            await self._session.close()

    def _request(self, method: str, path: str, body: Message | None) -> Any:
        if self._closed:
            raise aiohttp.ClientConnectionError("it was closed")
        if self._session is None:
            limits = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S)
            connector = aiohttp.TCPConnector(force_close=True)
            self._session = aiohttp.ClientSession(
                timeout=limits, connector=connector, auto_decompress=False
            )
        return self._session.request(
            method,
            self.url + path,
            json=None if body is None else dict(body),
            headers={"Accept-Encoding": "identity"},
            allow_redirects=False,
        )


async def _lines(
    response: aiohttp.ClientResponse, model: str, between_s: float
) -> AsyncGenerator[bytes, None]:
    """Whole lines of bytes, however the stream was cut."""
    left = b""
    while True:
        async with asyncio.timeout(between_s):
            chunk = await response.content.readany()
        *whole, left = (left + chunk).split(b"\n")
        if len(left) > MAX_LINE_BYTES:
            raise errors.unreadable(model, f"a line is longer than {MAX_LINE_BYTES} bytes")
        for line in whole:
            if line.strip():
                yield line
        if not chunk:
            break
    if left.strip():
        yield left


async def _message(response: aiohttp.ClientResponse, model: str) -> dict[str, Any]:
    """The whole body as one object. An error may be plain words; nothing may be nothing."""
    data = bytearray()
    while chunk := await response.content.readany():
        data += chunk
        if len(data) > MAX_BODY_BYTES:
            raise errors.unreadable(model, f"it is longer than {MAX_BODY_BYTES} bytes")
    try:
        found = _parse(bytes(data), model) if data else {}
    except ModelError:
        if response.status == OK:
            raise
        found = {"error": data.decode("utf-8", "replace")}
    return _checked(found, response.status, model)


def _parse(data: bytes, model: str) -> dict[str, Any]:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise errors.unreadable(model, "it is no JSON") from error
    if not isinstance(found, dict):
        raise errors.unreadable(model, "it is no JSON object")
    return found


def _checked(message: dict[str, Any], status: int, model: str) -> dict[str, Any]:
    """The message, unless it tells an error."""
    if "error" not in message and status == OK:
        return message
    said = message.get("error")
    if isinstance(said, dict):  # the form of newer streams and of compatible servers
        said = said.get("message")
    raise errors.of_server(model, int(status), str(said or ""))


def _reason(error: BaseException) -> str:
    cause = getattr(error, "os_error", error)
    return str(getattr(cause, "strerror", None) or cause or type(error).__name__)[:120]
