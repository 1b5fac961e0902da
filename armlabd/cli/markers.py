"""`armlabd markers`: the sheets with the four tags, to print."""

from __future__ import annotations

import argparse

from armlabd.cli.exits import OK, REFUSED, USAGE
from armlabd.cli.show import complain, say
from armlabd.config import Config, ConfigError, load_config


def markers(options: argparse.Namespace) -> int:
    """armlabd markers: one PDF and a PNG per sheet, at true size."""
    try:
        config = load_config(options.config)
    except ConfigError as error:
        for fault in error.faults:
            complain(f"{error.path or 'settings'}: {fault}")
        return USAGE
    from armlabd.perceive.sheet import PaperError

    try:
        files = sheet_files(config, options.paper)
    except PaperError as error:
        complain(str(error))
        return REFUSED
    try:
        options.out.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (options.out / name).write_bytes(content)
            say(str(options.out / name))
    except OSError as error:
        complain(f"{options.out} cannot be written: {error.strerror or error}. Name another --out.")
        return REFUSED
    say("Print at 100 %, without fitting to the page, and check the scale with a ruler.")
    return OK


def sheet_files(config: Config, paper_name: str) -> dict[str, bytes]:
    """Name -> content of everything to print. Raises PaperError."""
    from armlabd.perceive.paper import PAPERS, pdf_of, png_of
    from armlabd.perceive.sheet import Layout, sheets

    paper = PAPERS[paper_name]
    table = config.perceive.marker_table()
    layout = Layout(table, config.workspace.area(), dict(config.places), config.camera.model())
    pages = sheets(layout, paper)
    name = f"markers-{paper.name}"
    pictures = {f"{name}-{n}.png": png_of(paper, page) for n, page in enumerate(pages, start=1)}
    return {f"{name}.pdf": pdf_of(paper, pages), **pictures}
