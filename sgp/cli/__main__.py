"""`python -m sgp.cli`: the command line."""

from sgp.cli import main

main()
