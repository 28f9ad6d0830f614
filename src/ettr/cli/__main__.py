"""``python -m ettr.cli``."""

from ettr.cli.app import main

main()
