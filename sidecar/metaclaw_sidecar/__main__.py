"""`python -m metaclaw_sidecar`."""

import sys

from .cli import main

sys.exit(main())
