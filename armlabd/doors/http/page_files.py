"""The page at `/`: a few files of our own, read once and given out as they are.

The browser may run and load nothing but these files, and nobody may put the page into a frame.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from aiohttp import web

from armlabd.doors.http.answers import NO_STORE

FOLDER = Path(__file__).with_name("page")
FIRST = "index.html"
TYPES: Mapping[str, str] = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
HEADERS: Mapping[str, str] = {
    **NO_STORE,
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
}


@dataclass(frozen=True, slots=True)
class PageFiles:
    """The files by name, in memory: a full or broken disk takes the page from nobody."""

    files: Mapping[str, bytes]

    @classmethod
    def read(cls, folder: Path = FOLDER) -> Self:
        """All of them. Raises OSError when the installation is not whole."""
        found = {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix in TYPES}
        return cls(found)

    def answer(self, name: str = FIRST) -> web.Response | None:
        """One file with the page's headers; None where there is none of that name."""
        content = self.files.get(name)
        if content is None:
            return None
        kind = TYPES[Path(name).suffix]
        return web.Response(body=content, content_type=kind, charset="utf-8", headers=HEADERS)
