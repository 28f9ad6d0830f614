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
        (lambda: spares.enough_spares(-1.0, 0.9), "in_repair must be >= 0"),
        (lambda: spares.enough_spares(5.0, 1.0), "share must be between 0 and 1, both excluded, got 1"),
        (lambda: spares.racks_level(2, 64, -1, 0.01), "n_spares must be a whole number from 0"),
        (lambda: spares.racks_level(2, 64, 8, 1.0), "unavailable must be >= 0 and < 1"),
        (lambda: spares.racks_level(0, 64, 8, 0.1), "n_racks must be a whole number from 1"),
        (lambda: spares.racks_level(2, 64, 8, 0.1, 1.0), "rack_unavailable must be >= 0 and < 1"),
        (lambda: spares.domains_level(64, 8, 0, 0.1), "domain_gpus must be a whole number from 1"),
        (lambda: spares.domains_level(64, 8.5, 8, 0.1), "n_spare_gpus must be a whole number"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(call, message):
    with pytest.raises(InputError, match=message):
        call()
