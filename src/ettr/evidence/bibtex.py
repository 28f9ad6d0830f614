r"""A strict reader of the BibTeX of ``data/``.

An entry is ``@kind{key, field = {text}, ...}``; lines between entries are blank or begin with ``%``. A person is
``Family, Given``, a name in braces or ``others``. Of LaTeX it knows accents, quotation marks, escaped signs,
and commands with one argument that is shown. Whatever else stands there is refused.

Ours, since plans and comparisons cite sources without any extra, and Pybtex would bring three packages for it; a test
holds both readers to the same names and titles.
"""

from __future__ import annotations

import re
import unicodedata

from ettr.core.errors import DataError

_ACCENTS = {"`": "\u0300", "'": "\u0301", "^": "\u0302", "~": "\u0303", '"': "\u0308", "c": "\u0327"}
"""Commands of LaTeX and the signs of Unicode that join a letter."""
_SHOWN = ("emph", "texttt", "citet")
"""Commands whose argument is shown as it is."""
_ACCENT = re.compile(r"\{\\([`'^~\"]|c\s)\s*(\w)\}")
_COMMAND = re.compile(rf"\\(?:{'|'.join(_SHOWN)})\{{([^{{}}]*)\}}")
_SIGN = re.compile(r"\\([_&%$#])")
_BRACES = str.maketrans("", "", "{}")
_BETWEEN = re.compile(r"(?:\s|%[^\n]*(?:\n|$))*")
_ENTRY = re.compile(r"@[a-z]+\{([a-z0-9]+),\s*")
_FIELD = re.compile(r"([a-z]+)\s*=\s*\{")
_NEXT = re.compile(r"\s*(?:,\s*|(?=\}))")


def parse(text: str) -> dict[str, dict[str, str]]:
    """The fields of each entry as they are written, by key, in their order.

    Parameters
    ----------
    text : str
        BibTeX.

    Raises
    ------
    DataError
        With the line of what is not understood, of a key that is there twice, and of a field that is.

    Examples
    --------
    >>> parse("@misc{young1974, title = {A {First} Order}, year = {1974}}")
    {'young1974': {'title': 'A {First} Order', 'year': '1974'}}
    """
    entries: dict[str, dict[str, str]] = {}
    at = _skipped(text, 0)
    while at < len(text):
        head = _ENTRY.match(text, at)
        if head is None:
            raise _unexpected(text, at, "an entry, @kind{key,")
        if head[1] in entries:
            raise _unexpected(text, at, f"a key that is not there yet, as {head[1]} is")
        entries[head[1]], at = _fields(text, head.end())
        at = _skipped(text, at)
    return entries


def plain(latex: str) -> str:
    r"""What a text of LaTeX shows.

    Raises
    ------
    DataError
        If there is a command that is not known here.

    Examples
    --------
    >>> plain(r"{Fr{\'e}d{\'e}ric} on \emph{Llama} \& others")
    'Frédéric on Llama & others'
    """
    text = _ACCENT.sub(lambda found: unicodedata.normalize("NFC", found[2] + _ACCENTS[found[1].strip()]), latex)
    text = _COMMAND.sub(r"\1", text)
    text = _SIGN.sub(r"\1", text).translate(_BRACES).replace("``", "“").replace("''", "”")
    if "\\" in text:
        raise DataError(f"{latex!r} holds a command of LaTeX that is not known here")
    return " ".join(text.split())


def people(authors: str) -> list[tuple[str, str]]:
    """The whole name of each author, and the family's.

    Raises
    ------
    DataError
        If a name is neither ``Family, Given`` nor in braces.

    Examples
    --------
    >>> people("Daly, John T. and {PyTorch} and others")
    [('John T. Daly', 'Daly'), ('PyTorch', 'PyTorch'), ('et al.', 'et al.')]
    """
    return [_named(name) for name in re.split(r"\s+and\s+(?![^{]*\})", authors)]


def _named(name: str) -> tuple[str, str]:
    if name == "others":
        return "et al.", "et al."
    if name.startswith("{") and name.endswith("}"):
        return plain(name), plain(name)
    family, comma, given = name.partition(", ")
    if not comma or "," in given:
        raise DataError(f"the author {name!r} must be written as Family, Given, or in braces")
    return plain(f"{given} {family}"), plain(family)


def _fields(text: str, at: int) -> tuple[dict[str, str], int]:
    """The fields of an entry, and where it ends."""
    fields: dict[str, str] = {}
    while not text.startswith("}", at):
        head = _FIELD.match(text, at)
        if head is None:
            raise _unexpected(text, at, "a field, name = {text}")
        if head[1] in fields:
            raise _unexpected(text, at, f"a field that is not there yet, as {head[1]} is")
        end = _closing(text, head.end())
        fields[head[1]] = text[head.end() : end]
        then = _NEXT.match(text, end + 1)
        if then is None:
            raise _unexpected(text, end + 1, "a comma, or the brace that closes the entry")
        at = then.end()
    return fields, at + 1


def _closing(text: str, start: int) -> int:
    """Where the brace ends that was opened before."""
    depth = 1
    for found in re.finditer(r"[{}]", text[start:]):
        depth += 1 if found[0] == "{" else -1
        if depth == 0:
            return start + found.start()
    raise _unexpected(text, start, "a brace that closes the text")


def _skipped(text: str, at: int) -> int:
    """Where blank lines and comments end."""
    found = _BETWEEN.match(text, at)
    return found.end() if found else at


def _unexpected(text: str, at: int, expected: str) -> DataError:
    there = text[at : at + 40].partition("\n")[0]
    return DataError(f"line {text.count(chr(10), 0, at) + 1} must be {expected}, got {there!r}")
