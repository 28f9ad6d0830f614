"""Names of months in the languages that servers are often set to."""

from __future__ import annotations

import re
import unicodedata

_NAMES = """
    january february march april may june july august september october november december
    januar februar märz april mai juni juli august september oktober november dezember
    janvier février mars avril mai juin juillet août septembre octobre novembre décembre
    enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
    gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre
    janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro
    januari februari maart april mei juni juli augustus september oktober november december
    januari februari mars april maj juni juli augusti september oktober november december
    januar februar marts april maj juni juli august september oktober november december
    januar februar mars april mai juni juli august september oktober november desember
    ian feb mrt apr mai iun iul aug sep okt nov dec"""
_SHORTEST = 3
_NUMBERED = re.compile(r"(1[0-2]|[1-9])[月월]")
"""Months of Chinese, Japanese and Korean locales."""


def _without_accents(name: str) -> str:
    """A name in lower case, without accents and the final dot of an abbreviation."""
    letters = unicodedata.normalize("NFKD", name.casefold().rstrip("."))
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


def _by_abbreviation() -> dict[str, int]:
    """Month of each name and each abbreviation that means one month only."""
    months: dict[str, set[int]] = {}
    for place, name in enumerate(_NAMES.split()):
        plain = _without_accents(name)
        for length in range(_SHORTEST, len(plain) + 1):
            months.setdefault(plain[:length], set()).add(place % 12 + 1)
    return {name: numbers.pop() for name, numbers in months.items() if len(numbers) == 1}


_MONTHS = _by_abbreviation()


def month_of(name: str) -> int | None:
    """Return the number of a month, from 1; None for any other word.

    Parameters
    ----------
    name : str
        Name or abbreviation in English, German, French, Spanish, Italian, Portuguese, Dutch, Swedish, Danish, Norwegian
        or Romanian, or the number of a month as Chinese, Japanese and Korean write it. Languages in which an
        abbreviation means another month than in a neighbouring one, such as Polish and Croatian (``lis``), are left
        out.

    Examples
    --------
    >>> [month_of(name) for name in ("Okt", "déc.", "août", "10月", "lis", "jui")]
    [10, 12, 8, 10, None, None]
    """
    numbered = _NUMBERED.fullmatch(name)
    return int(numbered[1]) if numbered else _MONTHS.get(_without_accents(name))
