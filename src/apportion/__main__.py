"""`python -m apportion`: the command line."""

from apportion.cli import main

main()
