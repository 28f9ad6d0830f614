"""Words for nodes that are down or up, for severities, and for the states of jobs."""

from __future__ import annotations

import re
from collections.abc import Iterable

_BEGINS = "start started starts begin begins began open opened raise raised firing fired onset triggered"
_ENDS = "end ended ends close closed finish finished resolve resolved clear cleared deasserted"
_DOWN = """
    down notready unready unhealthy critical crit alarm alarmed alert offline failed fail fails failure failing fault
    faulted faulty unreachable dead unavailable drain draining drained disconnected broken bad red error errored
    outofservice lost degraded unresponsive crashed inactive disabled problem abnormal suspect cordoned maint
    maintenance hung out asserted alerting"""
_UP = """
    up ready healthy ok okay online pass passed passing reachable alive live available idle alloc allocated mixed mix
    resume resumed connected fixed good green normal inservice running active enabled recovered recover recovery
    working operational repair repaired restore restored stop stopped nominal uncordoned in"""
WORDS = {word: 1 for words in (_BEGINS, _DOWN) for word in words.split()} | {
    word: -1 for words in (_ENDS, _UP) for word in words.split()
}
"""1 for words for the start of an outage or for down; -1 for words for its end or for up."""

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
"""Severities from the lowest to the highest, each with its synonyms."""
_LEVELS = {word: level for level, (name, synonyms) in enumerate(SEVERITIES) for word in (name, *synonyms.split())}

JOB_FAILURES = ("nodefail", "bootfail")
"""States of a job that a machine ended."""
OTHER_JOB_FAILURES = ("failed", "failure", "fail", "error", "errored", "crashed", "aborted", "lost")
"""States of a job that failed for any reason, including its own errors."""
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
    """Return 1 for a text that means down, -1 for one that means up, else 0.

    Parameters
    ----------
    text : str
        One or several words, of which the last known one decides.

    Examples
    --------
    >>> [state_of(text) for text in ("NotReady", "node is ready", "fault_start", "not reachable", "rumour")]
    [1, -1, 1, 1, 0]
    """
    value = WORDS.get(plain(text))
    if value is not None:
        return value
    words = [word.lower() for word in _WORD.findall(text[:_LONGEST])]
    if len(words) > 1:  # in fault_start or fault_seen the other word decides
        words = [word if word not in ("fault", "failure") else "" for word in words]
    for i in range(len(words) - 1, -1, -1):
        if words[i] in WORDS:
            is_negated = i > 0 and words[i - 1] in _NOT and WORDS[words[i]] < 0
            return 1 if is_negated else WORDS[words[i]]
    return 0


def is_event(text: str) -> bool:
    """Return whether a text is an event (the start or the end of an outage) rather than a state that may be repeated.

    Examples
    --------
    >>> is_event("fault_start"), is_event("down")
    (True, False)
    """
    return plain(text) in _EVENTS or any(word.lower() in _EVENTS for word in _WORD.findall(text[:_LONGEST]))


def severity_of(text: str) -> int | None:
    """Return the index of a severity in ``SEVERITIES``; None if the text is not a severity.

    Examples
    --------
    >>> severity_of("WARN"), severity_of("Emergency"), severity_of("P1")
    (2, 4, None)
    """
    return _LEVELS.get(plain(text))


def job_state(text: str) -> str:
    """Return the state of a job, without case and signs: the whole text or its first word.

    Examples
    --------
    >>> job_state("CANCELLED by 1000"), job_state("Node Fail"), job_state("TIMEOUT+")
    ('cancelled', 'nodefail', 'timeout')
    """
    state = plain(text)
    return state if state in _JOB_STATES else plain(text.strip().split(" ", 1)[0])


def are_job_states(states: Iterable[str]) -> bool:
    """Return whether states from ``job_state`` are states of jobs, with at least one that is not a failure.

    Examples
    --------
    >>> are_job_states({"completed", "failed", "running"}), are_job_states({"failed", "recovered"})
    (True, False)
    """
    job_states = set(states) & _JOB_STATES
    return bool(job_states & _JOB_ENDS) and len(job_states) >= 0.8 * len(set(states))
