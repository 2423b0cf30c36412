import sys

from plisse.cli import main

sys.exit(main())
