"""What one failure log says, and how far to believe it."""

from ettr.failures.words import components, forecast, horizon_d, rate, reading, repairs, verdicts
from ettr.plan.fitted_words import answer, plan, trust

__all__ = [
    "answer",
    "components",
    "forecast",
    "horizon_d",
    "plan",
    "rate",
    "reading",
    "repairs",
    "trust",
    "verdicts",
]
