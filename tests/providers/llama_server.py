"""A real llama.cpp server with a tiny random model, as a program: prints its address, serves until its input ends.

    python llama_server.py CONTEXT

The model is a llama of one layer whose tokens are single bytes: it answers noise, but counts, streams and refuses as
any other. Needs the packages `xllamacpp` and `gguf`.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import gguf
import numpy as np
import xllamacpp

WIDE, INNER, HEADS = 64, 128, 4
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def tokens() -> list[str]:
    """Every byte as byte-level BPE writes it, two marks, and one merge (there must be one)."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in shown]
    written = {byte: chr(byte) for byte in shown} | {byte: chr(256 + n) for n, byte in enumerate(hidden)}
    return [*(written[byte] for byte in range(256)), "<|im_start|>", "<|im_end|>", "th"]


def write_model(path: Path) -> None:
    """Writes the model; equal each time."""
    writer = gguf.GGUFWriter(str(path), "llama")
    words = tokens()
    random = np.random.default_rng(7)

    def weights(*shape: int) -> np.ndarray:
        return (random.standard_normal(shape) * 0.05).astype(np.float32)

    writer.add_name("tiny")
    writer.add_context_length(1 << 17)
    writer.add_embedding_length(WIDE)
    writer.add_block_count(1)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDE // HEADS)
    writer.add_vocab_size(len(words))
    writer.add_file_type(0)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(words)
    writer.add_token_types([1] * 256 + [3, 3, 1])
    writer.add_token_merges(["t h"])
    writer.add_bos_token_id(256)
    writer.add_eos_token_id(257)
    writer.add_add_bos_token(False)
    writer.add_chat_template(TEMPLATE)
    writer.add_tensor("token_embd.weight", weights(len(words), WIDE))
    writer.add_tensor("output.weight", weights(len(words), WIDE))
    for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
        writer.add_tensor(f"blk.0.{name}.weight", weights(WIDE, WIDE))
    for name, shape in (("gate", (INNER, WIDE)), ("up", (INNER, WIDE)), ("down", (WIDE, INNER))):
        writer.add_tensor(f"blk.0.ffn_{name}.weight", weights(*shape))
    for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"):
        writer.add_tensor(f"{name}.weight", np.ones(WIDE, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main(context: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tiny.gguf"
        write_model(path)
        params = xllamacpp.CommonParams()
        params.model.path = str(path)
        params.model_alias = {"tiny"}
        params.n_ctx, params.n_parallel, params.warmup = context, 1, False
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
        params.hostnames, params.port = ["127.0.0.1"], 0
        params.sampling.seed = 7
        server = xllamacpp.Server(params)
        print(server.listening_address, flush=True)
        sys.stdin.read()
        del server


if __name__ == "__main__":
    main(int(sys.argv[1]))
