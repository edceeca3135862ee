"""`python -m bylaw`."""

import sys

from bylaw.cli.main import main

sys.exit(main())
