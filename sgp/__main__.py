"""`python -m sgp`: the command line."""

from sgp.cli import main

main()
