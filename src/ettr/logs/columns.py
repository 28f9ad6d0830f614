"""Roles of the columns of a failure log, from common names or from the user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ettr.core.errors import InputError
from ettr.files.columns import Columns, find_roles
from ettr.files.durations import without_unit
from ettr.files.tables import columns_found, plain_name

ROLES = ("start", "end", "duration", "node", "component", "cause", "planned")
"""Roles of columns in a failure log; any other column is a cohort."""

_WORDS = {
    "start": """
        start starttime startedat started startat startsat startdate startts begin began begintime begintimestamp opened
        openedat opentime failedat failuretime failtime faulttime downat downsince down occurredat occurred
        occurrencetime eventtime incidentstart detectedat detected firstseen createdat created timestamp datetime time
        date ts when lasttimestamp firsttimestamp""",
    "end": """
        end endtime endsat endedat ended endat enddate endts finish finished finishedat finishtime resolved resolvedat
        resolvetime closed closedat closetime repaired repairedat repairtime recovered recoveredat restored restoredat
        fixedat returnedat upat stop stopped stoptime clearedat cleared incidentend backat lastseen""",
    "duration": "duration downtime lasted outageduration repairduration timetorepair ttr",
    "node": """
        node nodeid nodename hostname host hostid hostip server serverid servername machine machineid machinename
        instance instanceid nodes""",
    "component": """
        component componenttype part subsystem device faultclass failureclass errorclass category class hardware
        service""",
    "cause": """
        cause rootcause reason failurereason description desc faulttype failuretype errortype error errormessage failure
        fault symptom kind type alertname message msg event eventtype details detail""",
    "planned": "planned isplanned scheduled maintenance ismaintenance",
}
WORDS = {role: tuple(words.split()) for role, words in _WORDS.items()}
"""Column names for each role, without case, spaces and signs, in order of preference."""


def find_columns(present: Sequence[str], mapping: Mapping[str, str], place: str) -> Columns:
    """Find the role of each column.

    Parameters
    ----------
    present : sequence of str
        Columns that the file has.
    mapping : mapping of str to str
        Role to column name, or to several names joined by ``+``, given by the user; other keys than roles are cohorts.
    place : str
        Name of the file, for messages.

    Returns
    -------
    dict of str to tuple of str
        Role to column names, always with ``start``.

    Raises
    ------
    InputError
        A mapped column is missing, a name occurs twice, or no column can be the start.

    Examples
    --------
    >>> find_columns(["Opened At", "rack", "slot", "GPU error"], {"cause": "GPU error", "node": "rack+slot"}, "a.csv")
    {'start': ('Opened At',), 'node': ('rack', 'slot'), 'cause': ('GPU error',)}
    """
    chosen = find_roles(present, WORDS, mapping, place, _name_of)
    if "start" not in chosen:
        raise InputError(
            f"{place} must have a column with the start of failures. {columns_found(present)} Name the columns, e.g. "
            '`columns={"start": "opened_at", "node": "host"}`'
            + (", or skip the lines before the header: tail -n +4 FILE | ettr fit -" if len(present) == 1 else "")
            + '. If the first line is a row, name the columns in order, e.g. `header=["start", "node"]`'
        )
    return {name: chosen[name] for name in (*ROLES, *chosen) if name in chosen}


def _name_of(role: str, name: str) -> str:
    """A column name in the form of ``WORDS``, for durations without its unit."""
    return plain_name(without_unit(name) if role == "duration" else name)


def is_start(name: str) -> bool:
    """Return whether a column's name means the start of a failure."""
    return plain_name(name) in WORDS["start"]
