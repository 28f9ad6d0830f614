"""Published figures, presets of runs and GPUs, and their sources: all of ``data/``, each with its status.

``data/datapackage.json`` (Frictionless) holds the type, unit and meaning of every field, and the SHA-256 of
every file. A file whose hash matches was validated when the hash was written, so reading it is one hash and one
parse; any other file is validated row by row and refused with the place and the rule.

After an intended edit, ``python -m ettr.evidence --stamp`` validates everything, lists new presets and renews the
hashes.
"""

from ettr.evidence.checks import stamp, validate
from ettr.evidence.package import DATA, STATUSES, refuse_unlisted, unlisted
from ettr.evidence.published import (
    SIMILAR,
    PublishedEttr,
    cluster_rate_columns,
    cluster_rates,
    published_ettr,
    published_near,
    published_rates,
    published_runs,
)
from ettr.evidence.reading import (
    Figure,
    check_scenario_name,
    dictionary,
    figure,
    gpu_names,
    gpu_text,
    mitigations_text,
    scenario_names,
    scenario_text,
    table,
    table_names,
    verify,
)
from ettr.evidence.sources import bibliography, cited

__all__ = [
    "DATA",
    "SIMILAR",
    "STATUSES",
    "Figure",
    "PublishedEttr",
    "bibliography",
    "check_scenario_name",
    "cited",
    "cluster_rate_columns",
    "cluster_rates",
    "dictionary",
    "figure",
    "gpu_names",
    "gpu_text",
    "mitigations_text",
    "published_ettr",
    "published_near",
    "published_rates",
    "published_runs",
    "refuse_unlisted",
    "scenario_names",
    "scenario_text",
    "stamp",
    "table",
    "table_names",
    "unlisted",
    "validate",
    "verify",
]
