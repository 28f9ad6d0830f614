"""Exercises with folded answers that the page's inputs can check."""

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
        Input values by path with which a reader can check the answer; empty if the page cannot check it.
    page : str
        Address of the page with these inputs; empty for the page of the exercise itself.
    """

    question: str
    answer: str
    values: Mapping[str, float | str] = field(default_factory=dict)
    page: str = ""

    @property
    def link(self) -> str:
        """Link that sets the input values of the exercise; empty if it has none."""
        if not self.values:
            return ""
        values = "&".join(f"{quote(path)}={quote(str(value))}" for path, value in self.values.items())
        where = "there" if self.page else "on this page"
        return f' <a class="ettr-check" href="{self.page}#{values}">Set it {where}</a>'


def numbered_exercises(*exercises: Exercise) -> Finding:
    """Return the exercises of a page, numbered, with folded answers."""
    return Finding(
        "Exercises",
        "\n\n".join(
            f"**{number}.** {exercise.question}\n\n:::{{dropdown}} Answer\n{exercise.answer}{exercise.link}\n:::"
            for number, exercise in enumerate(exercises, 1)
        ),
    )
