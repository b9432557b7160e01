"""`python -m warpsight`."""

from .cli.main import run

run()
