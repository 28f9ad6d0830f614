"""With which words numbers are refused that no pool can have."""

from __future__ import annotations

import numpy as np
import pytest

from ettr import spares
from ettr.core.errors import InputError


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: spares.cheapest_pool(-1.0, 100), "in_repair must be >= 0"),
        (lambda: spares.cheapest_pool(1.0, 0), "n_nodes must be a whole number from 1"),
        (lambda: spares.cheapest_pool(1e12, 10), "in_repair must be small enough"),
        (lambda: spares.waiting_share(-1, 2.0), "n_spares must be a whole number from 0"),
        (lambda: spares.waiting_share(1, 2.0, 0), "n_crew must be a whole number from 1"),
        (lambda: spares.erlang_b(-1, 2.0), "n_servers must be a whole number from 0"),
        (lambda: spares.erlang_b(1.5, 2.0), "n_servers must be a whole number"),
        (lambda: spares.erlang_b(2, -1.0), "offered must be >= 0"),
        (lambda: spares.erlang_b("two", 1.0), "n_servers must be a number"),
        (lambda: spares.erlang_b(np.nan, 1.0), "n_servers must be finite"),
        (lambda: spares.erlang_c(7, 7.76), "n_servers must be > 7.76.*without end"),
        (lambda: spares.crew_pool(7.76, 7, 0.9), "n_crew must be > 7.76.*more nodes fail than are repaired"),
        (lambda: spares.crew_pool(7.76, 0, 0.9), "n_crew must be a whole number from 1"),
        (lambda: spares.binomial_pool(2048, 0.004, 1.0), "service_level must be between 0 and 1, both excluded"),
        (lambda: spares.binomial_pool(2048, 1.0, 0.9), "unavailable must be >= 0 and < 1, got 1"),
        (lambda: spares.binomial_pool(0, 0.1, 0.9), "n_nodes must be a whole number from 1"),
        (lambda: spares.pool_level(10, -1, 0.1), "n_spares must be a whole number from 0"),
        (lambda: spares.poisson_pool(-1.0, 0.9), "in_repair must be >= 0"),
        (lambda: spares.normal_pool(5.0, 2.0), "service_level must be between 0 and 1"),
        (lambda: spares.rack_level(72, 73, 0.01), "n_spares must be <= 72, the GPUs of the rack, got 73"),
        (lambda: spares.rack_level(72, -1, 0.01), "n_spares must be a whole number from 0"),
        (lambda: spares.rack_level(72, 8, 1.0), "unavailable must be >= 0 and < 1"),
        (lambda: spares.racks_level(0, 64, 8, 0.1), "n_racks must be a whole number from 1"),
        (lambda: spares.racks_level(2, 64, 8, 0.1, 1.0), "rack_unavailable must be >= 0 and < 1"),
        (lambda: spares.domain_unavailability(0.1, 0), "domain_gpus must be a whole number from 1"),
        (lambda: spares.domains_level(64, 8.5, 8, 0.1), "n_spare_gpus must be a whole number"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(call, message):
    with pytest.raises(InputError, match=message):
        call()
