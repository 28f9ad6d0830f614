"""Sentences with numbers: templates, a fallback where a number is missing, and numbers in a readable form."""

from __future__ import annotations

import math
import re
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any
from unicodedata import category

_LONGEST_H = 1000 * 8766.0
_SMALL_MW = 0.1

_HAIR = 1e-14
"""Relative error that rounding may have added to a whole number."""
_NO_EXPONENT = 1e-3, 1e9
"""Between these a number is written without an exponent."""


TITLE = "ettr-title"
"""Key of a finding's title in the metadata of its output in an executed notebook."""
MYST = "ettr-myst"
"""Key of a finding's text with the ids and links that only a page of the book shows."""
_MARK = re.compile(r"(?<!\\)\[([^\]\[]*)\]\{#[\w-]+\}")
_ROLE = re.compile(r"\{[a-z]+(:[a-z]+)?\}`([^`<]+?)(?: <[^`>]*>)?`")
_MARKDOWN = re.escape("\\`*_{}[]<>#|$&~%^")
_QUANTITY_TEXT = re.compile(r"(?P<number>\d[\d,]*(\.\d+)?)(?P<unit>\D*)")


@dataclass(frozen=True)
class Finding:
    """The finding of a chart or a chapter.

    Attributes
    ----------
    title : str
        The finding in a few words, used as the title of a chart.
    text : str
        The takeaway with its numbers, in Markdown. A notebook shows it when the finding is the last line of a cell.
    """

    title: str
    text: str

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, str], dict[str, str]]:
        data = {"text/markdown": _MARK.sub(r"\1", _ROLE.sub(r"\2", self.text)), "text/plain": plain(self.text)}
        return data, {TITLE: self.title, MYST: self.text}

    def __str__(self) -> str:
        return self.text


def say(template: str, fallback: str = "", /, **values: Any) -> str:
    """Return a sentence from a template and named values.

    Parameters
    ----------
    template : str
        Text with ``{name:form}`` for each value. Forms are those of :data:`FORMS`, such as ``gpus``, ``duration`` (of
        hours) and ``share``, or Python's own. With ``{#name:form}`` the page of the book has the number under the id
        ``q-name``.
    fallback : str
        Used instead if a value of the template is None, infinite or not a number. All of its values are required.
    **values
        Numbers, texts and lists of texts.

    Raises
    ------
    KeyError
        If the template names a value that was not passed.
    ValueError
        If a value of the fallback is missing.

    Examples
    --------
    >>> say("{n:gpus} reach {ettr:share}.", "{n:gpus} have no answer.", n=16384, ettr=0.91)
    '16,384 GPUs reach 91.0%.'
    >>> say("{n:gpus} reach {ettr:share}.", "{n:gpus} have no answer.", n=16384, ettr=math.nan)
    '16,384 GPUs have no answer.'
    """
    try:
        return _TEMPLATES.vformat(template, (), values)
    except _Missing:
        return _TEMPLATES.vformat(fallback, (), values)


def plain(text: str) -> str:
    """Return a text without the ids of its numbers, the roles of its links, and the escapes of :func:`literal`.

    Examples
    --------
    >>> plain(say("It trains {#ettr:share0} of the time.", ettr=0.91))
    'It trains 91% of the time.'
    """
    return re.sub(rf"\\([{_MARKDOWN}])", r"\1", _MARK.sub(r"\1", _ROLE.sub(r"\2", text)))


def encodable(text: str) -> str:
    r"""Return a text that UTF-8 can encode: lone surrogates, as in undecodable file names, become escapes.

    Examples
    --------
    >>> print(encodable("caf\udce9"))
    caf\udce9
    """
    return text.encode("utf-8", "backslashreplace").decode()


def printable(text: str) -> str:
    r"""Return a text on one line that cannot act as a terminal command, for names of files, columns and keys.

    Control characters, line ends, marks that reverse the reading direction and lone surrogates become escapes.

    Examples
    --------
    >>> print(printable("run\x1b[2J.yml\nettr: done"), printable("Grüße, 東京"))
    run\x1b[2J.yml\nettr: done Grüße, 東京
    """
    if text.isprintable():
        return text
    return "".join(
        sign if sign.isprintable() or category(sign) == "Zs" else sign.encode("unicode_escape").decode()
        for sign in text
    )


def cut(text: str, longest: int) -> str:
    """Return a text cut to a number of characters, with an ellipsis where something is missing.

    Examples
    --------
    >>> cut("a long story", 7)
    'a long…'
    """
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def literal(text: str) -> str:
    r"""Return Markdown that shows a user's text literally.

    Examples
    --------
    >>> print(literal("A*B for $5 <now>"))
    A\*B for \$5 \<now\>
    """
    return re.sub(rf"([{_MARKDOWN}])", r"\\\1", text)


class _Missing(ValueError):
    """A value that a template needs is missing."""


class _Templates(string.Formatter):
    """Python's templates with forms for numbers; missing, infinite and NaN values raise an error."""

    def get_value(self, key: int | str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        name = str(key).removeprefix("#")
        value = super().get_value(name, args, kwargs)
        parts = value if isinstance(value, tuple) else (value,)
        if any(part is None or (isinstance(part, Real) and not math.isfinite(part)) for part in parts):
            raise _Missing(f"{name} is {value}")
        return _Quantity(name, value) if name != key else value

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, _Quantity):
            return f"[{self.format_field(value.value, format_spec)}]{{#q-{value.name.replace('_', '-')}}}"
        form = FORMS.get(format_spec)
        return form(value) if form else str(format(value, format_spec))


@dataclass(frozen=True)
class _Quantity:
    """A value that gets an id on pages."""

    name: str
    value: Any


def pct(fraction: float, digits: int = 1) -> str:
    """Return a fraction as a percentage; a whole one gets a decimal where it would look like none or all.

    Examples
    --------
    >>> pct(0.64), pct(0.914, 0), pct(0.998, 0), pct(1, 0)
    ('64.0%', '91%', '99.8%', '100%')
    """
    if digits == 0 and fraction not in (0, 1) and f"{100 * fraction:.0f}" in ("0", "100"):
        digits = 1
    return f"{100 * fraction:.{digits}f}%"


def megawatts(value: float) -> str:
    """Return a power in MW, or in kW where it is small, e.g. ``16.8 MW``."""
    return f"{number(1e3 * value)} kW" if 0 < abs(value) < _SMALL_MW else f"{number(value)} MW"


def joined_range(low: str, high: str) -> str:
    """Return a range from the text of its ends, naming a shared unit once and with the same decimals.

    Examples
    --------
    >>> joined_range("88%", "90%"), joined_range("5 million USD", "9.8 million USD"), joined_range("30 min", "30 h")
    ('88-90%', '5.0-9.8 million USD', '30 min to 30 h')
    """
    ends = [_QUANTITY_TEXT.fullmatch(text) for text in (low, high)]
    if low == high:
        return high
    if not (ends[0] and ends[1] and ends[0]["unit"] == ends[1]["unit"]):
        return f"{low} to {high}"
    first, last = ends[0]["number"], ends[1]["number"]
    missing = len(last.partition(".")[2]) - len(first.partition(".")[2])
    if missing > 0 and first != "0":
        first += ("" if "." in first else ".") + "0" * missing
    return f"{first}-{last}{ends[1]['unit']}"


def span_of_shares(low: float, high: float) -> str:
    """Return two fractions as a range of whole percentages, e.g. ``57-73%``; one number where both round alike."""
    return joined_range(pct(low, 0), pct(high, 0))


def points(fraction: float) -> str:
    """Return a difference of fractions in percentage points, e.g. ``1.3 points``."""
    value = 100 * fraction
    if 0 < abs(value) < 0.05:
        return "less than 0.1 points"
    return f"{value:.1f} point{'' if f'{abs(value):.1f}' == '1.0' else 's'}"


def count(number: float) -> str:
    """Return a whole number with separators, e.g. ``16,384``."""
    return f"{number:,.0f}" if number < 1e15 else f"10^{math.floor(math.log10(number))}"


def gpus(number: float) -> str:
    """Return a number of GPUs, rounded to three digits above ten thousand, e.g. ``50,600 GPUs``."""
    if not math.isfinite(number):
        return "any number of GPUs"
    rounded = round(number, 2 - math.floor(math.log10(number))) if number >= 10_000 else number
    exact = math.isclose(number, round(number)) and number < 1e6
    return f"{number if exact else rounded:,.0f} GPU{'' if number == 1 else 's'}"


def fails(mttf_h: float) -> str:
    """Return how often something fails, e.g. ``a failure every 3.1 h``."""
    return f"a failure every {duration(mttf_h)}" if math.isfinite(mttf_h) else "no failures"


def about(value: float) -> float:
    """Return a number rounded to two significant digits, which is as precise as most assumptions are.

    Examples
    --------
    >>> about(39.1), about(763_124), about(0.0676)
    (39.0, 760000.0, 0.068)
    """
    return float(f"{value:.2g}")


def roughly(hours: float) -> str:
    """Return a duration in hours as text with two significant digits, e.g. ``39 min``."""
    return duration(hours, about)


def span(ends: tuple[float, float], rounded: Callable[[float], float] = about) -> str:
    """Return a range of two durations in hours, by default to two significant digits.

    Examples
    --------
    >>> span((4.64 / 60, 12.7 / 60)), span((0.5, 30.0))
    ('4.6-13 min', '30 min to 30 h')
    """
    return joined_range(*(duration(hours, rounded) for hours in ends))


def duration(hours: float, rounded: Callable[[float], float] = float) -> str:
    """Return a duration in hours as text in a suitable unit, e.g. ``3.1 h`` or ``7.7 min``."""
    if not math.isfinite(hours):
        raise ValueError(f"a sentence needs a finite duration, got {hours}")
    if hours > _LONGEST_H:
        return "more than a thousand years"
    for limit, scale, unit in (
        (1 / 60, 3600, "s"),
        (1.0, 60, "min"),
        (72.0, 1, "h"),
        (math.inf, 1 / 24, "days"),
    ):
        if hours < limit * 0.9995:  # 59.99 min is an hour
            return f"{_digits(rounded(hours * scale))} {unit}"
    raise AssertionError


def number(value: float) -> str:
    """Return a number with three significant digits and without an exponent, e.g. ``3.79``."""
    return _digits(value)


def limit(value: float, sense: str = "") -> str:
    """Return a limit with three digits, rounded to the safe side.

    An "at most" is rounded down and an "at least" up, so that the printed value still reaches the target. Very large
    and very small numbers get an exponent.
    """
    if value == 0 or math.isinf(value):
        return "any" if value else "0"
    no_exponent = _NO_EXPONENT[0] <= abs(value) < _NO_EXPONENT[1]
    digits = 2 - math.floor(math.log10(abs(value)))
    digits = max(digits, 0) if no_exponent else digits
    scaled = value * 10.0**digits
    if sense == "at most":
        integer = math.floor(scaled * (1 + _HAIR))
    else:
        integer = math.ceil(scaled * (1 - _HAIR)) if sense == "at least" else round(scaled)
    rounded = integer / 10.0**digits
    text = f"{rounded:,.{digits}f}" if no_exponent else f"{rounded:.3g}"
    return text.rstrip("0").rstrip(".") if no_exponent and "." in text else text


def capital(text: str) -> str:
    """Return a text with a capital first letter, for the start of a sentence."""
    return text[:1].upper() + text[1:]


def listed(names: list[str]) -> str:
    """Return names as an enumeration, e.g. ``a, b and c``."""
    if not names:
        return "none"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _digits(value: float) -> str:
    if value == 0:
        return "0"
    if value >= 1e15:
        return count(value)
    digits = max(0, 2 - math.floor(math.log10(abs(value)) + 1e-12)) if abs(value) < 10 else 1 if abs(value) < 100 else 0
    digits = min(digits, 2) if abs(value) >= 0.1 else digits
    text = f"{value:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


_FOR_EVER = 36_525.0
_MILLION, _BILLION, _TRILLION = 1e6, 1e9, 1e12


def amount(value: float) -> str:
    """Return a large number in words, e.g. ``576 billion``."""
    for scale, name in ((_TRILLION, "trillion"), (_BILLION, "billion"), (_MILLION, "million")):
        if value >= scale * 0.9995:
            return f"{number(value / scale)} {name}"
    return number(value)


def usd(value: float) -> str:
    """Return an amount of money with three digits, large ones in words; "any budget" if it is infinite.

    Examples
    --------
    >>> usd(999_700), usd(45_678), usd(-1.234e9)
    ('1 million USD', '45,700 USD', '-1.23 billion USD')
    """
    if not math.isfinite(value):
        return "any budget"
    if value < 0:
        return f"-{usd(-value)}"
    if value >= 0.9995 * _MILLION:
        return f"{amount(value)} USD"
    return f"{value if value < 1000 else float(f'{value:.3g}'):,.0f} USD"


def days(value: float) -> str:
    """Return a number of days, with years where there are many, e.g. ``3,604 days, or 9.87 years``."""
    if not value < _FOR_EVER:
        return "more than a hundred years"
    text = f"{number(value)} day{'' if number(value) == '1' else 's'}"
    return f"{text}, or {number(value / 365.25)} years" if value >= 730 else text


FORMS: Mapping[str, Callable[[Any], str]] = {
    "about": lambda value: number(about(value)),
    "count": count,
    "duration": duration,
    "gpus": gpus,
    "gpus2": lambda number: gpus(float(f"{number:.2g}")),
    "list": listed,
    "mw": lambda value: megawatts(about(value)),
    "number": number,
    "at most points": lambda value: f"{'' if 0 < value < 0.0005 else 'at most '}{points(value)}",
    "points": points,
    "roughly": roughly,
    "share": pct,
    "share0": lambda value: pct(value, 0),
    "gpus_span": lambda ends: joined_range(*(f"{end:,.0f} GPUs" for end in ends)),
    "shares": lambda ends: span_of_shares(*ends),
    "span": span,
    "usd": lambda value: usd(about(value)),
}
"""Forms for the values of a template of :func:`say`."""

_TEMPLATES = _Templates()
