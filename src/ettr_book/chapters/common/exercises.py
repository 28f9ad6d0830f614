"""Exercises with folded answers, which the inputs of a page can check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote

from ettr.core.sentences import Finding


@dataclass(frozen=True)
class Exercise:
    """A question with its answer.

    Attributes
    ----------
    question, answer : str
        In Markdown.
    values : mapping
        Values by path that the inputs of the page take to check the answer; none where they cannot.
    page : str
        The address of the page with these inputs; empty for the one that asks.
    """

    question: str
    answer: str
    values: Mapping[str, float | str] = field(default_factory=dict)
    page: str = ""

    @property
    def link(self) -> str:
        """A link that sets the values."""
        if not self.values:
            return ""
        values = "&".join(f"{quote(path)}={quote(str(value))}" for path, value in self.values.items())
        where = "there" if self.page else "on this page"
        return f' <a class="ettr-check" href="{self.page}#{values}">Set it {where}</a>'


def exercises(*asked: Exercise) -> Finding:
    """The exercises of a page, numbered, with their answers folded."""
    return Finding(
        "Exercises",
        "\n\n".join(
            f"**{number}.** {one.question}\n\n:::{{dropdown}} Answer\n{one.answer}{one.link}\n:::"
            for number, one in enumerate(asked, 1)
        ),
    )
