"""Xids in logs of any format: which are no failures, and which NVIDIA's catalogue does not explain."""

from __future__ import annotations

import re
from collections import Counter

from ettr.core.sentences import listed
from ettr.evidence.xid_codes import Xid, XidKind, xid
from ettr.files.ledger import Ledger

_XID_IN_TEXT = re.compile(r"\bXid\b(?: error| code|[ :#=-]| \([^)]{0,80}\):?){0,3}? ?([0-9]{1,4})\b", re.IGNORECASE)
_CODE = re.compile(r"(?:Xid[ :#=-]{0,2})?([0-9]{1,4})(?:\.0)?", re.IGNORECASE)
NO_ERROR = "no GPU error in the line"


def why_no_failure(text: str, *, is_code: bool = False) -> str:
    """Return why a text of a tracker or an exported log is no failure of the hardware; empty if it may be one.

    Parameters
    ----------
    text : str
        A line of the kernel log, or any text with an Xid; the code itself if ``is_code``.
    is_code : bool
        Whether the text is an Xid without more.

    Examples
    --------
    >>> why_no_failure("Xid 31 on gpu 3"), why_no_failure("79", is_code=True), why_no_failure("fan failed")
    ('Xid 31: usually the application', '', '')
    """
    code = _CODE.fullmatch(text.strip()) if is_code else _XID_IN_TEXT.search(text)
    if code is None:
        return NO_ERROR if "NVRM:" in text and "fallen off" not in text and "Xid" not in text else ""
    meaning = xid(int(code[1]))
    return "" if meaning.kind is XidKind.UNKNOWN else meaning.why_not  # somebody recorded it as a failure


class UnknownXids(Counter[int]):
    """Messages by Xid, of those that NVIDIA's catalogue does not explain, to name them in a caution."""

    def count(self, meaning: Xid) -> None:
        """Count a message if its Xid is of unknown kind."""
        self[meaning.code] += meaning.kind is XidKind.UNKNOWN

    def doubt(self, ledger: Ledger) -> None:
        """Add the caution, if there are such Xids."""
        if self.total():
            unknown = [f"{code} ({n:,} message{'' if n == 1 else 's'})" for code, n in sorted(self.items()) if n]
            ledger.doubt(
                f"Xid {listed(unknown)} not counted, because NVIDIA's catalogue does not say whether it stops a job: "
                "look it up; if it does, the rate is too low"
            )
