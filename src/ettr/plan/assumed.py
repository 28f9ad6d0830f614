"""Which values of a scenario no source gives, and what is said where a plan has no answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ettr.core.sentences import capital, duration, gpus, listed
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
    return [row["field"] for row in scenario.in_force() if row["status"] == "assumed"]


def assumptions(scenario: Scenario) -> str:
    """Which values of a scenario no source gives, as a sentence."""
    words = list(dict.fromkeys(name_of(field, Scenario) for field in assumed_fields(scenario)))
    return f"Assumed, because no source gives them: {listed(words)}." if words else ""


def fitted_words(scenario: Scenario) -> str:
    """Which values were chosen so that the ETTR agrees with what was published; empty if none was."""
    names = [name_of(path, Scenario) for path, origin in scenario.evidence.items() if origin.fitted]
    if not names:
        return ""
    verb, known = ("was" if len(names) == 1 else "were"), scenario.measured
    chosen = f"{capital(listed(names))} {verb} chosen to agree with what was published"
    if known is None:  # another run by now
        return f"{chosen}."
    if known.n_gpus not in (None, scenario.cluster.n_gpus):
        return f"{chosen} of {gpus(known.n_gpus or 0)}."
    return f"{chosen}: this is a fit, no forecast."


def steady_state(run: Scenario) -> Scenario:
    """The steady state of a run, maintenance aside."""
    return run.override({"job.include_start": False, "maintenance": None})
