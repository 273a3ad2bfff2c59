"""`python -m etlab COMMAND …`: the commands are the files of `etlab/commands/`."""

import sys

from etlab.commands import main

sys.exit(main(sys.argv[1:]))
