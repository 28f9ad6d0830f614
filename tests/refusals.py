"""With which words a call is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ettr.core.errors import InputError


def refusal(call: Callable, *arguments: Any, **options: Any) -> str:
    """The message of the error that a call raises on bad input."""
    with pytest.raises(InputError) as caught:
        call(*arguments, **options)
    return str(caught.value)
