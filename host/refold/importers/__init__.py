"""Session files of other agents, and exports of our own, to rows."""
