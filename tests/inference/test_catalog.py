"""models/catalog.toml as it is shipped, and every way in which one can be broken."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, get_args

import pytest

from armlabd.config.model import BoxFormat
from armlabd.inference.catalog import CatalogError, parse, places, read_catalog
from armlabd.inference.ollama_names import is_cloud

GOOD: dict[str, Any] = {
    "id": "a:1b",
    "backend": "ollama",
    "licence": "Apache-2.0",
    "good_for": "plans",
    "board": "any",
    "disk_mb": 5,
    "memory_mb": 9,
    "can": ["plan"],
}


def test_the_shipped_catalog_is_whole_and_true_to_its_own_rules() -> None:
    catalog = read_catalog()
    assert catalog.fault == ""
    assert {entry.backend for entry in catalog.entries} == {"ollama", "smolvlm"}
    formats = set(get_args(BoxFormat)) - {"auto"}
    for entry in catalog.entries:
        assert set(entry.can) <= {"plan", "see"}
        assert entry.box_format in formats
        assert not is_cloud(entry.id)
        assert entry.memory_mb >= entry.disk_mb
    smol = [entry for entry in catalog.entries if "smolvlm" in entry.id]
    assert all(e.box_format == "none" and "no boxes" in e.good_for for e in smol)
    assert catalog.find("smolvlm", "smolvlm-256m") in catalog.entries
    assert catalog.find("ollama", "smolvlm-256m") is None


def test_every_field_is_explained_at_the_head_of_the_file() -> None:
    text = places()[0].read_text(encoding="utf-8")
    head = text[: text.index("[[model]]")]
    for name in {name for item in tomllib.loads(text)["model"] for name in item}:
        assert name in head


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"nope": 1}, "unknown ['nope']"),
        ({"id": None}, "missing ['id']"),
        ({"disk_mb": "5"}, "disk_mb = '5' must be int"),
        ({"disk_mb": True}, "disk_mb = True must be int"),
        ({"disk_mb": 0}, "disk_mb = 0 must be int"),
        ({"id": ""}, "id = '' must be str"),
        ({"can": "plan"}, "can = 'plan' must be tuple"),
        ({"sha256": {"a": 1}}, "sha256 = {'a': 1}"),
        ({"backend": "cloud"}, "ollama, smolvlm"),
        ({"backend": "smolvlm"}, "a folder has a repository"),
        ({"repository": "a/b"}, "a tag has none"),
    ],
)
def test_a_wrong_entry_is_named(change: dict[str, Any], words: str) -> None:
    item = {key: value for key, value in {**GOOD, **change}.items() if value is not None}
    with pytest.raises(CatalogError) as caught:
        parse({"model": [item]})
    assert words in str(caught.value)


@pytest.mark.parametrize("raw", [{}, {"model": 5}, {"model": [5]}, {"model": [GOOD], "x": 1}])
def test_a_file_of_another_form_is_refused(raw: dict[str, Any]) -> None:
    with pytest.raises(CatalogError):
        parse(raw)


def test_a_model_listed_twice_is_refused() -> None:
    with pytest.raises(CatalogError, match="listed twice"):
        parse({"model": [GOOD, GOOD]})


def test_without_a_catalog_there_is_an_empty_one_that_says_why(tmp_path: Path) -> None:
    missing = read_catalog(tmp_path / "none.toml")
    assert (missing.entries, "none.toml" in missing.fault) == ((), True)
    broken = tmp_path / "bad.toml"
    broken.write_bytes(b"\xff")
    assert "cannot be used" in read_catalog(broken).fault
