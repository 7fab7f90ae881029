"""``python -m weft`` is the command ``weft``."""

import sys

from weft.cli import main

sys.exit(main())
