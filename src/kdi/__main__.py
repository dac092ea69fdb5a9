"""`python -m kdi` is the command `kdi`."""

import sys

from kdi.cli import main

if __name__ == "__main__":
    sys.exit(main())
