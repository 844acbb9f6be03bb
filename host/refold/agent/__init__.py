"""A session as a host app holds it: turns, tools, slash commands, events, recovery from refusals."""
