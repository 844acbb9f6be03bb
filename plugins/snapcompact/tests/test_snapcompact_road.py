"""Requests of sessions whose older history stands in pages, end to end over a real database."""

from __future__ import annotations

import io
import json
import random
import string
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from PIL import Image as Pictures
from refold import Applied, Call, Host, Image, Model, Note, NotFound, Nothing, Refused, Row, Rows, Session, SourceRef
from refold.providers.protocols import PROTOCOLS
from refold.sizing.estimate import tokens
from refold.values.messages import UserMessage
from refold_snapcompact import frames as cache
from refold_snapcompact import shapes
from refold_snapcompact.plan import INLINE_BYTES
from refold_snapcompact.view import base64_bytes

from .conftest import WINDOW, PageReader, Road, Talk, caption, frames, kinds, pages

CLAUDE = Model("claude-sonnet-4-5", "anthropic", "")
TEXT_ONLY = Model("local/text", "openai-chat", "", inputs=frozenset({"text"}))


def outcome(prepared: Any) -> Any:
    return prepared.attempted.outcome


def facts(session: Session) -> dict[str, str]:
    found: dict[str, str] = session.context()["compaction"]["facts"]
    return found


def test_it_is_installed_but_not_the_default_and_its_memory_is_on(host: Host) -> None:
    listed = {each.id: each for each in host.extensions().extensions}
    assert not listed["snapcompact"].enabled
    assert listed["snapcompact-memory"].enabled
    assert all(listed[id].problem is None for id in ("snapcompact", "snapcompact-memory"))


def test_it_cannot_be_chosen_without_its_memory(host: Host) -> None:
    host.choose("snapcompact-memory", False)
    with pytest.raises(Refused, match="snapcompact-memory"):
        host.choose("snapcompact", True)


def test_below_the_trigger_history_goes_out_whole(paged: Session, talk: Talk) -> None:
    talk(paged, 2)
    prepared = paged.prepare(WINDOW)
    assert kinds(prepared) == ["tail"]
    assert prepared.snapshot.status == "whole"


def test_at_the_trigger_older_turns_become_pages_without_any_model(paged: Session, talk: Talk) -> None:
    talk(paged, 30)
    prepared = paged.prepare(WINDOW)
    assert isinstance(outcome(prepared), Applied)
    assert outcome(prepared).summary is None
    assert kinds(prepared) == ["frames", "tail"]
    said = frames(prepared).inputs[-1].text
    assert "\n1: question 0: what does module 0 do?\n" in said, "users' words stand as text, too"
    before = prepared.attempted.before.tokens
    assert prepared.size.tokens - int(1.3 * tokens(said)) < before // 3, "1.3 is the factor of the model's family"
    assert frames(prepared).covers.after == 0
    tail = prepared.projection.sections[-1].inputs[0]
    assert isinstance(tail, Rows)
    assert tail.range.after == frames(prepared).covers.upto


def test_the_tail_is_verbatim_and_about_its_share(paged: Session, talk: Talk) -> None:
    talk(paged, 100)
    prepared = paged.prepare(WINDOW)
    tail = prepared.projection.sections[-1].inputs[0]
    assert isinstance(tail, Rows)
    assert tail.elide == {}
    sent = next(part for part in prepared.snapshot.parts if part.id == "tail")
    assert WINDOW * 5 // 100 < sent.tokens <= WINDOW * 10 // 100
    assert [message.text for message in prepared.request.messages[2:]] == [
        row.text for row in paged.rows(tail.range.after)
    ]


def test_a_page_shows_the_rows_word_for_word(paged: Session, talk: Talk, reader: PageReader) -> None:
    paged.user("Never deploy on a Friday. The key is 9f3ae21c04bd, see BILL-413.")
    paged.assistant("Understood.")
    talk(paged, 30, first=1)
    prepared = paged.prepare(WINDOW)
    first = pages(prepared)[0]
    shape = shapes.parse("-".join(first.key.split("-")[:2]))
    read = reader.read(paged.image_bytes(first), shape)
    assert "user #1: Never deploy on a Friday. The key is 9f3ae21c04bd, see BILL-413.█" in read
    assert "call #4: read(path = /src/module_1.py)█" in read


def test_pictures_have_the_size_that_was_announced(paged: Session, talk: Talk) -> None:
    talk(paged, 30)
    for image in pages(paged.prepare(WINDOW)):
        with Pictures.open(io.BytesIO(paged.image_bytes(image))) as picture:
            assert picture.size == (image.width, image.height)
            assert picture.info == {}
        assert image.owner == "snapcompact"


def test_equal_state_gives_equal_requests_and_equal_bytes(home: Path, talk: Talk) -> None:
    with Host(home) as host:
        session = host.new("s", model="gpt-5.5")
        host.choose("snapcompact", True, session="s")
        talk(session, 30)
        session.compact(WINDOW)
        before = session.prepare(WINDOW)
        sent = [session.image_bytes(image) for image in pages(before)]
    cache.drawn.cache_clear()
    with Host(home) as host:
        session = host.session("s")
        after = session.prepare(WINDOW)
        assert after.request == before.request
        assert [session.image_bytes(image) for image in pages(after)] == sent
        assert after.snapshot.changed == ()


def test_appended_rows_extend_the_request(paged: Session, talk: Talk) -> None:
    talk(paged, 30)
    before = paged.prepare(WINDOW).request.messages
    paged.user("one more question", [])
    after = paged.prepare(WINDOW).request.messages
    assert after[: len(before)] == before


def test_recompaction_appends_and_full_leading_pages_keep_their_keys_and_bytes(paged: Session, talk: Talk) -> None:
    talk(paged, 12)
    before = pages(paged.compact(200_000))
    sent = [paged.image_bytes(image) for image in before]
    talk(paged, 12, first=12)
    again = paged.compact(200_000)
    after = pages(again)
    assert isinstance(outcome(again), Applied)
    assert len(after) > len(before) > 1
    assert after[: len(before) - 1] == before[:-1]
    assert [paged.image_bytes(image) for image in after[: len(before) - 1]] == sent[:-1]
    assert after[len(before) - 1] != before[-1]


def test_recompacting_a_large_archive_draws_only_new_pages(home: Path) -> None:
    """2 MB of text are archived; the next compaction adds two turns."""
    lines = "".join(f"line {n:06} of the log says nothing new; value={n * 7919 % 10_007}\n" for n in range(40_000))
    texts = [lines[at : at + 7_000] for at in range(0, len(lines), 7_000)]
    assert sum(map(len, texts)) > 2_000_000
    home.mkdir()
    (home / "extensions.json").write_text('{"snapcompact": {"tailPercent": 1}}')
    with Host(home) as host:
        session = host.new(model="claude-sonnet-4-5")
        host.choose("snapcompact", True, session=session.id)
        session.append(
            Row(SourceRef("", 0), "assistant" if n % 2 else "user", 0, 0, opens=not n % 2, text=text)
            for n, text in enumerate(texts)
        )
        cache.drawn.cache_clear()
        first = session.compact(1_000_000)
        assert cache.drawn.cache_info().misses == len(pages(first)) > 40
        for question in ("a question more", "the last one"):
            session.user(question)
            session.assistant("an answer. " * 500)
        cache.drawn.cache_clear()
        second = session.compact(1_000_000)
        assert isinstance(outcome(second), Applied)
        new = set(pages(second)) - set(pages(first))
        assert cache.drawn.cache_info().misses == len(new)
        assert 0 < len(new) <= 6
        assert len(pages(second)) > 40


def test_preparing_again_draws_nothing(paged: Session, talk: Talk) -> None:
    talk(paged, 30)
    prepared = paged.compact(WINDOW)
    cache.drawn.cache_clear()
    paged.prepare(WINDOW)
    for image in pages(prepared):
        paged.image_bytes(image)
    assert cache.drawn.cache_info().misses == 0


def test_another_model_gets_its_own_shape_from_the_same_archive(
    paged: Session, talk: Talk, roads: Road, reader: PageReader
) -> None:
    talk(paged, 10)
    paged.compact(100_000)
    read = {}
    for id in ("claude-sonnet-4-5", "gemini-3-pro", "gpt-4o", "glm-4.6v"):
        prepared = roads.prepare(paged, Model(id, "openai-chat", "", max_images=100), 1_000_000)
        shape = shapes.shape_for(Model(id, "", ""))
        assert all(image.width == shape.width for image in pages(prepared))
        read[id] = "".join(reader.read(paged.image_bytes(image), shape) for image in pages(prepared))
    without_spaces = {text.replace(" ", "") for text in read.values()}
    assert len(without_spaces) == 1


def test_a_models_limits_are_kept_by_drawing_not_by_scaling(paged: Session, talk: Talk, roads: Road) -> None:
    talk(paged, 30)
    paged.compact(200_000)
    small = Model("claude-sonnet-4-5", "anthropic", "", max_edge=400, max_images=6)
    prepared = roads.prepare(paged, small, 1_000_000)
    assert len(pages(prepared)) <= 5
    for image in pages(prepared):
        assert max(image.width, image.height) <= 400
        with Pictures.open(io.BytesIO(paged.image_bytes(image))) as picture:
            assert picture.size == (image.width, image.height)


def test_over_the_budget_pages_between_the_first_and_the_newest_leave_and_the_caption_says_how_much(
    paged: Session, talk: Talk, reader: PageReader
) -> None:
    talk(paged, 60)
    prepared = paged.compact(WINDOW)
    found = pages(prepared)
    starts = [int(image.key.split("-")[2]) for image in found]
    lengths = [int(image.key.split("-")[3]) for image in found]
    assert starts[0] == 0
    dropped = starts[1] - lengths[0]
    assert dropped > 0
    assert f"About {dropped:,} cells of text between the first picture and the second are not shown" in caption(
        prepared
    )
    assert "transcript_grep" in caption(prepared)
    assert facts(paged)["cells not shown"].startswith(f"{dropped:,}")


def test_what_a_smaller_budget_drops_from_view_stays_in_the_archive(paged: Session, talk: Talk, roads: Road) -> None:
    talk(paged, 60)
    few = pages(paged.compact(WINDOW))
    many = pages(roads.prepare(paged, CLAUDE, 1_000_000))
    assert len(many) > 2 * len(few)
    assert "not shown" not in caption(roads.prepare(paged, CLAUDE, 1_000_000))


def test_the_caption_changes_with_archive_model_window_or_settings_alone(
    paged: Session, talk: Talk, host: Host, roads: Road
) -> None:
    talk(paged, 60)
    before = caption(paged.compact(WINDOW))
    paged.user("more")
    paged.assistant("words " * 100)
    assert caption(paged.prepare(WINDOW)) == before
    picture = Image(_png(), "image/png", 4, 4)
    paged.user("a picture", [picture])
    assert caption(paged.prepare(WINDOW)) == before
    assert caption(paged.prepare(WINDOW * 2)) != before


def _png() -> str:
    import base64

    out = io.BytesIO()
    Pictures.new("1", (4, 4)).save(out, "PNG")
    return "data:image/png;base64," + base64.b64encode(out.getvalue()).decode()


def test_pictures_of_the_tail_have_reserved_places_and_never_break_the_limit(
    paged: Session, talk: Talk, roads: Road
) -> None:
    model = evolve(CLAUDE, max_images=20)
    talk(paged, 80)
    before = roads.compact(paged, model, 200_000)
    assert 14 <= len(pages(before)) <= 18
    shown, said = pages(before), caption(before)
    picture = Image(_png(), "image/png", 4, 4)
    for count in range(1, 19):
        paged.user(f"picture {count}", [picture])
        prepared = roads.prepare(paged, model, 200_000)
        images = [image for message in prepared.request.messages for image in getattr(message, "images", ())]
        assert len(images) <= 20
        assert caption(prepared) == said
        if count <= 2:
            assert pages(prepared) == shown
    assert len(pages(prepared)) < len(shown)
    ending = frames(prepared).inputs[-1]
    assert isinstance(ending, Note)
    assert "pages left out behind the first" in ending.text
    wire = PROTOCOLS["anthropic"].encode(prepared.request, paged.image_bytes)
    assert "omitted" not in json.dumps(wire)


def test_the_bytes_of_all_pages_stay_within_the_inline_limit(paged: Session, roads: Road) -> None:
    noise = "".join(random.Random(7).choices(string.ascii_letters + string.digits, k=1_000_000))
    texts = [noise[at : at + 7_000] for at in range(0, len(noise), 7_000)]
    paged.append(Row(SourceRef("", 0), "user", 0, 0, opens=True, text=text) for text in texts)
    paged.user("the end")
    prepared = roads.compact(paged, Model("claude-opus-5", "anthropic", ""), 1_000_000)
    found = pages(prepared)
    total = sum(base64_bytes(len(paged.image_bytes(image))) for image in found)
    assert INLINE_BYTES * 6 // 10 < total <= INLINE_BYTES
    assert "not shown" in caption(prepared)


def test_one_page_that_would_not_help_is_refused_with_both_sizes(host: Host) -> None:
    session = host.new(model="gemini-3-pro")  # a page of a few words costs 1,120 tokens there
    host.choose("snapcompact", True, session=session.id)
    for n in range(4):
        session.user(f"short question {n}")
        session.assistant("short answer")
    prepared = session.compact(WINDOW)
    assert isinstance(outcome(prepared), Nothing)
    assert "would not make the request smaller" in outcome(prepared).reason
    assert "tokens now" in outcome(prepared).reason
    assert session.record.compactions == 0
    assert kinds(session.prepare(WINDOW)) == ["tail"]


def test_a_single_turn_is_never_archived(paged: Session) -> None:
    paged.user("one " * 3_000)
    paged.assistant("answer")
    assert isinstance(outcome(paged.compact(WINDOW)), Nothing)


def test_a_manual_compaction_works_without_a_window_and_stays_in_force(paged: Session, talk: Talk) -> None:
    talk(paged, 30)
    compacted = paged.compact()
    assert kinds(compacted) == ["frames", "tail"]
    assert paged.prepare().request == compacted.request


def test_the_transcript_stays_what_it_was(paged: Session, talk: Talk) -> None:
    talk(paged, 30)
    before = paged.rows()
    paged.compact(WINDOW)
    assert paged.rows() == before


def test_a_window_from_its_settings_serves_when_none_is_given(home: Path, talk: Talk) -> None:
    home.mkdir()
    (home / "extensions.json").write_text('{"snapcompact": {"contextWindowTokens": 30000}}')
    with Host(home) as host:
        session = host.new(model="claude-sonnet-4-5")
        host.choose("snapcompact", True, session=session.id)
        talk(session, 30)
        prepared = session.prepare()
        assert (prepared.window.tokens, prepared.window.source) == (30_000, "configured contextWindowTokens")
        assert isinstance(outcome(prepared), Applied)
        assert session.prepare(100_000).window.source == "--window"


@pytest.mark.parametrize("bad", ['{"maxFrames": 81}', '{"archivePercent": 0}', '{"tailPercent": 95}', '{"frames": 3}'])
def test_a_fault_in_its_settings_is_shown_and_the_defaults_serve(home: Path, bad: str, talk: Talk) -> None:
    home.mkdir()
    (home / "extensions.json").write_text(f'{{"snapcompact": {bad}}}')
    with Host(home) as host:
        session = host.new(model="claude-sonnet-4-5")
        host.choose("snapcompact", True, session=session.id)
        problems = [each.problem for each in host.extensions(session.id).extensions if each.id == "snapcompact"]
        assert problems[0] is not None
        assert "snapcompact" in problems[0]
        talk(session, 30)
        assert kinds(session.prepare(WINDOW)) == ["frames", "tail"]


@pytest.mark.parametrize("protocol", list(PROTOCOLS))
@pytest.mark.parametrize("model", ["claude-opus-5", "local/qwen3-vl"])
def test_requests_with_pages_are_valid_for_each_protocols_own_types(
    protocol: str, model: str, paged: Session, talk: Talk, roads: Road, adapters: Callable[[str, Any], object]
) -> None:
    talk(paged, 30)
    paged.user("the newest question")
    prepared = roads.compact(paged, Model(model, protocol, ""))
    wire = PROTOCOLS[protocol].encode(prepared.request, paged.image_bytes)
    adapters(protocol, wire)
    assert len(pages(prepared)) >= 1
    text = json.dumps(wire)
    assert text.count("iVBORw0KGgo") == len(pages(prepared))
    if protocol in ("anthropic", "gemini"):
        roles = [message["role"] for message in wire["messages" if protocol == "anthropic" else "contents"]]
        assert all(a != b for a, b in pairwise(roles))
        assert roles[0] == "user"


@pytest.fixture(scope="session")
def adapters() -> Callable[[str, Any], object]:
    """Validates a wire request by the types of the protocol's official SDK."""
    import warnings

    for package in ("pydantic", "openai", "anthropic", "google.genai"):
        pytest.importorskip(package)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # these packages' own
        from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
        from google.genai import types as gemini
        from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
        from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming
        from pydantic import TypeAdapter

        known = {
            "openai-chat": TypeAdapter(CompletionCreateParamsNonStreaming),
            "openai-responses": TypeAdapter(ResponseCreateParamsNonStreaming),
            "anthropic": TypeAdapter(MessageCreateParamsNonStreaming),
            "gemini": TypeAdapter(list[gemini.Content]),
        }

    def drained(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: drained(item) for key, item in value.items()}
        return value if isinstance(value, (str, bytes, int, float, type(None))) else [drained(each) for each in value]

    def validate(protocol: str, wire: Any) -> object:
        if protocol == "gemini":
            return known[protocol].validate_python(wire["contents"])
        assert drained(known[protocol].validate_python(wire)) == wire
        return wire

    return validate


def test_rendered_pages_are_files_with_their_cost_beside_that_of_their_text(
    paged: Session, talk: Talk, tmp_path: Path
) -> None:
    talk(paged, 30)
    paged.compact(200_000)
    answer = paged.run("snapcompact render", {"session": paged.id, "out": str(tmp_path / "out")})
    assert set(answer) >= {"pages", "dropped", "text_tokens", "tokens", "count"}
    assert answer["count"] == len(answer["pages"]) > 1
    assert answer["tokens"] == sum(page["tokens"] for page in answer["pages"]) > 0
    assert answer["text_tokens"] > 0
    assert answer["dropped"] == 0
    for page in answer["pages"]:
        assert set(page) == {"file", "width", "height", "bytes", "tokens", "characters"}
        data = (tmp_path / "out" / page["file"]).read_bytes()
        assert len(data) == page["bytes"]
        with Pictures.open(io.BytesIO(data)) as picture:
            assert picture.size == (page["width"], page["height"])


def test_context_names_the_file_of_each_page(paged: Session, talk: Talk, tmp_path: Path) -> None:
    talk(paged, 30)
    prepared = paged.compact()
    answer = paged.run("snapcompact render", {"out": str(tmp_path)})
    lines = {
        label: value for label, value in facts(paged).items() if label.startswith("page ") and label != "page budget"
    }
    assert len(lines) == len(pages(prepared))
    for (label, value), page in zip(lines.items(), answer["pages"], strict=True):
        assert page["file"] in value
        assert f"refold snapcompact render {paged.id} --out DIR" in value
        assert f"{page['width']}x{page['height']}" in value
        assert label == f"page {int(page['file'][5:9])}"


def test_rendering_without_an_archive_says_what_to_do(paged: Session, tmp_path: Path) -> None:
    with pytest.raises(Refused, match="refold compact paged snapcompact"):
        paged.run("snapcompact render", {"out": str(tmp_path)})
    assert list(tmp_path.glob("*.png")) == []


def test_a_page_that_never_was_is_not_found(paged: Session, talk: Talk) -> None:
    talk(paged, 30)
    known = pages(paged.compact(WINDOW))[0]
    with pytest.raises(NotFound):
        paged.image_bytes(evolve(known, key="11x16-1568x49x64-0-9999999-0"))
    with pytest.raises(NotFound):
        paged.image_bytes(evolve(known, key="nonsense"))


def test_the_words_around_pages_ask_for_no_trust_in_pixels_and_never_speak_of_thinking(
    paged: Session, talk: Talk
) -> None:
    talk(paged, 30)
    prepared = paged.compact(WINDOW)
    assert "easy to misread" in caption(prepared)
    assert "reasoning" not in caption(prepared)
    messages = prepared.request.messages
    assert isinstance(messages[0], UserMessage)
    assert isinstance(messages[1], UserMessage)
    assert messages[1].text.startswith("[end of the archived pages; the conversation goes on as text]\n")


def test_deleting_the_session_deletes_its_pages(paged: Session, host: Host, talk: Talk) -> None:
    talk(paged, 30)
    paged.compact(WINDOW)
    paged.delete()
    with host.database.read() as reader:
        for table in ("snapcompact_archive", "snapcompact_frames"):
            assert reader.all(f"SELECT count(*) FROM {table}") == [(0,)]


def test_calls_and_results_of_one_step_are_never_cut_apart(paged: Session) -> None:
    for n in range(20):
        paged.user(f"q{n} " + "word " * 600)
        paged.assistant("", [Call(f"a{n}", "read", {}), Call(f"b{n}", "read", {})])
        paged.results({f"b{n}": "x " * 900, f"a{n}": "y " * 300})
    prepared = paged.prepare(WINDOW)
    assert kinds(prepared) == ["frames", "tail"]
