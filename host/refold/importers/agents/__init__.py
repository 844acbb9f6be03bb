"""Session files of agents, one importer each."""
