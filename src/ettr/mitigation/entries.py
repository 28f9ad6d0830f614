"""What stands in a catalogue: mitigations, what they change in a scenario, what they cost, and what was published."""

from __future__ import annotations

import typing
from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from ettr.scenario import Scenario
from ettr.scenario.basics import PLAIN_TEXT, Number, Origin, Section, Text
from ettr.scenario.paths import field_at, list_of

Id = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,63}$")]
Place = Annotated[str, Field(pattern=PLAIN_TEXT.replace("[\\w .", "[\\w .*"), max_length=200)]
Places = Annotated[tuple[Text, ...], BeforeValidator(lambda given: (given,) if isinstance(given, str) else given)]
Words = Annotated[str, Field(min_length=1, max_length=600)]
Operation = Literal["set", "scale", "add", "cap", "floor"]
Quantity = Literal["nodes", "replicas", "observed_gpus", "stall_s", "rated_w", "pool"]
Group = Literal["failures", "detection", "restart", "checkpoint", "nodes", "speed", "heat and power"]
Verdict = Literal["reproduced", "consistent", "not derivable"]

ALL_ITEMS = "*"
"""Stands for every item of a list in a path."""
_STATUSES = ("primary", "derived", "secondary", "assumed")
PUBLISHED, PARTLY, ASSUMED = "published", "published in part", "assumed"
"""How much of the size of an effect has a source: all of it, a part, or nothing."""
_FREE = {"status": "assumed", "note": "no figure was found: taken as free"}


class Change(Origin):
    """One field of a scenario, and what becomes of it."""

    path: Place = Field(description="dotted path; * in place of a mode's name stands for all modes")
    op: Operation = Field(
        "set",
        description="set to the value, scale by it, add it (an item, to a list), cap at it, or take it as a floor",
    )
    value: Any = Field(description="a number, a name, or a section with its fields")
    of: Quantity | None = Field(
        None,
        description="multiplies the value: nodes of the job, its replicas, GPUs on which it was observed, seconds of "
        "its stall, rated watts of its GPU; with pool: as many spares as are enough for this share of the time",
    )
    when: Text | None = Field(None, description="only where the scenario has this section")
    unless: Places = Field((), description="only where the scenario has none of these sections, nor a value above zero")

    @field_validator("path")
    @classmethod
    def _names_a_field(cls, path: str) -> str:
        field_at(path, Scenario)
        return path

    @field_validator("when", "unless")
    @classmethod
    def _names_a_section(cls, given: str | tuple[str, ...] | None) -> str | tuple[str, ...] | None:
        for path in (given,) if isinstance(given, str) else given or ():
            field_at(path, Scenario)
        return given

    @model_validator(mode="after")
    def _numbers_where_they_are_needed(self) -> Change:
        number = isinstance(self.value, (int, float)) and not isinstance(self.value, bool)
        item = self.op == "add" and list_of(self.path) == self.path
        if item != (self.op == "add" and isinstance(self.value, dict)):
            raise ValueError(f"add takes an item with its fields for a list and a number for a field: {self.path}")
        if (self.op not in ("set", "add") or self.of or (self.op == "add" and not item)) and not number:
            raise ValueError(f"{self.op} takes a number, got {self.value!r} for {self.path}")
        if self.op != "set" and not item and not any(kind in (int, float) for kind in kinds_of(self.path)):
            raise ValueError(f"{self.op} needs a field that holds a number, which {self.path} does not")
        if self.op == "scale" and self.value < 0:
            raise ValueError(f"scale must be >= 0, got {self.value:g} for {self.path}")
        return self


def kinds_of(path: str) -> list[Any]:
    """What the annotation of a field is made of, such as ``Count | None`` of both."""
    kinds = [field_at(path, Scenario).annotation]
    for kind in kinds:  # grows as it goes
        kinds += typing.get_args(kind)
    return kinds


class Price(Origin):
    """What a mitigation costs beside the GPUs that it holds and the throughput that it takes."""

    usd: Number = Field(0.0, ge=0, description="once, whatever the size of the job")
    usd_per_gpu: Number = Field(0.0, ge=0, description="once, for each GPU of the job")

    def of(self, n_gpus: int) -> float:
        """For a job of so many GPUs. [USD]"""
        return self.usd + self.usd_per_gpu * n_gpus


class Published(Origin):
    """A published figure, without and with the mitigation."""

    quantity: Words = Field(description="what was measured, where")
    before: Number | None = Field(None, description="without it; empty if only a ratio or the result is known")
    after: Number = Field(description="with it")
    unit: Text = Field(description="unit of both; 1 for shares and ratios")
    verdict: Verdict = Field("not derivable", description="whether the model gives it from inputs that are stated")
    why: Words = Field(description="what is stated, or what is missing to derive it")
    rows: tuple[Text, ...] = Field((), description="results of the table of validation that compute it")

    @model_validator(mode="after")
    def _a_verdict_with_its_rows(self) -> Published:
        if (self.verdict == "not derivable") == bool(self.rows):
            goes = "without" if self.rows else "with"
            raise ValueError(f"{self.verdict} goes {goes} rows of validation: {self.quantity}")
        if self.source is None:
            raise ValueError(f"needs its source: {self.quantity}")
        return self


class Mitigation(Section):
    """One thing to do about failures."""

    id: Id = Field(description="short name: a-z, 0-9, dash")
    title: Text = Field(description="the name that papers and vendors use")
    aliases: tuple[Text, ...] = Field((), description="other common names, for searching")
    group: Group = Field(description="what it acts on")
    mechanism: Words = Field(description="how it works, in a sentence")
    asked_by: tuple[Text, ...] = Field((), description="source documents that ask for it, by bibliography key")
    changes: tuple[Change, ...] = Field((), description="to a scenario that has it not yet")
    before: tuple[Change, ...] = Field((), description="to a scenario that has it, to take it away")
    price: Price = Field(default_factory=lambda: Price.model_validate(_FREE))
    published: tuple[Published, ...] = ()
    conflicts: dict[Id, Words] = Field(default_factory=dict, description="mitigation to why both do not go together")
    unmodelled: Words | None = Field(None, description="why there are no changes")
    straw_man: Words | None = Field(None, description="why what it is before is no fair comparison")

    @model_validator(mode="after")
    def _changes_or_a_reason(self) -> Mitigation:
        if bool(self.changes) == bool(self.unmodelled):
            raise ValueError(f"{self.id} needs changes, or unmodelled: why there are none; and not both")
        if self.straw_man and not self.before:
            raise ValueError(f"{self.id} needs before, of which straw_man speaks")
        return self

    @property
    def acts_on(self) -> frozenset[str]:
        """Paths of the fields that it changes, or that are changed to take it away."""
        return frozenset(change.path for change in (*self.changes, *self.before))

    @property
    def has_evidence(self) -> bool:
        """Whether anything was published about what it does."""
        return bool(self.published)


def effect_basis(changes: Iterable[Change]) -> str:
    """Return how much of the size of an effect has a source.

    Every table, chart and report that labels a mitigation takes the label from here. It depends on the catalogue alone,
    not on the scenario, so that a mitigation has the same label on every screen.

    Parameters
    ----------
    changes : iterable of Change
        What makes up the effect: ``changes`` of a mitigation, or ``before`` of one already in place.

    Returns
    -------
    str
        ``published``, ``published in part`` or ``assumed``; empty without any change.

    Examples
    --------
    >>> from ettr import mitigation
    >>> mitigation.effect_basis(mitigation.catalogue()["replica-recovery"].changes)
    'published in part'
    """
    assumed = [change.status == "assumed" for change in changes]
    if not any(assumed):
        return PUBLISHED if assumed else ""
    return ASSUMED if all(assumed) else PARTLY


def weakest_status(changes: Iterable[Change]) -> str:
    """How well the least known of several changes is known; empty without any."""
    statuses = {change.status for change in changes}
    return next((status for status in reversed(_STATUSES) if status in statuses), "")


class Assumption(Change):
    """What a scenario that says nothing of it is taken to have, so that mitigations have something to act on."""

    op: Literal["set"] = "set"
