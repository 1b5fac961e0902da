"""Write settings into a config.toml without touching anything else in it.

`install_settings.py TEMPLATE TARGET section.key=VALUE ...`: VALUE is TOML. The comment behind a key
stays. The result is read back as armlabd reads it before it takes the target's place, so a wrong
value changes nothing. Raises nothing: exit status 1 and a sentence.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from armlabd.config import ConfigError, load_config
from armlabd.durable import write_atomic

LINE = re.compile(r"^(?P<key>[a-z0-9_]+)(?P<equals>\s*=\s*)(?P<value>.*?)(?P<comment>\s+#.*)?$")
TABLE = re.compile(r"^\[(?P<name>[a-z0-9_.]+)\]")


def changed(text: str, table: str, key: str, value: str) -> str:
    """The text with `key` of `[table]` set. Raises KeyError when it is not there."""
    lines, inside = text.splitlines(), False
    for number, line in enumerate(lines):
        header = TABLE.match(line)
        if header:
            inside = header["name"] == table
        found = LINE.match(line) if inside else None
        if found and found["key"] == key:
            lines[number] = f"{key}{found['equals']}{value}{found['comment'] or ''}"
            return "\n".join(lines) + "\n"
    raise KeyError(f"{table}.{key}")


def with_settings(text: str, settings: list[str]) -> str:
    """The text with every `table.key=VALUE`. Raises KeyError, ValueError."""
    for setting in settings:
        name, equals, value = setting.partition("=")
        table, dot, key = name.rpartition(".")
        if not equals or not dot:
            raise ValueError(f"{setting!r} is not table.key=VALUE")
        text = changed(text, table, key, value)
    return text


def main(argv: list[str]) -> int:
    """The command; see the module."""
    template, target, *settings = argv
    beside = Path(f"{target}.new")
    try:
        text = with_settings(Path(template).read_text(encoding="utf-8"), settings)
        beside.write_text(text, encoding="utf-8")
        load_config(beside)
        beside.unlink()
        write_atomic(target, text.encode(), 0o644)
    except (KeyError, ValueError, ConfigError, OSError) as error:
        beside.unlink(missing_ok=True)
        print(f"The settings were not written: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
