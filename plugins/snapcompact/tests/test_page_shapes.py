"""The shape of pages by model: never one that the provider would scale down."""

from __future__ import annotations

import pytest
from attrs import evolve
from refold import Model
from refold.sizing.sizer import Sizer
from refold_snapcompact import shapes
from refold_snapcompact.shapes import FEWEST_PAGES, Shape, affordable, parse, shape_for

MODELS = {
    "claude-sonnet-4-5": shapes.CLAUDE_STANDARD,
    "claude-3-5-sonnet-20241022": shapes.CLAUDE_STANDARD,
    "claude-opus-4-6": shapes.CLAUDE_STANDARD,
    "anthropic/claude-opus-4.7": shapes.CLAUDE_HIGH,
    "claude-opus-4-10": shapes.CLAUDE_HIGH,
    "CLAUDE-OPUS-5": shapes.CLAUDE_HIGH,
    "claude-fable-latest": shapes.CLAUDE_HIGH,
    "mythos-1": shapes.CLAUDE_STANDARD,
    "gemini-3-pro": shapes.GEMINI,
    "gemini-2.5-flash": shapes.GEMINI_TILES,
    "gpt-5.5": shapes.OPENAI,
    "gpt-5.4": shapes.OPENAI,
    "gpt-6": shapes.OPENAI,
    "gpt-5.2-codex": shapes.OPENAI_SMALL,
    "gpt-5-mini": shapes.OPENAI_SMALL,
    "gpt-5.4-mini": shapes.OPENAI_SMALL,
    "o4-mini": shapes.OPENAI_SMALL,
    "gpt-4o": shapes.OPENAI_TILES,
    "gpt-4.1": shapes.OPENAI_TILES,
    "o3": shapes.OPENAI_TILES,
    "gpt-5": shapes.OPENAI_TILES,
    "kimi-k3": shapes.OPENAI,
    "glm-4.6v": shapes.GLM,
    "mistral-large": shapes.MISTRAL,
    "pixtral-12b": shapes.PIXTRAL,
    "local/qwen3-vl": shapes.UNKNOWN,
    "": shapes.UNKNOWN,
}


def model(id: str, edge: int | None = None) -> Model:
    return Model(id, "openai-chat", "", max_edge=edge)


@pytest.mark.parametrize("id", MODELS)
def test_each_family_has_the_cell_and_the_page_it_reads_best(id: str) -> None:
    assert shape_for(model(id)) == MODELS[id]


@pytest.mark.parametrize(
    ("shape", "edge", "patches"),
    [
        (shapes.CLAUDE_STANDARD, 28, 1_568),
        (shapes.CLAUDE_HIGH, 28, 4_784),
        (shapes.OPENAI, 32, 2_500),
        (shapes.OPENAI_SMALL, 32, 1_536),
        (shapes.UNKNOWN, 28, 1_568),
    ],
    ids=lambda value: value.name if isinstance(value, Shape) else None,
)
def test_a_full_page_fits_the_patches_of_its_family(shape: Shape, edge: int, patches: int) -> None:
    across, down = -(-shape.width // edge), -(-shape.height(shape.rows) // edge)
    assert across * down <= patches


@pytest.mark.parametrize("id", [id for id in MODELS if "gemini-3" not in id and "kimi" not in id and "glm" not in id])
def test_the_bill_grows_with_every_part_of_a_page_so_no_page_was_scaled_down(id: str) -> None:
    shape = MODELS[id]
    cost = Sizer(model(id)).image
    full, low = cost(shape.width, shape.height(shape.rows)), cost(shape.width, shape.height(1))
    less = cost(shape.width, max(shape.lowest, shape.height(shape.rows) - 512))
    assert low <= less < full or low == full


@pytest.mark.parametrize("id", MODELS)
@pytest.mark.parametrize("edge", [64, 100, 512, 768, 1_024, 1_568, 1_960, 8_000])
def test_a_declared_edge_is_kept_by_drawing_less_never_by_scaling(id: str, edge: int) -> None:
    shape = shape_for(model(id, edge))
    assert shape is not None
    assert max(shape.width, shape.height(shape.rows)) <= edge
    assert (shape.advance, shape.pitch) == (MODELS[id].advance, MODELS[id].pitch)
    assert shape.capacity > 0


def test_a_model_that_takes_only_stamps_gets_no_page() -> None:
    assert shape_for(model("claude-opus-5", 32)) is None


def test_a_small_window_gets_lower_pages_and_so_more_than_one() -> None:
    cost = Sizer(model("claude-opus-5")).image
    low = affordable(shapes.CLAUDE_HIGH, 6_000, cost)
    assert low == evolve(shapes.CLAUDE_HIGH, rows=low.rows)
    assert cost(low.width, low.height(low.rows)) * FEWEST_PAGES <= 6_000
    assert affordable(shapes.CLAUDE_HIGH, 40_000, cost) == shapes.CLAUDE_HIGH
    assert affordable(shapes.CLAUDE_HIGH, None, cost) == shapes.CLAUDE_HIGH
    assert affordable(shapes.CLAUDE_HIGH, 10, cost).rows == 8


def test_a_flat_bill_keeps_the_large_page() -> None:
    assert affordable(shapes.GEMINI, 2_000, Sizer(model("gemini-3-pro")).image) == shapes.GEMINI


@pytest.mark.parametrize("shape", dict.fromkeys(MODELS.values()), ids=lambda shape: shape.name)
def test_a_shape_is_read_back_from_its_name(shape: Shape) -> None:
    assert parse(shape.name) == shape
