"""`python -m workflows.cli` is the same as `surrogate`."""

import sys

from workflows.cli import main

sys.exit(main())
