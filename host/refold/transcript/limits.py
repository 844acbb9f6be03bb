"""Limits that refusals revealed: for a session and a model, the smallest one. They only ever fall."""

from __future__ import annotations

from refold.transcript.database import Reader, Writer


def learn(writer: Writer, session: str, model: str, tokens: int) -> None:
    """Remembers that the model's provider takes at most so many tokens; a larger limit than a known one is not."""
    writer.execute(
        "INSERT INTO refold_learnt_limit(session, model, tokens) VALUES(?, ?, ?)"
        " ON CONFLICT DO UPDATE SET tokens=min(tokens, excluded.tokens)",
        session,
        model,
        tokens,
    )


def learnt(reader: Reader, session: str, model: str) -> int | None:
    """The smallest limit in tokens that a refusal revealed of this model in this session; None: none did.

    `model` is the whole id, provider included.
    """
    found = reader.one("SELECT tokens FROM refold_learnt_limit WHERE session=? AND model=?", session, model)
    return int(found[0]) if found else None
