"""Link each glossary term where a page first uses it, also in generated sentences."""

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
"""Terms with other everyday meanings, which are not linked."""


@cache
def glossary(path: Path) -> dict[str, str]:
    """Return the glossary terms by their lower-case spelling; synonyms each have an entry."""
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
        Document as read by Sphinx.
    path : Path
        The page with the glossary.
    """
    from docutils import nodes
    from sphinx import addnodes

    entries = glossary(path)
    references = doctree.findall(addnodes.pending_xref)
    linked = {str(reference["reftarget"]).lower() for reference in references if reference["reftype"] == "term"}
    for text in list(doctree.findall(nodes.Text)):
        if not _is_prose(text):
            continue
        pieces: list[Any] = []
        end = 0
        for match in _pattern(path).finditer(text):
            name = match[1].lower()
            if name in linked:
                continue
            linked.add(name)
            pieces += [nodes.Text(text[end : match.start()]), _reference(entries[name], match[0])]
            end = match.end()
        if pieces:
            text.parent.replace(text, [*pieces, nodes.Text(text[end:])])


def _is_prose(text: Any) -> bool:
    """Return True for text in a paragraph that has no formatting or link."""
    names = []
    node = text.parent
    while node is not None:
        names.append(type(node).__name__)
        node = node.parent
    return "paragraph" in names and not _UNLINKED & set(names)


def _reference(term: str, text: str) -> Any:
    from docutils import nodes
    from sphinx import addnodes

    made = addnodes.pending_xref(
        "", nodes.inline("", text, classes=["xref", "std", "std-term"]),
        refdomain="std", reftype="term", reftarget=term, refexplicit=True, refwarn=True,
    )  # fmt: skip
    made["std:program"] = None
    return made
