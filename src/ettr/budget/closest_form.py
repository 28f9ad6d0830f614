"""The closed form that comes closest to a scenario, to set beside a simulation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ettr.budget.changing import over_time
from ettr.budget.closed_forms import exact
from ettr.budget.simplify import simplified
from ettr.core.errors import NotModelled, OutsideValidity
from ettr.core.report import Answer, Note, Report
from ettr.core.results import TimeBudget
from ettr.scenario import Scenario
from ettr.scenario.long_run import changes

OVER_TIME = "budget.over_time"


@dataclass(frozen=True, repr=False)
class ClosedForm(Answer):
    """What a closed form says of a scenario.

    Attributes
    ----------
    formula : str
        ``budget.exact``, or ``budget.over_time`` where the failure rate changes and the form takes all the rest.
    budget : TimeBudget or None
        Expected time budget; None where the form has no answer.
    left_out : tuple of str
        What the form has no term for, a few words and the fields each.
    refusal : str
        Why it has no answer; empty if it has one.
    """

    formula: str
    budget: TimeBudget | None
    left_out: tuple[str, ...] = ()
    refusal: str = ""

    def to_dict(self) -> dict[str, Any]:
        """As plain values for JSON."""
        return {
            "formula": self.formula,
            "ettr": float(self.budget.ettr) if self.budget else None,
            "left_out": list(self.left_out),
            "refusal": self.refusal or None,
            "budget": self.budget.to_dict() if self.budget else None,
        }

    @property
    def headline(self) -> str:
        """The formula, and its ETTR."""
        return f"{self.formula}: {self.budget.headline if self.budget else 'no answer'}"

    @property
    def caveats(self) -> tuple[str, ...]:
        """What the form leaves out, or why it has no answer, a sentence each."""
        if self.budget is None:
            return (f"No closed form beside it: {self.refusal}.",)
        if self.left_out:
            return ("The closed form leaves out:", *(f"  {words}" for words in self.left_out))
        changing = ", at each moment's failure rate" if self.formula == OVER_TIME else ""
        maintenance = ", and has maintenance to first order" if self.budget.maintenance_h > 0 else ""
        return (f"The closed form ({self.formula}) leaves nothing out{changing}{maintenance}.",)

    def report(self) -> Report:
        """Its hours, and what they leave out."""
        return [*(self.budget.report() if self.budget else []), *map(Note, self.caveats)]


def closed_form(scenario: Scenario) -> ClosedForm:
    """The closed form that leaves least out of a scenario.

    Parameters
    ----------
    scenario : Scenario
        The run.

    Returns
    -------
    ClosedForm
        Of :func:`over_time` if the failure rate changes and the form takes all the rest; else of :func:`exact` for the
        scenario that :func:`simplified` leaves.

    Examples
    --------
    >>> from ettr import Scenario
    >>> answer = closed_form(Scenario.load("llama3-405b").override({"recovery.false_alarms_per_day": 1}))
    >>> answer.left_out, round(answer.budget.ettr, 3)
    (('time-outs that kill a healthy job (recovery.false_alarms_per_day)',), 0.909)
    """
    try:
        if changes(scenario):
            return ClosedForm(OVER_TIME, over_time(scenario))
    except NotModelled:
        pass  # the settled rate then
    except OutsideValidity as error:
        return ClosedForm(OVER_TIME, None, refusal=str(error))
    plain = simplified(scenario)
    try:
        return ClosedForm("budget.exact", exact(plain.scenario), plain.left_out)
    except OutsideValidity as error:
        return ClosedForm("budget.exact", None, plain.left_out, str(error))
