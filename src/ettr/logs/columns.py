"""Roles of the columns of a table: by the words that people use, or as the user names them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ettr.core.errors import InputError
from ettr.files.tables import columns_found, listed_names, plain_name, refuse_twice, same_name
from ettr.logs.durations import without_unit

Columns = dict[str, tuple[str, ...]]
"""Our name to the file's; several where their texts together are the name of a node."""

ROLES = ("start", "end", "duration", "node", "component", "cause", "planned")
"""What a column of a failure log can be; any other is a cohort to split by."""

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
"""Words for each role without case, spaces and signs; the first that a table has is taken."""


def find_columns(present: Sequence[str], mapping: Mapping[str, str], place: str) -> Columns:
    """Find what each column is.

    Parameters
    ----------
    present : sequence of str
        Columns that the file has.
    mapping : mapping of str to str
        Our name to the file's, or to several joined by ``+``, as the user gives it; names that are no role are cohorts.
    place : str
        The file, for messages.

    Returns
    -------
    dict of str to tuple of str
        Our name to the file's, ``start`` always among them.

    Raises
    ------
    InputError
        A mapped column that the file does not have, a name that it has twice, or no column that can be the start.

    Examples
    --------
    >>> find_columns(["Opened At", "rack", "slot", "GPU error"], {"cause": "GPU error", "node": "rack+slot"}, "a.csv")
    {'start': ('Opened At',), 'node': ('rack', 'slot'), 'cause': ('GPU error',)}
    """
    chosen: Columns = {}
    for ours, theirs in mapping.items():
        parts = [theirs] if same_name(theirs, present) else theirs.split("+")
        found = [same_name(part.strip(), present) for part in parts]
        if not all(found):
            raise InputError(f"--map {ours}={theirs}: {place} has no column {theirs!r}. {columns_found(present)}")
        chosen[ours] = tuple(filter(None, found))
    for role, words in WORDS.items():
        taken = {name for names in chosen.values() for name in names}
        free = {_name_of(role, name): name for name in reversed(present) if name not in taken}
        word = next((word for word in words if word in free), None)
        if role not in chosen and word:
            chosen[role] = (free[word],)
    if "start" not in chosen:
        raise InputError(
            f"{place} must say when failures began. {columns_found(present)} Name the columns, e.g. "
            "--map start=opened_at --map node=host"
            + (", or skip the lines before the header: tail -n +4 FILE | ettr fit -" if len(present) == 1 else "")
        )
    refuse_twice((name for names in chosen.values() for name in names), present, place)
    return {name: chosen[name] for name in (*ROLES, *chosen) if name in chosen}


def _name_of(role: str, name: str) -> str:
    return plain_name(without_unit(name) if role == "duration" else name)


def origins(what: str, columns: Columns, present: Sequence[str], more: Sequence[str] = ()) -> str:
    """A note of which columns are read as what, and which beside ``more`` are not."""
    taken = {name for names in columns.values() for name in names}
    unread = [name for name in present if name not in (*taken, *more)]
    read = ", ".join(f"{ours} from {'+'.join(theirs)!r}" for ours, theirs in columns.items())
    return f"{what} read: {read}{f'; not read: {listed_names(unread)}' if unread else ''}"


def is_start(name: str) -> bool:
    """Whether a column's name speaks of the start of a failure."""
    return plain_name(name) in WORDS["start"]
