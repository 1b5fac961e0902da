"""The Ollama client against a faithful stand-in: answers, loading, and every known fault."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ollama_stand_in import OOM, OllamaStandIn, ollama

from armlabd.inference.backend import Ask, Finish, ModelError, Warmth
from armlabd.inference.ollama import Ollama, OllamaSettings
from armlabd.inference.ollama_names import is_cloud, is_here
from armlabd.inference.tokens import least_tokens, most_tokens
from armlabd.verdict import Code

SCHEMA = {"type": "object", "properties": {"answer": {"enum": ["yes", "no"]}}}
TEXT = json.dumps({"answer": "ja, größer 🙂"}, ensure_ascii=False)
PICTURE = b"\x89PNG of a table"


def asked(prompt: str = "put the red block in the bin", **more: Any) -> Ask:
    return Ask("You plan.", prompt, SCHEMA, answer_s=more.pop("answer_s", 5.0), **more)


@asynccontextmanager
async def client(url: str, model: str = "plan:1b", **more: Any) -> AsyncIterator[Ollama]:
    one = Ollama(OllamaSettings(url, model, **more))
    try:
        yield one
    finally:
        await one.close()


async def refused(server: OllamaStandIn, ask: Ask | None = None, **more: Any) -> ModelError:
    """The error of one question."""
    async with client(server.url, **more) as backend:
        with pytest.raises(ModelError) as caught:
            await backend.answer(ask or asked())
    return caught.value


# --- answers --------------------------------------------------------------------------------------


async def test_an_answer_with_its_costs(server: OllamaStandIn) -> None:
    server.author = lambda body: TEXT
    async with client(server.url) as backend:
        answer = await backend.answer(asked())
        again = await backend.answer(asked())
    assert answer.text == again.text == TEXT
    assert (answer.model, answer.finish) == ("plan:1b", Finish.STOP)
    assert answer.prompt_tokens == 10
    assert answer.output_tokens > 0
    assert (answer.prompt_s, answer.output_s) == pytest.approx((0.12, 0.38))
    assert answer.load_s > 0
    assert again.load_s == 0
    assert server.loads == 1


async def test_what_is_sent(server: OllamaStandIn) -> None:
    async with client(server.url, window=2048, keep_alive_s=600) as backend:
        await backend.answer(asked(max_tokens=77))
    load, chat = server.asked
    assert load["messages"] == []
    assert load["options"]["num_ctx"] == chat["options"]["num_ctx"] == 2048
    assert load["keep_alive"] == chat["keep_alive"] == 600
    assert chat["format"] == SCHEMA
    assert chat["think"] is chat["truncate"] is chat["shift"] is False
    assert chat["options"]["num_predict"] == 77
    assert [m["role"] for m in chat["messages"]] == ["system", "user"]


async def test_pictures_go_as_base64_to_a_model_that_sees(server: OllamaStandIn) -> None:
    async with client(server.url, "see:2b") as backend:
        await backend.answer(asked(images=(PICTURE,)))
    assert server.asked[-1]["messages"][1]["images"] == [base64.b64encode(PICTURE).decode()]
    error = await refused(server, asked(images=(PICTURE,)))
    assert error.code is Code.NO_MODEL
    assert "plan:1b" in error.sentence
    assert "vision" in error.sentence


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(text=st.text(min_size=1, max_size=40).filter(str.strip), cut=st.integers(1, 60))
async def test_any_text_cut_anywhere_arrives_whole(text: str, cut: int) -> None:
    text = text.encode("utf-8", "replace").decode()
    async with ollama(author=lambda body: text, cut_bytes=cut, piece_chars=1) as server:
        server.add("plan:1b")
        async with client(server.url) as backend:
            assert (await backend.answer(asked())).text == text


async def test_a_cut_answer_says_so(server: OllamaStandIn) -> None:
    server.author = lambda body: TEXT
    server.faults.length_after = 12
    async with client(server.url) as backend:
        answer = await backend.answer(asked())
    assert (answer.finish, answer.text) == (Finish.LENGTH, TEXT[:12])


@pytest.mark.parametrize("wrap", ["fence", "prose"])
async def test_an_ignored_format_is_handed_on_for_whoever_asked_to_judge(
    server: OllamaStandIn, wrap: str
) -> None:
    server.author, server.faults.wrap = (lambda body: TEXT), wrap
    async with client(server.url) as backend:
        answer = await backend.answer(asked())
    assert TEXT in answer.text != TEXT


# --- faults ---------------------------------------------------------------------------------------

FAULTS: list[tuple[dict[str, Any], Code, str]] = [
    ({"refuse": (503, "server busy, please try again. maximum pending requests exceeded")},
     Code.MODEL_LOST, "Wait until others are done"),
    ({"refuse": (403, "ollama cloud is disabled: remote model is unavailable")},
     Code.NO_MODEL, "runs on this board"),
    ({"refuse": (400, '"plan:1b" does not support chat')}, Code.NO_MODEL, "armlabd models list"),
    ({"refuse": (400, "invalid options")}, Code.MODEL_ANSWER, "invalid options"),
    ({"refuse": (499, "request canceled")}, Code.MODEL_LOST, "request canceled. Try again."),
    ({"load_error": OOM}, Code.MODEL_MEMORY, "5.6 GiB) than is available (2.1 GiB)"),
    ({"load_error": "llama runner process has terminated: signal: killed"},
     Code.MODEL_MEMORY, "choose a smaller model"),
    ({"load_error": "llama runner process has terminated: exit status 2"},
     Code.MODEL_LOST, "journalctl -u ollama"),
    ({"load_error": "timed out waiting for llama runner to start: context canceled"},
     Code.MODEL_TIMEOUT, "OLLAMA_LOAD_TIMEOUT"),
    ({"error_after": 0}, Code.MODEL_LOST, "an error was encountered"),
    ({"error_after": 3}, Code.MODEL_LOST, "an error was encountered"),
    ({"reset_after": 0}, Code.MODEL_LOST, "broke off in the middle"),
    ({"reset_after": 3}, Code.MODEL_LOST, "broke off in the middle"),
    ({"end_after": 3}, Code.MODEL_LOST, "without its last line"),
    ({"stall_after": 3}, Code.MODEL_TIMEOUT, "fell silent for 0.2 s"),
    ({"thinking_only": True}, Code.MODEL_ANSWER, "it only thought aloud"),
    ({"prompt_count": 3, "old": True}, Code.MODEL_ANSWER, "read only 3 tokens"),
    ({"strict_window": True, "window": 6}, Code.OUT_OF_RANGE, "num_ctx"),
    ({"raw": b"<html>a proxy</html>\n"}, Code.MODEL_ANSWER, "it is no JSON."),
    ({"raw": b"[1]\n"}, Code.MODEL_ANSWER, "it is no JSON object"),
    ({"raw": b'{"message": {"content": "a"}}'}, Code.MODEL_LOST, "without its last line"),
    ({"raw": b"\n\n"}, Code.MODEL_LOST, "without its last line"),
    ({"raw": b'{"done": true}\n'}, Code.MODEL_ANSWER, "it wrote nothing"),
]  # fmt: skip


@pytest.mark.parametrize(("fault", "code", "words"), FAULTS, ids=lambda v: str(v)[:40])
async def test_every_fault_has_a_code_and_a_remedy(
    server: OllamaStandIn, fault: dict[str, Any], code: Code, words: str
) -> None:
    server.author = lambda body: TEXT
    for name, value in fault.items():
        setattr(server.faults, name, value)
    error = await refused(server, between_s=0.2)
    assert (error.code, words in error.sentence) == (code, True), error.sentence


async def test_a_line_without_end_is_given_up(
    server: OllamaStandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("armlabd.inference.ollama_wire.MAX_LINE_BYTES", 1000)
    server.faults.raw = b"x" * 2000
    assert (await refused(server)).code is Code.MODEL_ANSWER


async def test_an_answer_without_end_is_given_up(
    server: OllamaStandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("armlabd.inference.ollama.MAX_TEXT", 50)
    server.author = lambda body: "x" * 51
    assert "longer than 50 characters" in (await refused(server)).sentence


async def test_an_absent_model_is_named_with_how_to_fetch_it(server: OllamaStandIn) -> None:
    for old in (False, True):
        server.faults.old = old
        error = await refused(server, model="gone:7b")
        assert error.code is Code.NO_MODEL
        assert "armlabd models fetch gone:7b" in error.sentence


async def test_no_server_is_named_with_how_to_start_it() -> None:
    async with ollama() as server:
        url = server.url
    async with client(url) as backend:
        with pytest.raises(ModelError) as caught:
            await backend.answer(asked())
        state = await backend.state()
    assert caught.value.code is Code.MODEL_LOST
    assert "systemctl start ollama" in caught.value.sentence
    assert (state.warmth, "systemctl start ollama" in state.detail) == (Warmth.FAILED, True)


async def test_case_77_a_model_that_cannot_answer_is_refused_by_name(
    server: OllamaStandIn,
) -> None:
    """Told from what the server says it can do, before anything is asked of it."""
    error = await refused(server, model="embed")
    assert error.code is Code.NO_MODEL
    assert "embed is no model for this: it can embedding, and completion is needed" in (
        error.sentence
    )
    assert server.asked == []


# --- loading --------------------------------------------------------------------------------------


async def test_case_74_a_load_longer_than_an_answer_may_take_ends_well(
    server: OllamaStandIn,
) -> None:
    """Loading has a limit of its own; the limit on answers begins when the model is there."""
    server.faults.load_s = 0.5
    async with client(server.url, load_s=20.0) as backend:
        answer = await backend.answer(asked(answer_s=0.4))
    assert answer.load_s >= 0.5
    assert (server.loads, server.cancelled) == (1, 0)


async def test_case_74_who_gives_up_waiting_does_not_end_the_load(server: OllamaStandIn) -> None:
    """Otherwise it would begin anew each time and never be done."""
    server.faults.load_s = 0.4
    async with client(server.url) as backend:
        for _ in range(3):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await backend.answer(asked())
        assert (await backend.state()).warmth is Warmth.LOADING
        await backend.answer(asked())
    assert (server.loads, server.cancelled) == (1, 0)


async def test_a_load_beyond_its_limit_ends_named(server: OllamaStandIn) -> None:
    server.faults.load_s = 30.0
    error = await refused(server, load_s=0.1)
    assert error.code is Code.MODEL_TIMEOUT
    assert "was not loaded within 0.1 s" in error.sentence


async def test_case_75_keep_alive_is_sent_and_cold_loading_warm_is_told(
    server: OllamaStandIn,
) -> None:
    async with client(server.url, keep_alive_s=-1) as backend:
        assert (await backend.state()).warmth is Warmth.COLD
        server.faults.load_s = 0.2
        warming = asyncio.create_task(backend.warm())
        while (await backend.state()).warmth is Warmth.COLD:
            await asyncio.sleep(0)
        assert (await backend.state()).warmth is Warmth.LOADING
        await warming
        state = await backend.state()
        assert (state.warmth, state.memory_bytes) == (Warmth.WARM, 1 << 30)
        assert state.facts["window"] == 8192
        assert server.loaded["plan:1b"].keep_alive == -1
        server.expire("plan:1b")
        assert (await backend.state()).warmth is Warmth.COLD


async def test_an_absent_model_that_is_pulled_is_there_at_once(server: OllamaStandIn) -> None:
    async with client(server.url, "new:3b") as backend:
        assert (await backend.state()).warmth is Warmth.ABSENT
        with pytest.raises(ModelError):
            await backend.answer(asked())
        server.add("new:3b")
        assert (await backend.state()).warmth is Warmth.COLD
        assert (await backend.answer(asked())).text == "{}"


async def test_unload_waits_until_the_memory_is_given_back(server: OllamaStandIn) -> None:
    server.faults.free_s = 0.3
    async with client(server.url) as backend:
        await backend.unload()  # it is not loaded: nothing to do
        assert server.asked == []
        await backend.warm()
        await backend.unload()
        assert server.loaded == {}
        assert server.asked[-1]["keep_alive"] == 0


async def test_memory_that_is_never_given_back_is_said(server: OllamaStandIn) -> None:
    server.faults.free_s = 60.0
    async with client(server.url, unload_s=0.2) as backend:
        await backend.warm()
        with pytest.raises(ModelError, match=r"still there after 0\.2 s"):
            await backend.unload()


async def test_unloading_ends_a_load_and_whoever_waits_is_told(server: OllamaStandIn) -> None:
    server.faults.load_s = 30.0
    async with client(server.url) as backend:
        waiting = asyncio.create_task(backend.answer(asked()))
        while (await backend.state()).warmth is not Warmth.LOADING:
            await asyncio.sleep(0)
        await backend.unload()
        with pytest.raises(ModelError, match="unloaded while it was loading"):
            await waiting


async def test_unloading_ends_an_answer_and_whoever_waits_is_told(server: OllamaStandIn) -> None:
    server.faults.stall_after = 0
    async with client(server.url) as backend:
        waiting = asyncio.create_task(backend.answer(asked()))
        while len(server.asked) < 2:
            await asyncio.sleep(0.005)
        await backend.unload()
        with pytest.raises(ModelError, match="unloaded while it was answering"):
            await waiting
    assert server.loaded == {}


async def test_a_failed_load_is_shown_until_the_next_one_works(server: OllamaStandIn) -> None:
    server.faults.load_error = OOM
    async with client(server.url) as backend:
        with pytest.raises(ModelError):
            await backend.warm()
        state = await backend.state()
        assert (state.warmth, "5.6 GiB" in state.detail) == (Warmth.FAILED, True)
        server.faults.load_error = ""
        await backend.warm()
        assert (await backend.state()).warmth is Warmth.WARM


# --- cancelling and limits ------------------------------------------------------------------------


async def test_cancelling_the_question_ends_the_generation(server: OllamaStandIn) -> None:
    server.faults.stall_after = 0
    async with client(server.url) as backend:
        await backend.warm()
        asking = asyncio.create_task(backend.answer(asked()))
        while len(server.asked) < 2:
            await asyncio.sleep(0.005)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        while not server.cancelled:
            await asyncio.sleep(0.005)


async def test_an_answer_beyond_its_limit_ends_named(server: OllamaStandIn) -> None:
    server.author, server.faults.between_s = (lambda body: "x" * 5000), 0.02
    error = await refused(server, asked(answer_s=0.3))
    assert error.code is Code.MODEL_TIMEOUT
    assert "not done with its answer after 0.3 s" in error.sentence


async def test_a_slow_first_word_is_within_the_limit_on_answers(server: OllamaStandIn) -> None:
    server.faults.first_byte_s = 0.4
    async with client(server.url, between_s=0.2) as backend:
        assert (await backend.answer(asked())).text == "{}"


async def test_a_question_that_may_not_fit_is_never_sent(server: OllamaStandIn) -> None:
    error = await refused(server, asked("word " * 500), window=1024)
    assert error.code is Code.OUT_OF_RANGE
    assert "the window has 960" in error.sentence
    assert all(not body["messages"] for body in server.asked)


async def test_a_window_smaller_than_asked_for_counts(server: OllamaStandIn) -> None:
    server.faults.window = 1024
    error = await refused(server, asked("word " * 500))
    assert "the window has 960" in error.sentence


async def test_a_window_that_somebody_else_chose_is_asked_for_anew(server: OllamaStandIn) -> None:
    """`ollama run` on the board loads with a window of its own, and may keep it for ever."""
    async with client(server.url) as backend:
        await backend.warm()
        server.loaded["plan:1b"].window = 64
        assert (await backend.answer(asked())).text == "{}"
        assert (server.loads, server.loaded["plan:1b"].window) == (2, 8192)
        server.faults.window = 64
        server.loaded["plan:1b"].window = 64
        for _ in range(3):
            with pytest.raises(ModelError, match="the window has 0"):
                await backend.answer(asked())
        loads = sum(not body["messages"] for body in server.asked)
        assert loads == 3, "what the server gave when it was asked is all it has"
        server.faults.window = None
        server.loaded.clear()
        assert (await backend.answer(asked())).text == "{}"


async def test_a_beginning_that_was_cut_is_noticed(server: OllamaStandIn) -> None:
    """An old server that ignores num_ctx and tells no window."""
    server.faults.old, server.faults.window = True, 500
    error = await refused(server, asked("word " * 600))
    assert error.code is Code.MODEL_ANSWER
    assert "its beginning was cut" in error.sentence


async def test_a_closed_client_asks_nothing_any_more(server: OllamaStandIn) -> None:
    async with client(server.url) as backend:
        await backend.warm()
    with pytest.raises(ModelError, match="it was closed"):
        await backend.answer(asked())
    assert len(server.asked) == 1


async def test_a_prompt_that_was_read_before_may_be_counted_in_part(
    server: OllamaStandIn,
) -> None:
    server.faults.prompt_count = 3
    async with client(server.url) as backend:
        assert (await backend.answer(asked())).prompt_tokens == 3


async def test_a_model_named_after_a_cloud_is_absent_like_any_other(
    server: OllamaStandIn,
) -> None:
    error = await refused(server, model="cloudy:7b")
    assert "armlabd models fetch cloudy:7b" in error.sentence


# --- addresses, names, tokens ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "here"),
    [
        ("http://127.0.0.1:11434", True),
        ("http://127.9.9.9:1", True),
        ("http://[::1]:11434", True),
        ("http://localhost:11434", True),
        ("http://192.168.1.5:11434", False),
        ("http://0.0.0.0:11434", False),
        ("http://localhost.example.com:11434", False),
        ("http://ollama.com", False),
        ("http://127.0.0.1.example.com", False),
    ],
)
async def test_only_this_board_is_asked_unless_allowed(url: str, here: bool) -> None:
    assert is_here(url) is here
    if not here:
        async with client(url) as backend:
            with pytest.raises(ModelError, match="allow_remote = true"):
                await backend.answer(asked())
            assert (await backend.state()).warmth is Warmth.FAILED


@pytest.mark.parametrize("name", ["gpt-oss:120b-cloud", "glm-4.6:cloud", "A/B:7B-CLOUD"])
async def test_cloud_names_are_refused(server: OllamaStandIn, name: str) -> None:
    server.add(name)
    assert is_cloud(name)
    assert not is_cloud("cloudy:7b")
    error = await refused(server, model=name)
    assert "runs elsewhere" in error.sentence
    assert server.seen == []
    async with client(server.url, name, allow_remote=True) as backend:
        assert (await backend.answer(asked())).text == "{}"


async def test_a_cloud_model_under_another_name_is_refused(server: OllamaStandIn) -> None:
    server.add("mine:latest", remote_host="https://ollama.com:443")
    assert "runs elsewhere" in (await refused(server, model="mine")).sentence
    assert server.asked == []


@given(st.text(max_size=200))
def test_the_two_counts_never_cross(text: str) -> None:
    assert least_tokens(text) <= most_tokens(text) <= len(text.encode("utf-8", "replace")) + 1


def test_plain_sentences_are_counted_within_three_times() -> None:
    """Words and signs of these are twelve; two would be wild, and so would be a hundred."""
    words = "Put the red block in the bin, then go home."
    assert 6 <= least_tokens(words) <= 12 <= most_tokens(words) <= 3 * least_tokens(words)
    assert least_tokens("123456") == 2
    assert most_tokens("北京") == 6
