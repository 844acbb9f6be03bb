"""Rows to the next request: projection, reducers, sizes, compaction, checks, and what `/context` shows."""
