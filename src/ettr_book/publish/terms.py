"""Links each term of the glossary where a page first uses it, in generated sentences too."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

GLOSSARY = Path("book/reference/glossary.md")
_UNLINKED = {
    "reference",
    "pending_xref",
    "title",
    "literal",
    "literal_block",
    "raw",
    "figure",
    "table",
    "math",
    "strong",
}
_EVERYDAY = {
    "assumption",
    "band",
    "battery",
    "die",
    "domain",
    "interval",
    "lift",
    "mode",
    "point",
    "queue",
    "repeat",
    "store",
}
"""Terms that sentences use in other senses as well: who reads of one looks it up."""


@cache
def glossary(path: Path) -> dict[str, str]:
    """The terms, by how they are written in lower case; several that share a meaning each by themselves."""
    inside = path.read_text(encoding="utf-8").partition("```{glossary}\n")[2].partition("\n```")[0]
    entries = [line for line in inside.splitlines() if line and not line[0].isspace()]
    return {entry.lower(): entry for entry in entries if entry.lower() not in _EVERYDAY}


@cache
def _pattern(path: Path) -> re.Pattern[str]:
    longest_first = sorted(glossary(path), key=len, reverse=True)
    return re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, longest_first))})(s?)(?![\w-])", re.IGNORECASE)


def link(doctree: Any, path: Path) -> None:
    """Link the first use of each term in the paragraphs of a page, in place.

    Parameters
    ----------
    doctree : docutils document
        As Sphinx has read it.
    path : Path
        The page with the glossary.
    """
    from docutils import nodes
    from sphinx import addnodes

    known = glossary(path)
    references = doctree.findall(addnodes.pending_xref)
    linked = {str(one["reftarget"]).lower() for one in references if one["reftype"] == "term"}
    for text in list(doctree.findall(nodes.Text)):
        if not _is_prose(text):
            continue
        pieces: list[Any] = []
        end = 0
        for found in _pattern(path).finditer(text):
            name = found[1].lower()
            if name in linked:
                continue
            linked.add(name)
            pieces += [nodes.Text(text[end : found.start()]), _reference(known[name], found[0])]
            end = found.end()
        if pieces:
            text.parent.replace(text, [*pieces, nodes.Text(text[end:])])


def _is_prose(text: Any) -> bool:
    """Whether a text stands in a paragraph, and not in what has a look or a link of its own."""
    names = []
    node = text.parent
    while node is not None:
        names.append(type(node).__name__)
        node = node.parent
    return "paragraph" in names and not _UNLINKED & set(names)


def _reference(term: str, shown: str) -> Any:
    from docutils import nodes
    from sphinx import addnodes

    made = addnodes.pending_xref(
        "", nodes.inline("", shown, classes=["xref", "std", "std-term"]),
        refdomain="std", reftype="term", reftarget=term, refexplicit=True, refwarn=True,
    )  # fmt: skip
    made["std:program"] = None
    return made
