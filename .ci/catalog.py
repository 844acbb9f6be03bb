"""Makes host/refold/providers/catalog.json: windows, output limits and inputs of the models of well-known providers.

    python .ci/catalog.py             anew from the releases and with the date that the file names: the same bytes
    python .ci/catalog.py --newest    from the newest releases, with today's date

Two packages that are kept are read and never imported; their facts are MIT licensed. litellm has a JSON file of all
models with windows, outputs and picture support; genai-prices has windows, and providers that the first one lacks.
Their wheels are downloaded by pip into a temporary folder.
"""

from __future__ import annotations

import argparse
import ast
import datetime
import json
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

TABLE = Path(__file__).parents[1] / "host/refold/providers/catalog.json"
SOURCES = ("litellm", "genai-prices")

# What refold calls a provider: its hosts, its name in litellm, its name in genai-prices.
PROVIDERS: dict[str, tuple[list[str], str, str]] = {
    "aihubmix": (["aihubmix.com"], "aihubmix", ""),
    "anthropic": (["api.anthropic.com"], "anthropic", "anthropic"),
    "baseten": (["inference.baseten.co"], "baseten", "baseten"),
    "cerebras": (["api.cerebras.ai"], "cerebras", "cerebras"),
    "cohere": (["api.cohere.ai", "api.cohere.com"], "cohere_chat", "cohere"),
    "dashscope": (["dashscope-intl.aliyuncs.com", "dashscope.aliyuncs.com"], "dashscope", ""),
    "deepinfra": (["api.deepinfra.com"], "deepinfra", ""),
    "deepseek": (["api.deepseek.com"], "deepseek", "deepseek"),
    "fireworks": (["api.fireworks.ai"], "fireworks_ai", "fireworks"),
    "github-copilot": (["api.githubcopilot.com"], "github_copilot", "github-copilot"),
    "gmi": (["api.gmi-serving.com"], "gmi", ""),
    "google": (["generativelanguage.googleapis.com"], "gemini", "google"),
    "groq": (["api.groq.com"], "groq", "groq"),
    "hyperbolic": (["api.hyperbolic.xyz"], "hyperbolic", ""),
    "meta": (["api.meta.ai"], "meta", "meta"),
    "minimax": (["api.minimax.io", "api.minimaxi.com"], "minimax", "minimax"),
    "mistral": (["api.mistral.ai"], "mistral", "mistral"),
    "moonshot": (["api.moonshot.ai", "api.moonshot.cn"], "moonshot", "moonshotai"),
    "nebius": (["api.studio.nebius.com", "api.tokenfactory.nebius.com"], "nebius", ""),
    "novita": (["api.novita.ai"], "novita", "novita"),
    "openai": (["api.openai.com"], "openai", "openai"),
    "opencode-go": (["opencode.ai"], "opencode_go", ""),
    "openrouter": (["openrouter.ai"], "openrouter", "openrouter"),
    "ovhcloud": (["oai.endpoints.kepler.ai.cloud.ovh.net"], "ovhcloud", "ovhcloud"),
    "perplexity": (["api.perplexity.ai"], "perplexity", "perplexity"),
    "sambanova": (["api.sambanova.ai"], "sambanova", ""),
    "scaleway": (["api.scaleway.ai"], "scaleway", ""),
    "together": (["api.together.ai", "api.together.xyz"], "together_ai", "together"),
    "vercel": (["ai-gateway.vercel.sh"], "vercel_ai_gateway", ""),
    "wandb": (["api.inference.wandb.ai"], "wandb", ""),
    "xai": (["api.x.ai"], "xai", "x-ai"),
    "zai": (["api.z.ai"], "zai", "zai"),
    "zhipu": (["open.bigmodel.cn"], "bigmodel", "zhipuai"),
}


class Limits(NamedTuple):
    """Tokens of input and of output, and the kinds of input; None: nobody says."""

    window: int
    output: int | None
    inputs: str | None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--newest", action="store_true", help="from the newest releases, with today's date")
    parser.add_argument("--out", type=Path, default=TABLE, help="where to write it")
    asked = parser.parse_args()
    before = {} if asked.newest else json.loads(TABLE.read_text())
    date = before.get("date") or datetime.datetime.now(datetime.UTC).date().isoformat()
    with tempfile.TemporaryDirectory() as folder:
        wheels = {name: _wheel(Path(folder), name, before.get("sources", {}).get(name)) for name in SOURCES}
        made = table(_litellm(wheels["litellm"]), _genai_prices(wheels["genai-prices"]))
        versions = {name: wheel.name.split("-")[1] for name, wheel in wheels.items()}
    asked.out.write_text(written(date, versions, made))


def table(first: dict[str, dict[str, Limits]], second: dict[str, dict[str, Limits]]) -> dict[str, dict[str, Limits]]:
    """What the first source says, and of the second what the first lacks; by refold's names of providers."""
    return {
        name: {**second.get(theirs, {}), **first.get(one, {})} for name, (_, one, theirs) in sorted(PROVIDERS.items())
    }


def written(date: str, versions: dict[str, str], made: dict[str, dict[str, Limits]]) -> str:
    """The file: one model a line, so that a change of the table reads as what changed."""
    blocks = []
    for name, models in made.items():
        lines = [f"    {json.dumps(id)}: {json.dumps(list(models[id]))}" for id in sorted(models)]
        hosts = json.dumps(PROVIDERS[name][0])
        blocks.append(f'  {json.dumps(name)}: {{"hosts": {hosts}, "models": {{\n' + ",\n".join(lines) + "\n  }}")
    head = f'"date": {json.dumps(date)},\n"sources": {json.dumps(versions)},\n"providers": {{\n'
    return "{\n" + head + ",\n".join(blocks) + "\n}\n}\n"


def _wheel(folder: Path, name: str, version: str | None) -> Path:
    wanted = f"{name}=={version}" if version else name
    command = ["pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest", folder / name, wanted]
    subprocess.run([sys.executable, "-m", *command], check=True)
    return next((folder / name).iterdir())


def _litellm(wheel: Path) -> dict[str, dict[str, Limits]]:
    with zipfile.ZipFile(wheel) as archive:
        entries = json.loads(archive.read("litellm/model_prices_and_context_window_backup.json"))
    found: dict[str, dict[str, Limits]] = {}
    for key, entry in entries.items():
        provider, window = entry.get("litellm_provider"), entry.get("max_input_tokens") or entry.get("max_tokens")
        id = key.removeprefix(f"{provider}/")
        if entry.get("mode") not in ("chat", "responses") or not isinstance(window, int) or id.startswith("ft:"):
            continue
        output = entry.get("max_output_tokens")
        # Where an answer may be as long as the whole window, that says nothing about answers.
        output = output if isinstance(output, int) and output < window else None
        said = Limits(window, output, "text image" if entry.get("supports_vision") else "text")
        models = found.setdefault(provider, {})
        models[id] = min(said, models.get(id, said), key=lambda each: each.window)
    return found


def _genai_prices(wheel: Path) -> dict[str, dict[str, Limits]]:
    with zipfile.ZipFile(wheel) as archive:
        tree = ast.parse(archive.read("genai_prices/data.py"))
    found: dict[str, dict[str, Limits]] = {}
    for provider in _calls(tree, "Provider"):
        models = found.setdefault(_constant(provider, "id"), {})
        for model in _calls(provider, "ModelInfo"):
            if window := _constant(model, "context_window"):
                models[_constant(model, "id")] = Limits(window, None, None)
    return found


def _calls(tree: ast.AST, name: str) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
            yield node


def _constant(call: ast.Call, name: str) -> Any:
    value = next((keyword.value for keyword in call.keywords if keyword.arg == name), None)
    return value.value if isinstance(value, ast.Constant) else None


if __name__ == "__main__":
    main()
