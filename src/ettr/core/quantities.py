"""Numbers and quantities as people write them: ``4,096``, ``4k``, ``90%``, ``9h``, ``$2.5``.

This is the one parser behind the options of the command line and the fields of a scenario. A spelling is read only
where there is a single way to read it; everything else is refused with a suggestion of what to write.
"""

from __future__ import annotations

import math
import re
from types import MappingProxyType

from ettr.core.numbers import LEADING_ZERO, refuse_other_digits

_TIME = {
    "us": 1e-6,
    "µs": 1e-6,
    "ms": 1e-3,
    **dict.fromkeys(("s", "sec", "second", "seconds"), 1.0),
    **dict.fromkeys(("min", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3600.0),
    **dict.fromkeys(("d", "day", "days"), 86_400.0),
    **dict.fromkeys(("week", "weeks"), 604_800.0),
}
_MONTHS = {**dict.fromkeys(("month", "months"), 1.0), **dict.fromkeys(("y", "year", "years"), 12.0)}
_PREFIXED = (
    {"W": 1.0, "kW": 1e3, "MW": 1e6, "GW": 1e9},
    {"W/s": 1.0, "kW/s": 1e3, "MW/s": 1e6, "MW/min": 1e6 / 60},
    {"J": 1.0, "kJ": 1e3, "MJ": 1e6, "Wh": 3.6e3, "kWh": 3.6e6, "MWh": 3.6e9, "GWh": 3.6e12},
    {"kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "PB": 1e15, "MiB": 2.0**20, "GiB": 2.0**30, "TiB": 2.0**40},
    {"MB/s": 1e6, "GB/s": 1e9, "TB/s": 1e12, "MiB/s": 2.0**20, "GiB/s": 2.0**30, "TiB/s": 2.0**40},
    {"GFLOP/s": 1e9, "TFLOP/s": 1e12, "PFLOP/s": 1e15, "GFLOPS": 1e9, "TFLOPS": 1e12, "PFLOPS": 1e15},
    {"Hz": 1.0, "kHz": 1e3, "MHz": 1e6, "GHz": 1e9},
    {"K": 1.0},
    {"K/W": 1.0},
    {"°C": 1.0, "C": 1.0},
)
"""Units that are written with prefixes: beside them a bare ``k`` or ``M`` could be a factor or half a unit."""
_DIMENSIONS = (_TIME, _MONTHS, *_PREFIXED)
"""Spellings of the units of one dimension, with the size of each in the smallest."""
_PRICE_PER_GPU_H = "USD/(GPU h)"
_MULTIPLIERS = {"k": 3, "K": 3, "M": 6, "B": 9, "T": 12}
"""Powers of ten."""

_WORDS = MappingProxyType({"h": "hours", "min": "minutes", "s": "seconds", "ms": "milliseconds", "month": "months"})
"""Units that messages spell out."""

_WRITTEN = re.compile(
    r"(?P<currency>\$|USD ?)?"
    r"(?P<number>[-+]?(?:(?:[1-9]\d{0,2}(?:,\d{3})+|\d+(?:_\d+)*)(?:\.\d*)?|\.\d+)(?P<exponent>[eE][-+]?\d+)?)"
    r"\s*(?P<ending>(?![\d,._])\S.*)?",
    re.ASCII,
)
_COMMA = re.compile(r"\s*([-+]?\d+),(\d+)\D*", re.ASCII)


def parse_quantity(text: str, unit: str = "") -> float:
    """Return the number that a text gives in a unit.

    These are all the rules; a page that takes numbers from its reader follows the same ones.

    ============================ ================================ ===================================================
    written                      read as                          rule
    ============================ ================================ ===================================================
    ``4096``, ``-1.5``, ``1e6``  the number                       digits 0 to 9, a decimal point, an exponent
    ``1_000``                    1000                             single underscores between digits
    ``4,096``, ``1,234.5``       4096, 1234.5                     a comma before each group of three digits
    ``3,5``, ``4,09``, ``0,123`` refused                          decimal comma or thousands?
    ``010``                      refused                          a leading zero: eight, ten or a slip?
    ``4k``, ``2M``, ``405B``     4000, 2e6, 405e9                 k or K, M, B, T: 10³, 10⁶, 10⁹, 10¹²; not after
                                                                  an exponent; may stand before a unit: ``4k GPUs``
    ``10M`` for MW               refused                          W, J, B, B/s, FLOP/s, Hz, K and °C take no k, M,
                                                                  B, T without their unit: million or mega?
    ``90%``, ``90 percent``      0.9                              where the number has no unit (shares, factors); 90
                                                                  where the unit is %; refused elsewhere
    ``9h``, ``9 h``              9 for h                          the unit itself, after any spaces
    ``540min``, ``90s``, ``2d``  9 for h, 1.5 for min, 2 for days one dimension: us, ms, s, min, h, d, weeks, in any
                                                                  case; months and years only between each other
    ``12m``                      12 for min                       m is minutes only where minutes are asked for;
                                                                  refused for h, s and days
    ``500kW``, ``1.5TB``         0.5 for MW, 1500 for GB          decimal prefixes; MiB, GiB, TiB are binary
    ``10mw``, ``5gb``            10 for MW, 5 for GB              all in lower case, except ``gb/s`` (bits or bytes?)
                                                                  and ``k`` for kelvin
    ``$2.5``, ``2.5 USD``        2.5 for USD and USD/day          dollars only, before or behind; ``$3M`` is 3e6; the
    ``$2.5/GPU-h``               2.5 for USD/(GPU h)              rest of the unit may be left out or spelled out
    ``4096 GPUs``, ``1 node``    4096, 1                          the noun of a count, singular or plural, any case
    ``2 per day``, ``2/day``     2 for 1/day                      other units by their name, ``per`` for ``/``
    ``inf``, ``nan``             as Python reads them             for the caller to refuse
    ============================ ================================ ===================================================

    Parameters
    ----------
    text : str
        The number as written, with or without a unit.
    unit : str
        Unit to return the number in, as :func:`ettr.core.units.unit_of` names it; empty for shares, factors and plain
        counts.

    Returns
    -------
    float
        The number in that unit.

    Raises
    ------
    ValueError
        The text is no number in that unit, or can be read in two ways. The message suggests what to write instead.

    Examples
    --------
    >>> [parse_quantity(text) for text in ("4,096", "4k", "2.3M", "90%", "1_000", "1e5")]
    [4096.0, 4000.0, 2300000.0, 0.9, 1000.0, 100000.0]
    >>> parse_quantity("540min", "h"), parse_quantity("12m", "min"), parse_quantity("$2.5", "USD/(GPU h)")
    (9.0, 12.0, 2.5)
    >>> parse_quantity("3,5", "h")
    Traceback (most recent call last):
    ValueError: write 3.5; commas only separate thousands, as in 4,096
    """
    _refuse_doubtful(text)
    written = _WRITTEN.fullmatch(text.strip())
    if written is None:
        return _infinite_or_refused(text, unit)
    number, ending = written["number"].replace(",", ""), written["ending"] or ""
    if ending in ("%", "percent") and unit in ("", "%") and not (written["currency"] or written["exponent"]):
        return float(number if unit else f"{number}e-2")
    multiplier, rest = "", ending
    currency = "USD" if written["currency"] else ""
    factor = _factor(currency + rest, unit)
    if factor is None and ending[:1] in _MULTIPLIERS and not written["exponent"]:
        multiplier, rest = ending[0], ending[1:].lstrip()
        factor = _factor(currency + rest, unit)
    if factor is None or (multiplier and not rest and _has_prefixes(unit)):
        raise ValueError(_advice(written["number"], ending, unit))
    return (float(f"{number}e{_MULTIPLIERS[multiplier]}") if multiplier else float(number)) * factor


def parse_count(text: str, unit: str = "") -> int:
    """Return the whole number that a text gives in a unit, by the rules of :func:`parse_quantity`.

    Raises
    ------
    ValueError
        It is none. The message suggests what to write instead.

    Examples
    --------
    >>> parse_count("4k"), parse_count("512 nodes", "nodes"), parse_count("9,223,372,036,854,775,807")
    (4000, 512, 9223372036854775807)
    """
    number = parse_quantity(text, unit)
    if "%" in text or not number.is_integer():
        raise ValueError(f"write {number:.0f}" if math.isfinite(number) and "%" not in text else "e.g. 12")
    digits = text.strip().replace(",", "").replace("_", "")
    return int(digits) if digits.lstrip("+-").isdecimal() else int(number)  # a float has 53 bits, a seed up to 63


def advice(text: str, unit: str = "", *, whole: bool = False) -> str:
    """Return what to write instead of a text that is no number in a unit; empty if it is one.

    Examples
    --------
    >>> advice("9x", "h"), advice("4096.5", "GPUs", whole=True), advice("9h", "h")
    ('write 9 or 9h', 'write 4096', '')
    """
    try:
        _ = parse_count(text, unit) if whole else parse_quantity(text, unit)
    except ValueError as error:
        return str(error)
    return ""


def noun_of(unit: str, *, whole: bool = False) -> str:
    """Return how a message calls a number in a unit.

    Examples
    --------
    >>> noun_of("h"), noun_of("GPUs", whole=True), noun_of("USD/(GPU h)"), noun_of("")
    ('a number of hours', 'a whole number of GPUs', 'a number in USD/(GPU h)', 'a number')
    """
    kind = "a whole number" if whole else "a number"
    if not unit:
        return kind
    return f"{kind} {'in' if '/' in unit or _has_prefixes(unit) else 'of'} {_WORDS.get(unit, unit)}"


def _has_prefixes(unit: str) -> bool:
    """Return whether a unit is written with prefixes such as kilo."""
    return any(unit in units for units in _PREFIXED)


def _factor(ending: str, unit: str) -> float | None:
    """Return what a number with this ending is multiplied by to be in the unit; None if the ending is no such unit."""
    if not ending:
        return 1.0
    if ending == "m" and unit == "min":
        return 1.0
    units = next((units for units in _DIMENSIONS if unit in units), None)
    if units is None:
        return 1.0 if unit and ending.casefold() in _names_of(unit) else None
    spelling = ending
    if units in (_TIME, _MONTHS):
        spelling = ending.casefold().replace("\u03bc", "µ")  # the Greek letter for the sign
    elif ending == ending.lower() and ending != "k" and not ending.endswith("b/s"):
        spelling = {name.lower(): name for name in units}.get(ending, ending)
    if spelling not in units:
        return None
    return 1.0 if units[spelling] == units[unit] else units[spelling] / units[unit]


def _names_of(unit: str) -> set[str]:
    """Return the spellings of a unit that is not converted, in lower case."""
    names = {unit, unit.removesuffix("s"), unit.replace("-", " "), unit.replace("-", " ").removesuffix("s")}
    if unit == _PRICE_PER_GPU_H:
        names |= {f"USD/{hour}" for hour in ("GPU-h", "GPU-hour", "GPU h", "GPU hour")}
    if unit.startswith("USD"):
        names.add("USD")
    if unit.startswith("1/"):
        names.add(unit[1:])
    names |= {name.replace("/", " per ").lstrip() for name in names}
    return {name.casefold() for name in names}


def _refuse_doubtful(text: str) -> None:
    """Refuse other digits and a leading zero."""
    try:
        refuse_other_digits(text)
    except ValueError as error:
        raise ValueError(str(error).rpartition(": ")[2]) from None
    if LEADING_ZERO.match(text):
        raise ValueError(f"write {text.strip().lstrip('0_') or '0'}, without a leading zero")


def _infinite_or_refused(text: str, unit: str) -> float:
    """Return infinity or NaN, which callers refuse in the words of their rule; refuse everything else."""
    comma = _COMMA.fullmatch(text)
    if comma:
        raise ValueError(f"write {comma[1]}.{comma[2]}; commas only separate thousands, as in 4,096")
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"e.g. {_with_unit('12', unit)}") from None


def _advice(number: str, ending: str, unit: str) -> str:
    """Return what to write instead of a number with an ending that the unit does not have."""
    if ending in _MULTIPLIERS and _has_prefixes(unit):
        return f"write the unit in full, e.g. {number}{unit}"
    if ending == "m" and unit in _TIME:
        return f"write {number}min; m alone is not clear"
    is_slip = ending.isalpha() and not any(ending.casefold() in map(str.casefold, units) for units in _DIMENSIONS)
    return f"write {_with_unit(number, unit)}" if is_slip else f"e.g. {_with_unit('12', unit)}"


def _with_unit(number: str, unit: str) -> str:
    """Return a number as it may be written, without and with its unit."""
    if unit.startswith("USD"):
        return f"{number} or ${number}"
    if unit in _WORDS or _has_prefixes(unit):
        return f"{number} or {number}{unit if unit != 'month' else ' months'}"
    return f"{number} or {number} {unit.replace('1/', 'per ')}" if unit else number
