"""One table of `config.toml`."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Part(BaseModel):
    """One table of the file: unknown keys and loose types are faults."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
