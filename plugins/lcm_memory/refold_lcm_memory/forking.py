"""A fork takes along what was summarized before its checkpoint; no model is called."""

from __future__ import annotations

from collections.abc import Iterable

from refold import Fork

from refold_lcm_memory.schema import FORMAT

_COPIED = "format, depth, after, upto, tokens, made, model, summary, folded"


def copy_tree(fork: Fork) -> None:
    """Copies nodes whose whole range precedes the checkpoint, with new ids; rows keep their numbers, so nothing else
    changes. A parent that crosses it is left out and its complete children become roots. The cursor is the end of
    the leaves that follow each other from row 1 on.
    """
    leaves = fork.read(
        "SELECT after, upto, tokens FROM lcm_node WHERE session=? AND format=? AND depth=0 AND upto<=? ORDER BY upto",
        fork.source,
        FORMAT,
        fork.at,
    )
    upto, tokens = covered_prefix(leaves)
    if not upto:
        return
    first = fork.read(
        "SELECT min(id) FROM lcm_node WHERE session=? AND format=? AND upto<=?", fork.source, FORMAT, upto
    )[0][0]
    # The first copy gets an id that was never given; all others keep their distance to it.
    copied = fork.write.execute(
        f"INSERT INTO lcm_node(session, {_COPIED}) SELECT ?, {_COPIED} FROM lcm_node WHERE id=?", fork.target, first
    )
    moved = copied - first
    complete = "session=? AND format=? AND upto<=?"
    fork.write.execute(
        f"INSERT INTO lcm_node(id, session, {_COPIED}) SELECT id+?, ?, {_COPIED} FROM lcm_node"
        f" WHERE {complete} AND id>? ORDER BY id",
        moved,
        fork.target,
        fork.source,
        FORMAT,
        upto,
        first,
    )
    fork.write.execute(
        "UPDATE lcm_node SET parent=(SELECT parent.id+?1 FROM lcm_node AS source JOIN lcm_node AS parent"
        " ON parent.id=source.parent WHERE source.id=lcm_node.id-?1 AND parent.upto<=?2) WHERE session=?3",
        moved,
        upto,
        fork.target,
    )
    fork.write.execute("INSERT INTO lcm_cursor VALUES(?, ?, ?, ?)", fork.target, FORMAT, upto, tokens)


def covered_prefix(leaves: Iterable[tuple[int, int, int]]) -> tuple[int, int]:
    """The last row, and the total at it, up to which leaves (after, upto, total at upto) in order leave no hole.

    >>> covered_prefix([(0, 4, 100), (4, 9, 250), (12, 20, 900)])
    (9, 250)
    """
    reached, tokens = 0, 0
    for after, upto, total in leaves:
        if after != reached:
            break
        reached, tokens = upto, total
    return reached, tokens
