"""`python -m metaclaw` is the `metaclaw` command."""

from metaclaw.cli import main

main()
