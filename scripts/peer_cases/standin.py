"""Empty modules in place of the big ones that LeRobot imports and its servo bus never calls.

LeRobot's own files run unchanged; only `import torch` and the like find something, 5 GB smaller.
"""

from __future__ import annotations

import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

NAMES = frozenset(
    """PIL accelerate av cv2 datasets diffusers einops gymnasium imageio jsonlines pandas pyarrow
    rerun safetensors torch torchcodec torchvision transformers wandb""".split()  # noqa: SIM905
)


class Kind(type):
    """A class whose every attribute is another one."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return made(name)

    def __or__(cls, other: object) -> Any:
        return cls

    def __ror__(cls, other: object) -> Any:
        return cls


def made(name: str) -> Kind:
    """A class that can be called, subscripted, derived from and used as a decorator."""
    body = {
        "__init__": lambda self, *args, **named: None,
        "__call__": lambda self, *args, **named: args[0] if args else None,
        "__class_getitem__": classmethod(lambda cls, item: cls),
    }
    return Kind(name, (), body)


class Empty(ModuleType):
    """A module that has whatever is asked of it."""

    __path__: list[str] = []  # noqa: RUF012 - a package, so that its submodules are asked for

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = made(name)
        setattr(self, name, found)
        return found


class Finder(MetaPathFinder, Loader):
    """Finds the modules of NAMES where nobody else did."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        """An empty package for one of the names."""
        wanted = name.partition(".")[0] in NAMES
        return ModuleSpec(name, self, is_package=True) if wanted else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module itself."""
        return Empty(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to carry out."""


def install() -> None:
    """Put it behind everything that is really installed."""
    sys.meta_path.append(Finder())
