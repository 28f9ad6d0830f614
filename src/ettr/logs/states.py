"""Words that people write for what is down and what is up, for severity, and for how a job ended."""

from __future__ import annotations

import re
from collections.abc import Iterable

_BEGINS = "start started starts begin begins began open opened raise raised firing fired onset triggered"
_ENDS = "end ended ends close closed finish finished resolve resolved clear cleared"
_DOWN = """
    down notready unready unhealthy critical crit alarm alarmed alert offline failed fail fails failure failing fault
    faulted faulty unreachable dead unavailable drain draining drained disconnected broken bad red error errored
    outofservice lost degraded unresponsive crashed inactive disabled problem abnormal suspect cordoned maint
    maintenance hung out"""
_UP = """
    up ready healthy ok okay online pass passed passing reachable alive live available idle alloc allocated mixed mix
    resume resumed connected fixed good green normal inservice running active enabled recovered recover recovery
    working operational repair repaired restore restored stop stopped nominal uncordoned in"""
WORDS = {word: 1 for words in (_BEGINS, _DOWN) for word in words.split()} | {
    word: -1 for words in (_ENDS, _UP) for word in words.split()
}
"""1 for words that say that an outage begins, or lasts; -1 for those that say that it is over."""

_EVENTS = frozenset([*_BEGINS.split(), *_ENDS.split()])
PLANNED_STATES = frozenset({"maint", "maintenance"})
_NOT = frozenset({"not", "no", "non", "un", "never"})

SEVERITIES = (
    ("debug", "trace verbose"),
    ("info", "information informational normal ok okay none low notice"),
    ("warning", "warn warnings minor medium moderate"),
    ("error", "err errors major high severe"),
    ("critical", "crit fatal emergency emerg panic alert disaster"),
)
"""Levels of severity from the lowest, each with other words for it."""
_LEVELS = {word: level for level, (name, more) in enumerate(SEVERITIES) for word in (name, *more.split())}

JOB_FAILURES = ("nodefail", "bootfail")
"""States of a job that a machine has caused."""
OTHER_JOB_FAILURES = ("failed", "failure", "fail", "error", "errored", "crashed", "aborted", "lost")
"""States of a job that failed for any reason, its own mistakes included."""
_ENDED = """
    complete completed completing succeeded success successful cancelled canceled timeout timedout preempted requeued
    pending queued deadline outofmemory oom revoked"""
_JOB_ENDS = frozenset(_ENDED.split())
_JOB_STATES = _JOB_ENDS | {*JOB_FAILURES, *OTHER_JOB_FAILURES, "running", "suspended", "killed", "stopped"}

_SIGNS = re.compile(r"[\W_]+")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_LONGEST = 200


def plain(text: str) -> str:
    """Return a word without case, spaces and signs.

    Examples
    --------
    >>> plain("NODE_FAIL"), plain("Not Ready")
    ('nodefail', 'notready')
    """
    return _SIGNS.sub("", text[:_LONGEST]).casefold()


def state_of(text: str) -> int:
    """Return 1 for a text that says that something is down, -1 for one that says that it is up, else 0.

    Parameters
    ----------
    text : str
        One word, or several, of which the last that is known decides.

    Examples
    --------
    >>> [state_of(text) for text in ("NotReady", "node is ready", "fault_start", "not reachable", "rumour")]
    [1, -1, 1, 1, 0]
    """
    value = WORDS.get(plain(text))
    if value is not None:
        return value
    words = [word.lower() for word in _WORD.findall(text[:_LONGEST])]
    if len(words) > 1:  # of a fault_start or a fault_seen only the other word says which
        words = [word if word not in ("fault", "failure") else "" for word in words]
    for i in range(len(words) - 1, -1, -1):
        if words[i] in WORDS:
            is_negated = i > 0 and words[i - 1] in _NOT and WORDS[words[i]] < 0
            return 1 if is_negated else WORDS[words[i]]
    return 0


def is_event(text: str) -> bool:
    """Whether a text speaks of a start or an end, of which each has its own, and not of a state that may be said twice.

    Examples
    --------
    >>> is_event("fault_start"), is_event("down")
    (True, False)
    """
    return plain(text) in _EVENTS or any(word.lower() in _EVENTS for word in _WORD.findall(text[:_LONGEST]))


def severity_of(text: str) -> int | None:
    """Return the place of a severity among ``SEVERITIES``; None if it is none of them.

    Examples
    --------
    >>> severity_of("WARN"), severity_of("Emergency"), severity_of("P1")
    (2, 4, None)
    """
    return _LEVELS.get(plain(text))


def job_state(text: str) -> str:
    """Return the state of a job as its first word says, without case and signs.

    Examples
    --------
    >>> job_state("CANCELLED by 1000"), job_state("Node Fail"), job_state("TIMEOUT+")
    ('cancelled', 'nodefail', 'timeout')
    """
    whole = plain(text)
    return whole if whole in _JOB_STATES else plain(text.strip().split(" ", 1)[0])


def are_job_states(states: Iterable[str]) -> bool:
    """Whether some different states, as ``job_state`` gives them, are those of jobs, one of which ended otherwise.

    Examples
    --------
    >>> are_job_states({"completed", "failed", "running"}), are_job_states({"failed", "recovered"})
    (True, False)
    """
    job_states = set(states) & _JOB_STATES
    return bool(job_states & _JOB_ENDS) and len(job_states) >= 0.8 * len(set(states))
