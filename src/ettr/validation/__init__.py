"""Published results beside those computed here."""

from ettr.validation.published import rsc_beside_exact, run

__all__ = ["rsc_beside_exact", "run"]
