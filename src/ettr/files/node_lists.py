"""Lists and ranges of node names, as Slurm writes them."""

from __future__ import annotations

import re
from itertools import product

LONGEST = 1_000_000
"""Most names in one node list, or in all lists of a log together."""

_TOO_LONG = f"a node list may contain at most {LONGEST:,} names"
_LISTED_NAME = re.compile(r"(?:[^,\[\]]|\[[^\[\]]*\])+")
_PIECE = re.compile(r"\[([^\[\]]*)\]|([^\[\]]+)")
_RANGE = re.compile(r"(\d{1,18})(?:-(\d{1,18}))?", re.ASCII)


def expand(text: str) -> list[str]:
    """Return the names in a node list.

    Parameters
    ----------
    text : str
        Names and ranges, e.g. ``node[1001-1002,1073],gpu-[01-03]n[1-2]``. Leading zeros are kept.

    Returns
    -------
    list of str
        In the order of the list; empty for ``None assigned`` and the like.

    Raises
    ------
    ValueError
        The text is not a node list, or contains more than 1,000,000 names.

    Examples
    --------
    >>> expand("node[08-10,12],login")
    ['node08', 'node09', 'node10', 'node12', 'login']
    """
    text = text.strip()
    if text in ("", "None assigned", "None", "(null)", "N/A"):
        return []
    names: list[str] = []
    at = 0
    while at < len(text):
        match = _LISTED_NAME.match(text, at)
        if match is None or (match.end() < len(text) and text[match.end()] != ","):
            raise ValueError(f"{text[at : at + 40]!r} is not a node list")
        parts: list[list[str]] = []
        most = LONGEST - len(names)
        if not most:
            raise ValueError(_TOO_LONG)
        for ranges, text_part in _PIECE.findall(match.group()):
            parts.append([text_part] if text_part else _numbers(ranges, most))
            most //= len(parts[-1])
        names.extend(map("".join, product(*parts)))
        at = match.end() + 1
    return names


def _numbers(text: str, most: int) -> list[str]:
    """The numbers in ranges such as ``01-03,7``, with their leading zeros."""
    numbers: list[str] = []
    for item in text.split(","):
        match = _RANGE.fullmatch(item.strip())
        if match is None:
            raise ValueError(f"{item[:40]!r} is not a range of numbers")
        low, high = match[1], match[2] or match[1]
        if int(high) < int(low):
            raise ValueError(f"the range {item} falls")
        if len(numbers) + int(high) - int(low) + 1 > most:
            raise ValueError(_TOO_LONG)
        numbers.extend(f"{number:0{len(low)}d}" for number in range(int(low), int(high) + 1))
    return numbers
