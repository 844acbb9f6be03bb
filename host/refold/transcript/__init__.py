"""The durable record: one SQLite file, append-only rows, and whatever is stored beside them.

SQL of the host stands in this package only. `database` opens the file and hands out snapshots and transactions;
every other module is one idea over them.
"""
