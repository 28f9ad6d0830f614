"""Published results, forecasts on record, and the formulas that people use, each beside what is computed here."""

from ettr.validation import forecasts as forecasts
from ettr.validation.calculators import CALCULATORS, Calculator
from ettr.validation.published import VERDICTS, rsc_beside_exact, run
from ettr.validation.referee import beside, referee

__all__ = ["CALCULATORS", "VERDICTS", "Calculator", "beside", "forecasts", "referee", "rsc_beside_exact", "run"]
