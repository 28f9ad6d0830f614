"""Rules for the files of ``data/``; each violation is one line with its place."""

from __future__ import annotations

import copy
import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ettr.core import durable, extras
from ettr.core.errors import DataError, InputError
from ettr.core.units import OF_ENDING, ending_of
from ettr.core.yaml_files import load
from ettr.evidence.package import (
    DATA,
    KINDS,
    REMEDY,
    STATUSES,
    UNLISTED,
    changed,
    content_of,
    file_hash,
    package,
    unlisted,
)
from ettr.evidence.sources import entries

_SYMBOLS = {
    "days": "d",
    "1/day": "1/d",
    "failures per 1,000 node-days": "1/(1000 node-days)",
    "nodes per 1,000 node-days": "1/(1000 node-days)",
}
"""Units as data packages write them, by the units of sentences."""

PLAIN_UNITS = ("1", "count", "row")
"""Units of a number whose name has no unit suffix: a fraction, a count, or the unit column of its row."""

_SHOWN = 5
_NEEDS_SCHEMA = "is not listed in datapackage.json; add it as a resource with its schema"

_DESCRIBED = {
    "scenarios": ("Preset {name}", "A scenario with the status and source of every number."),
    "gpus": (
        "GPU {name}: power, clock, leakage, limits and cooling",
        "Limits, phase levels, clock, leakage and cooling, each figure with its origin.",
    ),
}
"""Title and description of a preset file that ``stamp`` adds, by its kind."""


def validate(folder: Path = DATA) -> None:
    """Check everything in ``data/`` against its schemas, sources and hashes.

    Parameters
    ----------
    folder : Path, optional
        Another folder of the same layout.

    Raises
    ------
    DataError
        One message that lists every problem with file, row, field and rule.
    """
    _refuse([*_contents(folder, package(folder)), *_hashes(folder)])


def stamp(folder: Path = DATA) -> list[str]:
    """Validate the contents of ``data/``, then write the current hashes into ``datapackage.json``.

    A new file of ``scenarios/`` or ``gpus/`` is listed among those of its folder. Other new files are refused, as they
    need a schema, and so are files that are listed and missing.

    Parameters
    ----------
    folder : Path, optional
        Another folder of the same layout.

    Returns
    -------
    list of str
        The files whose hash is new.

    Raises
    ------
    DataError
        If the contents break a rule, or ``datapackage.json`` cannot be written; it then stays unchanged.
    """
    described = _with_new_files(folder)
    _refuse(list(_contents(folder, described)))
    renewed = []
    for resource in described["resources"]:
        digest = file_hash((folder / resource["path"]).read_bytes())
        if resource.get("hash") != digest:
            renewed.append(resource["path"])
            resource["hash"] = digest
    if renewed:
        text = json.dumps(described, indent=2, ensure_ascii=False) + "\n"
        path = folder / "datapackage.json"
        try:
            durable.write(path, text)
        except OSError as error:
            raise DataError(f"cannot write {path}: {error.strerror or error}") from error
    return renewed


def _with_new_files(folder: Path) -> dict[str, Any]:
    """Return a copy of ``datapackage.json`` that also lists the new files of :data:`KINDS`, in order of name."""
    described = copy.deepcopy(package(folder))
    listed = described["resources"]
    for path in unlisted(folder):
        kind, _, name = path.removesuffix(".yml").partition("/")
        title, description = _DESCRIBED[kind]
        resource = {
            "name": f"{kind}/{name}",
            "path": path,
            "title": title.format(name=name),
            "description": description,
            "format": "yml",
            "mediatype": "application/yaml",
            "encoding": "utf-8",
        }
        of_kind = [at for at, other in enumerate(listed) if other["name"].startswith(f"{kind}/")]
        later = [at for at in of_kind if listed[at]["name"] > resource["name"]]
        end = of_kind[-1] + 1 if of_kind else len(listed)
        listed.insert(later[0] if later else end, resource)
    return described


def table_problems(resource: dict[str, Any], folder: Path) -> list[str]:
    """Return the problems of one table without its hash; empty if there are none."""
    try:
        text = _text(folder, resource["path"])
    except DataError as error:
        return [str(error)]
    return list(_schema(resource)) or list(_rows(resource, text, folder))


def _refuse(problems: list[str]) -> None:
    if problems:
        raise DataError(
            f"data/ breaks {len(problems)} rule{'s' * (len(problems) > 1)}:", *(f"- {problem}" for problem in problems)
        )


def _contents(folder: Path, described: dict[str, Any]) -> Iterator[str]:
    """Yield the problems of the files without their hashes, for the current or the new ``datapackage.json``."""
    yield from _undescribed(folder, described)
    texts: dict[str, str] = {}
    for resource in described["resources"]:
        try:
            texts[resource["path"]] = _text(folder, resource["path"])
        except DataError as error:
            yield str(error)
    try:
        keys = set(entries(texts.get("references.bib", ""))["key"])
    except DataError as error:
        yield str(error)
        return
    if not keys:
        return  # every source would be unknown
    for resource in described["resources"]:
        name, path = resource["name"], resource["path"]
        if path not in texts:
            continue
        if "schema" in resource:
            yield from table_problems(resource, folder) or _cells(resource, texts[path], keys)
        elif name == "mitigations" or name.partition("/")[0] in KINDS:
            yield from origins(resource, texts[path], keys)


def _text(folder: Path, path: str) -> str:
    try:
        return content_of(folder, path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"data/{path} is not UTF-8 text: {error.reason} at byte {error.start}; {REMEDY}") from None


def _hashes(folder: Path) -> Iterator[str]:
    for resource in package(folder)["resources"]:
        path = folder / resource["path"]
        if path.is_file() and file_hash(path.read_bytes()) != resource.get("hash"):
            yield changed(resource)


def _undescribed(folder: Path, described: dict[str, Any]) -> Iterator[str]:
    listed = {resource["path"] for resource in described["resources"]} | {"datapackage.json"}
    for path in sorted(folder.rglob("*")):
        place = path.relative_to(folder).as_posix()
        if path.is_file() and place not in listed and not any(name.startswith((".", "_")) for name in place.split("/")):
            remedy = UNLISTED if place in unlisted(folder) else _NEEDS_SCHEMA
            yield f"data/{place} {remedy}"


def unit_problem(name: str, unit: str) -> str:
    """Return why a unit contradicts the name of a number; empty if it fits.

    Parameters
    ----------
    name : str
        Name of a field or figure.
    unit : str
        Its unit.

    Examples
    --------
    >>> unit_problem("stall_s", "min")
    "the unit 'min' contradicts the name, whose ending _s means 's'"
    """
    if ending := ending_of(name, OF_ENDING):
        promised = _SYMBOLS.get(OF_ENDING[ending], OF_ENDING[ending])
        if unit == promised:
            return ""
        return f"the unit {unit!r} contradicts the name, whose ending {ending} means {promised!r}"
    if unit in PLAIN_UNITS:
        return ""
    return (
        f"the unit {unit!r} needs an ending of the name that says so; without one it is one of {', '.join(PLAIN_UNITS)}"
    )


def _schema(resource: dict[str, Any]) -> Iterator[str]:
    """Check that units are present and agree with names, and that each table has source and status."""
    fields = resource["schema"].get("fields", [])
    for field in fields:
        place = f"datapackage.json, table {resource['name']}, field {field.get('name')}"
        if not isinstance(field.get("unit"), str):
            yield f"{place}: the unit is missing (an empty text for text)"
        elif field.get("type") in ("integer", "number"):
            problem = unit_problem(field["name"], field["unit"])
            yield from [f"{place}: {problem}"] if problem else []
        elif field["unit"]:
            yield f"{place}: a {field.get('type')} has no unit, got {field['unit']!r}"
        yield from (f"{place}: the {key} is missing" for key in ("title", "description") if not field.get(key))
    names = {field.get("name") for field in fields}
    yield from (
        f"datapackage.json, table {resource['name']}: the field {name} is missing"
        for name in ("source", "status")
        if name not in names
    )


def _rows(resource: dict[str, Any], text: str, folder: Path) -> Iterator[str]:
    """Check the rows against the schema with Frictionless."""
    with extras.needed("dev"):
        from frictionless import FrictionlessException, Resource
    if "\r" in text:
        yield f"data/{resource['path']}: lines must end in LF, found CR"
    described = {key: value for key, value in resource.items() if key != "hash"}
    try:
        report = Resource.from_descriptor(copy.deepcopy(described), basepath=str(folder)).validate()
    except FrictionlessException as error:
        reasons = "; ".join(reason.note for reason in error.reasons) or error.error.note
        yield f"datapackage.json, table {resource['name']}: {reasons}"
        return
    faults = report.flatten(["rowNumber", "fieldName", "type", "note", "message", "cell"])
    yield from (_fault(resource, *fault) for fault in faults[:_SHOWN])
    if len(faults) > _SHOWN:
        yield f"data/{resource['path']}: and {len(faults) - _SHOWN} more"


def _fault(
    resource: dict[str, Any],
    row: int | None,
    field: str | None,
    kind: str,
    note: str,
    message: str,
    cell: Any,
) -> str:
    place = f"data/{resource['path']}" + (f", row {row}" if row else "") + (f", field {field}" if field else "")
    if kind == "type-error":
        types = {entry["name"]: entry["type"] for entry in resource["schema"]["fields"]}
        return f"{place}: {cell!r} is not of type {types.get(field)}"
    if kind == "constraint-error":
        return f"{place}: {cell!r} breaks the rule {note.removeprefix('constraint ')}"
    return f"{place}: {message}"


def _cells(resource: dict[str, Any], text: str, keys: set[str]) -> Iterator[str]:
    """Check sources and units of single figures, which a schema does not cover."""
    place = f"data/{resource['path']}, row"
    for number, row in enumerate(csv.DictReader(io.StringIO(text, newline="")), start=2):
        if row["source"] not in keys:
            yield f"{place} {number}, field source: {row['source']!r} is not a key of references.bib"
        if row["status"] not in STATUSES:
            yield f"{place} {number}, field status: {row['status']!r} is not one of {', '.join(STATUSES)}"
        if resource["name"] == "figures":
            problem = unit_problem(row["key"], row["unit"])
            yield from [f"{place} {number}, figure {row['key']}: {problem}"] if problem else []


def origins(resource: dict[str, Any], text: str, keys: set[str]) -> Iterator[str]:
    """Yield the problems of the origins in a YAML file: a preset, or the catalogue of mitigations."""
    place = f"data/{resource['path']}"
    try:
        content = load(text, place)
    except InputError as error:
        yield str(error)
        return
    form = _catalogue if resource["name"] == "mitigations" else _preset
    try:
        yield from form(content, place, keys)
    except (AttributeError, KeyError, TypeError) as error:
        yield f"{place} lacks what belongs to its kind, or has it in another form: {error}"


def _preset(preset: Any, place: str, keys: set[str]) -> Iterator[str]:
    """Check that every number of a preset has an origin, and every origin a number."""
    if not isinstance(preset, dict) or not isinstance(preset.get("evidence"), dict):
        yield f"{place}: needs a section evidence"
        return
    if preset.get("name") != Path(place).stem:
        yield f"{place}: the name {preset.get('name')!r} is not the name of the file"
    for key in sorted(set(map(str, preset.get("sources") or [])) - keys):
        yield f"{place}, sources: {key!r} is not a key of references.bib"
    origins = preset.pop("evidence")
    leaves = dict(_leaves(preset))
    items = {
        path: [item for item in leaf if isinstance(item, dict)]
        for path, leaf in leaves.items()
        if isinstance(leaf, list)
    }
    numbers = {path for path, leaf in leaves.items() if items.get(path) or type(leaf) in (int, float)}
    if "rate_clock" in (preset.get("failures") or {}):
        numbers.add("failures.rate_clock")  # it defines the rate
    yield from (f"{place}: {leaf} has no entry in evidence" for leaf in sorted(numbers - set(origins)))
    in_lists = {f"{path}.{key}" for path, listed in items.items() for item in listed for key in item}
    unknown = set(origins) - numbers - in_lists
    yield from (f"{place}, evidence: {leaf} is no number of this preset" for leaf in sorted(unknown))
    for leaf, origin in origins.items():
        yield from _origin(f"{place}, evidence of {leaf}", origin, keys)


def _catalogue(content: Any, place: str, keys: set[str]) -> Iterator[str]:
    """Check that every entry of the catalogue with a status has an origin with an existing source."""
    for number, assumption in enumerate(content["assumptions"], 1):
        yield from _origin(f"{place}, assumption {number}", _origin_of(assumption), keys)
    for mitigation in content["mitigations"]:
        where = f"{place}, {mitigation['id']}"
        for key in sorted(set(mitigation.get("asked_by", [])) - keys):
            yield f"{where}, asked_by: {key!r} is not a key of references.bib"
        prices = [mitigation["price"]] if "price" in mitigation else []
        for with_origin in [
            *mitigation.get("changes", []),
            *mitigation.get("before", []),
            *mitigation.get("published", []),
            *prices,
        ]:
            yield from _origin(where, _origin_of(with_origin), keys)


def _origin_of(item: dict[str, Any]) -> dict[str, Any]:
    return {key: item[key] for key in ("status", "source", "note") if key in item}


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield dotted path and value of everything below the sections; a list counts once."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{key}" if path else str(key))
    else:
        yield path, value


def _origin(place: str, origin: Any, keys: set[str]) -> Iterator[str]:
    if not isinstance(origin, dict):
        yield f"{place}: must be a mapping with status, source and note"
        return
    status, source = origin.get("status"), origin.get("source")
    if status not in STATUSES:
        yield f"{place}: the status {status!r} is not one of {', '.join(STATUSES)}"
    if source is None and status != "assumed":
        yield f"{place}: a source is missing; only an assumed value has none"
    if source is not None and source not in keys:
        yield f"{place}: the source {source!r} is not a key of references.bib"
    if status in ("assumed", "derived") and not origin.get("note"):
        yield f"{place}: the status {status} needs a note"
    yield from (f"{place}: unknown entry {key!r}" for key in origin.keys() - {"status", "source", "note", "fitted"})
