"""What a node is called, and what stands for none, or for many."""

from __future__ import annotations

import pytest

from ettr.core.errors import InputError


def nodes(read, *names, more="", **options):
    rows = "".join(f"2024-05-{i + 2:02d},{name}{more}\n" for i, name in enumerate(names))
    return read(f"start,node{',system' if more else ''}\n" + rows, **options)


def test_one_node_written_in_several_ways(read):
    log = nodes(read, "GPU-1", "gpu-1", "gpu-1.hall.example", "gpu-2", "GPU-2", "gpu-2")
    assert log.events["node"].tolist() == ["gpu-1"] * 3 + ["gpu-2"] * 3
    assert "names of nodes that differ only in case are treated as one: 2, such as 'GPU-1' and 'gpu-1'" in log.notes
    assert any("differ only in their domain" in note for note in log.notes)


def test_names_are_folded_only_where_they_meet(read):
    names = ["N1", "n2.a", "n2.b", "3.0", "10.0.0.1", "10.0.0.2"]
    assert sorted(nodes(read, *names).events["node"]) == sorted(names)
    assert sorted(set(nodes(read, "3.0", "3", "4").events["node"])) == ["3", "4"]


@pytest.mark.parametrize("word", ["unknown", "N/A", "-", "(none)", "TBD", "?"])
def test_placeholders_are_no_node(read, word):
    log = nodes(read, word, word, "n1")
    assert log.events["node"].isna().tolist() == [True, True, False] and len(log.failures) == 3
    assert "failures without a node: 2" in log.notes


def test_lists_and_ranges_are_expanded(read):
    log = nodes(read, "gpu-[000-003]", '"n1, n2"', "n1;n7", "rack 3, slot b")
    seen = log.events["node"].tolist()
    assert seen[:4] == ["gpu-000", "gpu-001", "gpu-002", "gpu-003"] and seen[4:8] == ["n1", "n2", "n1", "n7"]
    assert "records with several nodes: 3, each counted once per node, 8 in all" in log.notes
    assert log.n_records == 4  # of which one has more cells than the header


def test_systems_are_apart_where_the_user_says_so(read):
    rows = "start,node,system\n2024-05-02,0,A\n2024-05-03,0,B\n2024-05-04,1,B\n"
    together, apart = read(rows), read(rows, split="system")
    assert together.events["node"].nunique() == 2 and '`split="system"`' in together.doubts[0]
    assert apart.events["node"].tolist() == ["A/0", "B/0", "B/1"] and not apart.doubts


def test_a_name_may_be_made_of_columns(read):
    log = read("start,rack,slot\n2024-05-02,r1,3\n2024-05-03,r2,3\n", columns={"node": "rack+slot"})
    assert log.events["node"].tolist() == ["r1/3", "r2/3"]
    with pytest.raises(InputError, match="no column 'rack\\+slott'"):
        read("start,rack,slot\n2024-05-02,r1,3\n", columns={"node": "rack+slott"})


def test_times_are_no_names(read):
    with pytest.raises(InputError, match="node must be a column of names.*are columns swapped"):
        read("t,host\n3,2024-05-02 10:00\n4,2024-05-03 11:00\n", columns={"start": "t", "node": "host"}, window="0..30")


def test_a_year_from_all_others_is_left_out_and_named(read):
    rows = "".join(f"2025-03-{day:02d} 10:00,n{day}\n" for day in range(1, 21))
    text = "start,node\n1999-03-04 10:00,n0\n" + rows
    log = read(text, window=None, n_nodes=30)
    assert len(log.failures) == 20 and log.window_h == 19 * 24
    assert "1 of the failures lie far from all others and are left out: 1999-03-04 (line 2)" in log.doubts[0]
    assert len(read(text, window="1999-01-01/2025-03-31", n_nodes=30).failures) == 21


def test_a_file_in_which_nothing_is_odd_has_no_doubts(read):
    rows = "".join(f"2024-05-{day:02d} 10:00,n{day % 7},fan\n" for day in range(1, 30))
    log = read("start,node,cause\n" + rows)
    assert log.doubts == () and log.exposure == "number of nodes given, window given"


@pytest.mark.parametrize(
    ("first", "kept", "doubt"),
    [
        ("2024-03-04", 20, "1 of the failures lie far from all others and are left out: 2024-03-04 (line 2)"),
        ("2025-01-10", 21, "the first failure, 2025-01-10 (line 2), is 51 days from all others: if it is mistyped"),
        ("2025-02-25", 21, None),
    ],
)
def test_a_failure_alone_at_an_end_is_said(read, first, kept, doubt):
    rows = "".join(f"2025-03-{day:02d} 10:00,n{day}\n" for day in range(2, 22))
    log = read(f"start,node\n{first} 10:00,n0\n{rows}", window=None, n_nodes=30)
    assert len(log.failures) == kept
    assert any(doubt in each for each in log.doubts) if doubt else not log.doubts
