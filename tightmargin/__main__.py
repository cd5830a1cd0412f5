"""python -m tightmargin."""

from tightmargin.experiments.cli.app import main

main()
