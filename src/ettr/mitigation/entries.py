"""Entries of a catalogue: mitigations with their changes, prices and published evidence."""

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
Places = Annotated[tuple[Text, ...], BeforeValidator(lambda value: (value,) if isinstance(value, str) else value)]
Words = Annotated[str, Field(min_length=1, max_length=600)]
Operation = Literal["set", "scale", "add", "cap", "floor"]
Quantity = Literal["nodes", "replicas", "observed_gpus", "stall_s", "rated_w", "pool"]
Group = Literal["failures", "detection", "restart", "checkpoint", "nodes", "speed", "heat and power"]
Verdict = Literal["reproduced", "consistent", "not derivable"]

ALL_ITEMS = "*"
"""Refers to every item of a list in a path."""
_STATUSES = ("primary", "derived", "secondary", "assumed")
PUBLISHED, PARTLY, ASSUMED = "published", "published in part", "assumed"
"""Evidence for the size of an effect: published, partly published or assumed."""
_FREE = {"status": "assumed", "note": "no figure found: assumed to be free"}


class Change(Origin):
    """A change to one field of a scenario."""

    path: Place = Field(description="dotted path; * instead of a mode's name refers to all modes")
    op: Operation = Field(
        "set",
        description="set the value, scale by it, add it (an item, to a list), cap at it, or raise to it as a floor",
    )
    value: Any = Field(description="a number, a name, or a section with its fields")
    of: Quantity | None = Field(
        None,
        description="multiplies the value: nodes of the job, replicas, GPUs of the observed job, stall in seconds, "
        "rated power of the GPU in watts; pool: number of spares that is sufficient for this share of the time",
    )
    when: Text | None = Field(None, description="only if the scenario has this section")
    unless: Places = Field((), description="only if the scenario has none of these sections, nor a value above zero")

    @field_validator("path")
    @classmethod
    def _names_a_field(cls, path: str) -> str:
        field_at(path, Scenario)
        return path

    @field_validator("when", "unless")
    @classmethod
    def _names_a_section(cls, paths: str | tuple[str, ...] | None) -> str | tuple[str, ...] | None:
        for path in (paths,) if isinstance(paths, str) else paths or ():
            field_at(path, Scenario)
        return paths

    @model_validator(mode="after")
    def _numbers_where_they_are_needed(self) -> Change:
        number = isinstance(self.value, (int, float)) and not isinstance(self.value, bool)
        item = self.op == "add" and list_of(self.path) == self.path
        if item != (self.op == "add" and isinstance(self.value, dict)):
            raise ValueError(f"add takes an item with its fields for a list and a number for a field: {self.path}")
        if (self.op not in ("set", "add") or self.of or (self.op == "add" and not item)) and not number:
            raise ValueError(f"{self.op} takes a number, got {self.value!r} for {self.path}")
        if self.op != "set" and not item and not any(kind in (int, float) for kind in kinds_of(self.path)):
            raise ValueError(f"{self.op} needs a number field, which {self.path} is not")
        if self.op == "scale" and self.value < 0:
            raise ValueError(f"scale must be >= 0, got {self.value:g} for {self.path}")
        return self


def kinds_of(path: str) -> list[Any]:
    """Return the types in the annotation of a field; ``Count | None`` contains both."""
    kinds = [field_at(path, Scenario).annotation]
    for kind in kinds:  # grows as it goes
        kinds += typing.get_args(kind)
    return kinds


class Price(Origin):
    """Price of a mitigation, without the GPUs that it occupies and the throughput that it costs."""

    usd: Number = Field(0.0, ge=0, description="one-time price at any job size")
    usd_per_gpu: Number = Field(0.0, ge=0, description="one-time price per GPU of the job")

    def of(self, n_gpus: int) -> float:
        """Return the price for a job of this size. [USD]"""
        return self.usd + self.usd_per_gpu * n_gpus


class Published(Origin):
    """A published figure, with and without the mitigation."""

    quantity: Words = Field(description="measured quantity and its setting")
    before: Number | None = Field(
        None, description="value without it; empty if only a ratio or the result was published"
    )
    after: Number = Field(description="value with it")
    unit: Text = Field(description="unit of both; 1 for shares and ratios")
    verdict: Verdict = Field("not derivable", description="whether the model reproduces it from stated inputs")
    why: Words = Field(description="reason for the verdict, such as a missing input")
    rows: tuple[Text, ...] = Field((), description="results in the validation table that compute it")

    @model_validator(mode="after")
    def _a_verdict_with_its_rows(self) -> Published:
        if (self.verdict == "not derivable") == bool(self.rows):
            rule = "must have no" if self.rows else "needs"
            raise ValueError(f"{self.verdict} {rule} rows of validation: {self.quantity}")
        if self.source is None:
            raise ValueError(f"needs a source: {self.quantity}")
        return self


class Mitigation(Section):
    """A mitigation of failures."""

    id: Id = Field(description="short name: a-z, 0-9, dash")
    title: Text = Field(description="the name that papers and vendors use")
    aliases: tuple[Text, ...] = Field((), description="other common names, for searching")
    group: Group = Field(description="area that it acts on")
    mechanism: Words = Field(description="how it works, in one sentence")
    asked_by: tuple[Text, ...] = Field((), description="source documents that request it, by bibliography key")
    changes: tuple[Change, ...] = Field((), description="changes to a scenario without it")
    before: tuple[Change, ...] = Field((), description="changes that remove it from a scenario that has it")
    price: Price = Field(default_factory=lambda: Price.model_validate(_FREE))
    published: tuple[Published, ...] = ()
    conflicts: dict[Id, Words] = Field(default_factory=dict, description="id of a conflicting mitigation to the reason")
    unmodelled: Words | None = Field(None, description="reason for having no changes")
    straw_man: Words | None = Field(None, description="why the comparison is against outdated practice")

    @model_validator(mode="after")
    def _changes_or_a_reason(self) -> Mitigation:
        if bool(self.changes) == bool(self.unmodelled):
            raise ValueError("needs either changes or unmodelled, the reason for having none")
        if self.straw_man and not self.before:
            raise ValueError("needs before, because straw_man describes it")
        return self

    @property
    def acts_on(self) -> frozenset[str]:
        """Paths of the fields in its changes."""
        return frozenset(change.path for change in (*self.changes, *self.before))

    @property
    def has_evidence(self) -> bool:
        """True if anything was published about its effect."""
        return bool(self.published)


def effect_basis(changes: Iterable[Change]) -> str:
    """Return the evidence for the size of an effect: published, partly published or assumed.

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
    """Return the weakest status among several changes; empty without any.

    Examples
    --------
    >>> from ettr import mitigation
    >>> mitigation.weakest_status(mitigation.catalogue()["replica-recovery"].changes)
    'assumed'
    """
    statuses = {change.status for change in changes}
    return next((status for status in reversed(_STATUSES) if status in statuses), "")


class Assumption(Change):
    """An assumed value for a field that a scenario leaves out, so that mitigations have something to act on."""

    op: Literal["set"] = "set"
