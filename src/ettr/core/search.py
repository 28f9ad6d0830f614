"""Search entries by name, alias or meaning: one ranking for fields, mitigations and GPUs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_SHORT = 4
"""Words up to this length, mostly acronyms, match only at the start of a word: TPU is not part of "output"."""


@dataclass(frozen=True)
class Searchable:
    """An entry that can be searched for.

    Attributes
    ----------
    key : str
        The id or path that the search returns.
    names : tuple of str
        Its key, title and aliases; a match here ranks above a match in the text.
    text : str
        Everything else that describes it.
    """

    key: str
    names: tuple[str, ...]
    text: str = ""


def search(words: Sequence[str], entries: Sequence[Searchable]) -> list[str]:
    """Return the keys of the entries that match all words, best match first.

    An entry whose name equals the words comes first, then entries with the words in their names, then those with the
    words anywhere; ties keep the order of the entries.

    Examples
    --------
    >>> spares = Searchable("spare-pool", ("spare-pool", "Larger spare pool"), "idle nodes that replace failed ones")
    >>> warm = Searchable("warm-standby", ("warm-standby", "Warm (hot) spares", "hot spare"), "a process is ready")
    >>> search(["spare"], [spares, warm]), search(["hot", "spare"], [spares, warm]), search(["Idle"], [spares, warm])
    (['spare-pool', 'warm-standby'], ['warm-standby'], ['spare-pool'])
    """
    ranks = {entry.key: _rank(words, entry) for entry in entries}
    return sorted((key for key, rank in ranks.items() if rank), key=lambda key: -ranks[key])


def _rank(words: Sequence[str], entry: Searchable) -> int:
    """Return 3 for a name equal to the words, 2 for words in the names, 1 for words anywhere, else 0."""
    phrase = _plain(" ".join(words))
    if phrase in map(_plain, entry.names):
        return 3
    names = " \n".join(entry.names)
    if all(_occurs(word, names) for word in words):
        return 2
    return int(all(_occurs(word, f"{names}\n{entry.text}") for word in words))


def _occurs(word: str, text: str) -> bool:
    word, text = word.casefold(), text.casefold()
    return word in text if len(word) > _SHORT else bool(re.search(rf"(?<![^\W_]){re.escape(word)}", text))


def _plain(name: str) -> str:
    """A name without case, punctuation and the plural of its last word."""
    return re.sub(r"[\W_]+", " ", name.casefold()).strip().removesuffix("s")
