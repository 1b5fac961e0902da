"""One loaded model that answers questions. Runs in the worker only; imports what is heavy."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from armlabd.inference import generate, graphs
from armlabd.inference.backend import Answer, Ask, Finish, ModelError
from armlabd.inference.folder import look_at
from armlabd.inference.generate import Begun, Chooser, Decoder, Halt
from armlabd.inference.mask import Masks
from armlabd.inference.prompt import Prompt, Prompter, merged
from armlabd.inference.settings import WorkerSettings
from armlabd.verdict import Code


@dataclass(frozen=True, slots=True)
class Told:
    """An answer and what only the bench wants to know."""

    answer: Answer
    mask_s: float  # spent on mask, grammar and choice


class Engine:
    """Loads a folder, then answers one question at a time. Raises ModelError."""

    def __init__(self, settings: WorkerSettings) -> None:
        self._settings = settings
        self._folder = look_at(settings)
        numbers = self._folder.numbers
        self.window = min(settings.window, numbers.positions)
        self._graphs = graphs.load(settings, self._folder)
        tokenizer = self._folder.path / "tokenizer.json"
        self._masks = Masks(tokenizer, self._graphs.vocabulary, numbers.ends)
        self._prompter = Prompter(self._folder, settings.tiles)
        self._chooser = Chooser(settings.temperature, settings.seed)
        self._begun: Begun | None = None
        self._probe()

    def facts(self) -> dict[str, Any]:
        """What is shown of the loaded model."""
        return {
            "window": self.window,
            "providers": list(self._graphs.decoder.get_providers()),
            "sees": self._folder.sees,
            "vocabulary": self._graphs.vocabulary,
            "layers": len(self._graphs.cache.pairs) // 2,
            "threads": self._settings.threads,
            "notes": list(self._graphs.notes),
        }

    def answer(self, ask: Ask, halt: Halt) -> Told:
        """The model's text. Raises ModelError, or Cancelled."""
        started = time.monotonic()
        prompt = self._prompter.prompt(ask.system, ask.prompt, ask.images)
        self._fits(prompt, ask)
        mask = self._masks.of(ask.schema)
        begun = self._begun_for(prompt)
        embeddings = self._embedded(prompt, begun.length if begun else 0, halt)
        before_s = time.monotonic() - started
        decoder = Decoder(self._graphs, halt, begun)
        written, prompt_s = generate.write(
            self._graphs,
            decoder,
            embeddings,
            mask,
            self._chooser,
            ends=self._masks.ends,
            most=ask.max_tokens,
            halt=halt,
            forced=self._settings.forced,
        )
        whole_s = time.monotonic() - started
        if prompt.pixels is None:
            self._begun = decoder.begun(prompt.tokens)
        answer = Answer(
            text=self._prompter.decoded(written.tokens),
            model=self._settings.model,
            finish=Finish.STOP if written.whole else Finish.LENGTH,
            prompt_tokens=len(prompt.tokens),
            output_tokens=len(written.tokens),
            forced_tokens=written.forced,
            steps=written.steps,
            prompt_s=before_s + prompt_s,
            output_s=whole_s - before_s - prompt_s,
        )
        return Told(answer, written.mask_s)

    def _begun_for(self, prompt: Prompt) -> Begun | None:
        """What the last question shares with this one: system text and examples are read once.

        A picture's tokens are alike whatever it shows, so that questions with one begin anew.
        """
        last, self._begun = self._begun, None
        return None if last is None or prompt.pixels is not None else last.of(prompt.tokens)

    def _embedded(self, prompt: Prompt, begun: int, halt: Halt) -> graphs.Array:
        """The embeddings of what is still to be read."""
        embeddings = generate.embedded(self._graphs, prompt.tokens[begun:], halt)
        if prompt.pixels is None or prompt.pixel_mask is None:
            return embeddings
        features = generate.seen(self._graphs, prompt.pixels, prompt.pixel_mask, halt)
        token = self._folder.numbers.image_token
        assert token is not None
        return merged(embeddings, prompt.tokens, token, features)

    def _fits(self, prompt: Prompt, ask: Ask) -> None:
        """Raises ModelError(OUT_OF_RANGE): nothing is cut."""
        count = len(prompt.tokens)
        if count + ask.max_tokens > self.window:
            raise ModelError(
                Code.OUT_OF_RANGE,
                f"The question has {count} tokens and the answer may have {ask.max_tokens}; the "
                f"window of {self._settings.model} is {self.window}. Ask shorter, or raise the "
                "window.",
            )

    def _probe(self) -> None:
        """One token through both text graphs: what is wrong in them is found at load."""
        halt = Halt(self._settings.load_s)
        logits = Decoder(self._graphs, halt).feed(generate.embedded(self._graphs, [0], halt))
        if logits.shape != (self._graphs.vocabulary,):
            raise ModelError(
                Code.NO_MODEL,
                f"The decoder's logits are {logits.shape[0]} wide, the vocabulary has "
                f"{self._graphs.vocabulary}: the files belong to different models.",
            )


def ask_of(fields: dict[str, Any], images: Sequence[bytes]) -> Ask:
    """A question from the wire."""
    return Ask(
        system=fields["system"],
        prompt=fields["prompt"],
        schema=fields["schema"],
        images=tuple(images),
        max_tokens=fields["max_tokens"],
        answer_s=fields["answer_s"],
    )
