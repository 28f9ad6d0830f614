"""Published results beside those computed here, and forecasts on record."""

from ettr.validation import forecasts as forecasts
from ettr.validation.published import VERDICTS, rsc_beside_exact, run

__all__ = ["VERDICTS", "rsc_beside_exact", "run"]
