"""Small studies on the Llama 3 run, with a catalogue of four that is known."""

from __future__ import annotations

import pytest

from ettr import Scenario, compare, mitigation

CATALOGUE = """
mitigations:
  - id: faster-restart
    title: Faster restart
    group: restart
    mechanism: Starts in two fifths of the time.
    changes: [{path: recovery.restart_min, op: scale, value: 0.4, status: assumed, note: round}]
    price: {usd: 1000000, status: assumed, note: round}
    published:
      - &one
        {quantity: something, before: 2, after: 1, unit: "1", status: primary, source: dubey2024, why: not stated}
  - id: shorter-stall
    title: Shorter stall
    group: checkpoint
    mechanism: The stall takes a tenth.
    changes: [{path: checkpoint.stall_s, op: scale, value: 0.1, status: secondary, source: dubey2024, note: round}]
    price: {usd_per_gpu: 10, status: assumed, note: round}
    published: [*one]
  - id: slower-training
    title: Slower training
    group: speed
    mechanism: Takes 1% of the throughput, for nothing.
    changes: [{path: job.throughput_factor, op: scale, value: 0.99, status: assumed, note: round}]
    published: [*one]
  - id: other-stall
    title: Another stall
    group: checkpoint
    mechanism: The stall takes 5 s.
    changes: [{path: checkpoint.stall_s, op: set, value: 5, status: assumed, note: round}]
    published: [*one]
    conflicts: {shorter-stall: "both change the stall"}
  - id: in-place
    title: Quick detection
    group: detection
    mechanism: Failures are noticed within 5 min.
    changes: [{path: recovery.detection_min, op: cap, value: 5, status: assumed, note: round}]
    before: [{path: recovery.detection_min, op: set, value: 30, status: assumed, note: "a time-out"}]
    published: [*one]
  - id: needs-spares
    title: More spares
    group: nodes
    mechanism: Twice the spares.
    changes: [{path: spares.n_nodes, op: scale, value: 2, status: assumed, note: round}]
    published: [*one]
  - id: unknown-worth
    title: Untried
    group: detection
    mechanism: Nobody has measured it.
    changes: [{path: recovery.detection_min, op: scale, value: 0.5, status: assumed, note: round}]
  - id: not-a-field
    title: Not modelled
    group: speed
    mechanism: No scenario can say it.
    unmodelled: no field of a scenario stands for it
    published: [*one]
"""


@pytest.fixture(scope="session")
def known(tmp_path_factory) -> mitigation.Catalogue:
    path = tmp_path_factory.mktemp("catalogue") / "known.yml"
    path.write_text(CATALOGUE)
    return mitigation.catalogue(path)


@pytest.fixture(scope="session")
def run() -> Scenario:
    """Of a few failures, so that a study takes no time."""
    return Scenario.load("llama3-405b").override({"job.productive_h": 120})


@pytest.fixture(scope="session")
def told(run, known) -> compare.Study:
    return compare.study(run, n_runs=200, of=known)
