"""`python -m refold` is `refold`."""

from __future__ import annotations

from refold.cli.main import main

if __name__ == "__main__":
    main()
