"""Commands that answer, in words or as JSON, and commands that refuse."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from generated import is_answer
from notebooks import local_cluster

NOT_FOR_READERS = re.compile(r"\b(nan|inf|None)\b|…")


@pytest.fixture
def in_words(ettr):
    """Run a command that answers, and return what it says."""

    def run(*arguments: str) -> str:
        status, out, err = ettr(*arguments)
        assert is_answer(" ".join(arguments), status, err), err
        assert not NOT_FOR_READERS.search(out)
        return out

    return run


@pytest.fixture
def as_json(ettr):
    """Run a command that answers, and return its answer for machines."""

    def run(*arguments: str) -> Any:
        status, out, err = ettr(*arguments, "--json")
        assert is_answer(" ".join(arguments), status, err), err
        answer = json.loads(out, parse_constant=pytest.fail)
        assert re.fullmatch(rf"ettr/{arguments[0].rstrip('s')}[a-z-]*/1", answer.pop("schema"))
        return answer[arguments[0]] if list(answer) == [arguments[0]] else answer  # the entries of a list

    return run


@pytest.fixture
def refused(ettr):
    """Run a command that is refused, and return its message of one line, warnings before it aside."""

    def run(*arguments: str) -> str:
        status, out, err = ettr(*arguments)
        assert (status, out) == (2, "")
        err = re.sub(r"^ettr: warning: .*\n", "", err, flags=re.MULTILINE)
        assert err.startswith("ettr: ") and err.endswith("\n") and err.count("\n") == 1
        return err[len("ettr: ") : -1]

    return run


@pytest.fixture(scope="session")
def cluster():
    with local_cluster() as address:
        yield address
