"""Frozen values of the contract. No I/O; this package imports nothing else of refold."""
