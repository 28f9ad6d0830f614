"""Description and social card of a page."""

from __future__ import annotations

import html
import re
import textwrap
from typing import Any

LONGEST = 160
"""Characters of a description that search engines show."""


def description(answer: str, doctree: Any) -> str:
    """Return the answer of a page and its first paragraph, in at most 160 characters.

    Parameters
    ----------
    answer : str
        Title of the chapter's answer; empty if it has none.
    doctree : docutils document
        The page.
    """
    from docutils import nodes

    paragraphs = (paragraph.astext() for paragraph in doctree.findall(nodes.paragraph))
    text = " ".join([*([f"{answer.rstrip('.')}."] if answer else []), next(paragraphs, "")])
    return textwrap.shorten(text, LONGEST, placeholder="…")


def tags(title: str, text: str, site: str, is_first: bool) -> str:
    """Return the elements of the head that describe a page to search engines and in links to it.

    Parameters
    ----------
    title : str
        Title of the page, as HTML.
    text : str
        Its description.
    site : str
        Title of the book.
    is_first : bool
        Whether it is the first page of the book.
    """
    values = {
        "og:title": html.unescape(re.sub("<[^>]*>", "", title)),
        "og:description": text,
        "og:type": "website" if is_first else "article",
        "og:site_name": site,
    }
    cards = [f'<meta property="{name}" content="{html.escape(value)}" />' for name, value in values.items() if value]
    named = [f'<meta name="description" content="{html.escape(text)}" />'] if text else []
    return "\n".join(["", *named, *cards, '<meta name="twitter:card" content="summary" />', ""])


def copied(page: str) -> str:
    """Return the title and the description of a page that is written, for a page that leads to it."""
    elements = re.findall(r'<title>[^<]*</title>|<meta (?:name="description"|property=)[^>]*>', page)
    return "\n".join(elements)
