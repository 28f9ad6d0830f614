"""Published results beside those computed here."""

from ettr.validation.published import VERDICTS, rsc_beside_exact, run

__all__ = ["VERDICTS", "rsc_beside_exact", "run"]
