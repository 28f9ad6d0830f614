"""``python -m ettr.evidence``: validate ``data/``; with ``--stamp`` also list new presets and renew the hashes."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ettr.core.errors import DataError
from ettr.core.sentences import printable
from ettr.evidence import DATA, stamp, table_names, unlisted, validate


def main(arguments: list[str] | None = None) -> int:
    """Validate or stamp ``data/``; return 0, or 1 with a message on standard error."""
    parser = argparse.ArgumentParser(prog="python -m ettr.evidence", description="Validate the folder data/.")
    parser.add_argument("--stamp", action="store_true", help="after that, list new presets and write the hashes")
    parser.add_argument("--folder", type=Path, default=DATA, help="the folder (default: %(default)s)")
    options = parser.parse_args(arguments)
    try:
        if options.stamp:
            new = unlisted(options.folder)
            changed = stamp(options.folder)
            if new:
                print(f"newly listed: {', '.join(new)}")
            print(f"hashes renewed: {', '.join(changed)}" if changed else "all hashes were current")
        else:
            validate(options.folder)
            print(f"{len(table_names(options.folder))} tables are valid")
    except DataError as error:
        print(*map(printable, error.args), sep="\n", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
