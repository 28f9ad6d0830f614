"""Published results, forecasts on record, and formulas in use, compared with the values computed here."""

from ettr_book.validation import forecasts as forecasts
from ettr_book.validation.calculators import CALCULATORS, Calculator
from ettr_book.validation.comparing import beside, referee
from ettr_book.validation.published import VERDICTS, run

__all__ = ["CALCULATORS", "VERDICTS", "Calculator", "beside", "referee", "run"]
