"""Message lists as providers and libraries write them, one importer each."""
