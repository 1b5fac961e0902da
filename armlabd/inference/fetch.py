"""Fetch a model folder through huggingface_hub: pinned, checked, resumed where it was broken off.

Only the command line imports this; the daemon never does. A file comes beside its place, is checked
against every checksum that is known of it (the catalog's, the lock's of an earlier fetch, the
hub's own), and only then takes its place. `hf_hub_download` is not used: it begins a file anew
whenever its process was ended, and a board's link breaks within 500 MB.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from armlabd.durable import fsync_folder
from armlabd.inference.backend import ModelError
from armlabd.inference.catalog import MB, Entry
from armlabd.inference.store import Pinned, Store, sha256_of
from armlabd.verdict import Code

GRAPHS = ("decoder_model_merged", "embed_tokens", "vision_encoder")
NEEDED = ("config.json", "tokenizer.json", "preprocessor_config.json")
ALSO = (".json", ".jinja", ".txt")  # of the top folder: chat template, vocabulary, licence
SPARE_BYTES = 200 * MB  # left free on the disk
PLAIN = ("", "fp32")
OnProgress = Callable[[str, int, int], None]  # file, bytes so far, bytes in all (0 = not told)


@dataclass(frozen=True, slots=True)
class Remote:
    """A file of the repository: its path, bytes, and a checksum that the hub tells ("" = not).

    Large files have a `sha256`, small ones the checksum that git gives a blob.
    """

    path: str
    bytes: int
    sha256: str = ""
    blob: str = ""

    def is_at(self, path: Path, known: str) -> bool:
        """True when the file is there and is what every checksum says. Raises OSError."""
        if not path.is_file() or path.stat().st_size != self.bytes:
            return False
        if self.sha256 or known:
            found = sha256_of(path)
            return all(found == wanted for wanted in (self.sha256, known) if wanted)
        return not self.blob or blob_sum_of(path) == self.blob


def fetch(
    entry: Entry,
    store: Store,
    variants: Mapping[str, str],
    on_progress: OnProgress,
    endpoint: str | None = None,
    update: bool = False,
) -> Pinned:
    """Fetch what is not here yet. `variants`: graph -> "int8", ...; `update` drops the old pin.

    Raises ModelError: not reachable, not there, no room on the disk, not the file it should be.
    """
    pin = None if update else store.pinned(entry.id)
    revision = entry.revision if pin is None else pin.revision
    hub = _Hub(entry, endpoint, on_progress)
    commit, offered = hub.listed(revision)
    wanted = chosen(entry, offered, variants)
    folder = store.folder_of(entry.id)
    _check_room(entry, store, folder, wanted)
    known = {**({} if pin is None else pin.files), **entry.sha256}
    sums = {one.path: _kept(hub, one, folder, known.get(one.path, "")) for one in wanted}
    pinned = Pinned(entry.repository, commit, {**known, **sums})
    try:
        store.pin(entry.id, pinned)
    except OSError as error:
        raise _disk(f"{entry.id} is here, but cannot be written down", error) from error
    return pinned


def chosen(
    entry: Entry, offered: tuple[Remote, ...], variants: Mapping[str, str]
) -> tuple[Remote, ...]:
    """The files of a model in the wanted variants. Raises ModelError with what is missing."""
    graphs = {f"onnx/{graph}{_suffix(variants.get(graph, ''))}.onnx" for graph in GRAPHS}
    by_path = {remote.path: remote for remote in offered}
    missing = sorted((graphs | set(NEEDED)) - set(by_path))
    if missing:
        raise ModelError(
            Code.NO_MODEL,
            f"{entry.repository} has no {', '.join(missing)}. Choose another --variant: "
            f"{', '.join(_offered_variants(by_path)) or 'it has none'}.",
        )
    data = {f"{path}_data" for path in graphs}
    top = {path for path in by_path if "/" not in path and path.endswith(ALSO)}
    return tuple(by_path[path] for path in sorted((graphs | data | top) & set(by_path)))


def _suffix(variant: str) -> str:
    return "" if variant in PLAIN else f"_{variant}"


def _offered_variants(paths: Mapping[str, Remote]) -> list[str]:
    begin = f"onnx/{GRAPHS[0]}"
    names = [p.removeprefix(begin).removesuffix(".onnx") for p in paths if p.startswith(begin)]
    return sorted(name.lstrip("_") or "fp32" for name in names if "." not in name)


def _check_room(entry: Entry, store: Store, folder: Path, wanted: tuple[Remote, ...]) -> None:
    """Raises ModelError with the figures when the disk has no room for what is still missing."""
    missing = sum(r.bytes for r in wanted if not (folder / r.path).is_file())
    try:
        free = store.free_bytes()
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _disk(f"The folder {folder} cannot be made", error) from error
    if missing + SPARE_BYTES > free:
        raise ModelError(
            Code.DISK,
            f"{entry.id} needs {missing // MB} MB more and {SPARE_BYTES // MB} MB to spare; the "
            f"disk has {free // MB} MB free. Free it, or choose a smaller --variant.",
        )


def _kept(hub: _Hub, remote: Remote, folder: Path, known: str) -> str:
    """The checksum of a file that is at its place and is what it should be. Raises ModelError."""
    place = folder / remote.path
    try:
        if not remote.is_at(place, known):
            part = hub.download(remote, place)
            if not remote.is_at(part, known):
                raise _other(remote, part, known)
            os.replace(part, place)
            fsync_folder(place.parent)
        return sha256_of(place)
    except OSError as error:
        raise _disk(f"{remote.path} cannot be written", error) from error


def _other(remote: Remote, part: Path, known: str) -> ModelError:
    """The refusal of a file that is not the one that is known; it is removed."""
    found, wanted = sha256_of(part), known or remote.sha256 or f"git's {remote.blob}"
    part.unlink()
    return ModelError(
        Code.NO_MODEL,
        f"{remote.path} is not the file that is known: sha256 {found}, and it must be {wanted}. "
        "It was removed. Fetch again; if that does not help, the repository was changed "
        "(--update takes what it has now).",
    )


def _disk(what: str, error: OSError) -> ModelError:
    why = error.strerror or error
    return ModelError(Code.DISK, f"{what}: {why}. Mend it, or use --state or root.")


class _Hub:
    """The little of huggingface_hub that is used: no token, no telemetry, no cache elsewhere."""

    def __init__(self, entry: Entry, endpoint: str | None, on_progress: OnProgress) -> None:
        os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
        os.environ.setdefault("HF_HUB_DISABLE_XET", "1")
        from huggingface_hub import HfApi

        logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
        self._entry, self._endpoint, self._on_progress = entry, endpoint, on_progress
        self._commit = ""
        self._api = HfApi(endpoint=endpoint, token=False)

    def listed(self, revision: str) -> tuple[str, tuple[Remote, ...]]:
        """The commit, and every file of it. Raises ModelError."""
        with self._told():
            info = self._api.model_info(
                self._entry.repository, revision=revision, files_metadata=True, timeout=30.0
            )
        files = tuple(_remote(one) for one in info.siblings or ())
        self._commit = str(info.sha or revision)
        return self._commit, files

    def download(self, remote: Remote, place: Path) -> Path:
        """The whole file beside its place; goes on with what is there of it. Raises ModelError."""
        from huggingface_hub import hf_hub_url
        from huggingface_hub.file_download import http_get

        name, commit = self._entry.repository, self._commit
        url = hf_hub_url(name, remote.path, revision=commit, endpoint=self._endpoint)
        with self._told(), self._part(remote, place) as file:
            http_get(
                url,
                file,
                resume_size=file.tell(),
                expected_size=remote.bytes,
                tqdm_class=self._meter(remote.path),
            )
        return Path(file.name)

    @contextlib.contextmanager
    def _part(self, remote: Remote, place: Path) -> Iterator[BinaryIO]:
        """What is there of this commit's file, open at its end; parts of others are removed."""
        place.parent.mkdir(parents=True, exist_ok=True)
        part = place.with_name(f".{place.name}.{self._commit[:12]}.part")
        for other in place.parent.glob(f".{place.name}.*.part"):
            if other != part:
                other.unlink()
        with part.open("ab") as file:
            if file.tell() > remote.bytes:
                file.truncate(0)
            yield file
            file.flush()
            os.fsync(file.fileno())

    def _meter(self, path: str) -> type[Meter]:
        on_progress = self._on_progress

        class Told(Meter):
            def __init__(self, **given: Any) -> None:
                super().__init__(path, on_progress, **given)

        return Told

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """What goes wrong, as a ModelError that says what to do."""
        from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError

        where = self._endpoint or "huggingface.co"
        try:
            yield
        except RepositoryNotFoundError as error:
            sentence = f"{where} has no {self._entry.repository}, or hides it. Check the name."
            raise ModelError(Code.NO_MODEL, sentence) from error
        except HfHubHTTPError as error:
            sentence = f"{where} refuses {self._entry.repository}: {str(error)[:200]}. Try later."
            raise ModelError(Code.NO_MODEL, sentence) from error
        except Exception as error:  # of the line: the library has many
            if isinstance(error, OSError) and error.errno is not None:
                raise  # the disk's
            raise _broken(self._entry.id, where, error) from error


def _broken(model: str, where: str, error: Exception) -> ModelError:
    why = " ".join(str(error).split())[:200] or type(error).__name__
    return ModelError(
        Code.MODEL_LOST,
        f"{model} could not be fetched from {where}: {why}. What is here stays; fetch again and it "
        "goes on.",
    )


def _remote(sibling: Any) -> Remote:
    path, size = str(sibling.rfilename), int(sibling.size or 0)
    if sibling.lfs is not None:
        return Remote(path, size, sha256=str(sibling.lfs.sha256 or ""))
    return Remote(path, size, blob=str(sibling.blob_id or ""))


def blob_sum_of(path: Path) -> str:
    """The checksum that git gives a file. Raises OSError."""
    data = path.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


class Meter:
    """Stands where huggingface_hub expects a tqdm bar, and tells somebody else."""

    def __init__(
        self,
        path: str,
        on_progress: OnProgress,
        *,
        total: float | None = None,
        initial: float = 0,
        **_: Any,
    ) -> None:
        self._path, self._on_progress = path, on_progress
        self.total, self.n = total, initial
        self.update(0)

    def update(self, more: float = 1) -> None:
        """So many bytes more."""
        self.n += more
        self._on_progress(self._path, int(self.n), int(self.total or 0))

    def close(self) -> None:
        """It has ended."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
