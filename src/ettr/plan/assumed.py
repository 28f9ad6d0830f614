"""Which values of a scenario no source gives, and what is said where a plan has no answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ettr.core.sentences import duration, listed
from ettr.scenario import Scenario
from ettr.scenario.fields import name_of

if TYPE_CHECKING:
    from ettr.plan.answer import Plan


def no_answer(plan: Plan) -> str:
    """Why a plan has no time budget for the scenario's own interval."""
    own = duration(plan.scenario.interval_h)
    return f"for the scenario's own interval of {own} there is no answer, since {plan.no_budget_as_given}."


def assumed_fields(scenario: Scenario) -> list[str]:
    """Paths of the values that rest on an assumption."""
    table = scenario.to_frame()
    return [str(field) for field in table.loc[table["status"] == "assumed", "field"]]


def assumptions(scenario: Scenario) -> str:
    """Which values of a scenario no source gives, as a sentence."""
    words = list(dict.fromkeys(name_of(field, Scenario) for field in assumed_fields(scenario)))
    return f"Assumed, because no source gives them: {listed(words)}." if words else ""


def steady_state(run: Scenario) -> Scenario:
    """The steady state of a run, maintenance aside."""
    return run.override({"job.include_start": False, "maintenance": None})
