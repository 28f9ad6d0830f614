"""The exporter's gauge: edges of a value that stays, in text and in JSON."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from one_format import every_line_counts, mutated, n_lines, outcome, us

from ettr.core.errors import InputError
from ettr.evidence.xid_codes import xid
from ettr.logs.readers.dcgm import FORMAT

T0 = us("2025-03-01") // 1_000_000
BLANK = 9_223_372_036_854_775_794
NAME = "DCGM_FI_DEV_XID_ERRORS"


def labels(gpu=0, host="n1", **more) -> dict[str, str]:
    return {"gpu": str(gpu), "UUID": f"GPU-{host}-{gpu}", "Hostname": host, **more}


def as_text(series, stamp=lambda seconds: str(seconds * 1000), name=NAME) -> str:
    """Scrapes one after another: all series at one instant, then at the next."""
    lines = [f"# HELP {name} the last error", f"# TYPE {name} gauge"]
    samples = [(t, i, value) for i, (_, values) in enumerate(series) for t, value in values]
    for t, i, value in sorted(samples, key=lambda sample: sample[:2]):
        named = ",".join(f'{key}="{text}"' for key, text in series[i][0].items())
        lines.append(f"{name}{{{named}}} {value} {stamp(t)}".rstrip())
    return "\n".join(lines) + "\n"


def as_json(series, indent=None, **around) -> str:
    result = [
        {"metric": {"__name__": NAME, **named}, "values": [[t, str(value)] for t, value in values]}
        for named, values in series
    ]
    return json.dumps(
        {"status": "success", "data": {"resultType": "matrix", "result": result}, **around}, indent=indent
    )


FORMS = [as_text, as_json]
EACH_FORM = pytest.mark.parametrize("form", FORMS)


def values(*codes, step=60, start=T0) -> list[tuple[int, object]]:
    return [(start + i * step, code) for i, code in enumerate(codes)]


FLEET = [
    (labels(0), values(0, 0, 79, 79, 79, 0, 0, step=600)),
    (labels(1), values(0, 0, 0, 0, 0, 0, 0, step=600)),
    (labels(0, "n2"), values(48, 48, 48, 48, 74, 74, 74, step=600)),
    (labels(1, "n2"), values(0, 31, 31, 43, 43, 95, 95, step=600)),
]


@EACH_FORM
def test_edges_are_failures(form):
    log = outcome(FORMAT, form(FLEET))
    assert [start[11:16] for start in log.starts] == ["00:20", "00:40", "00:50"]
    assert log.events["node"].tolist() == ["n1", "n2", "n2"]
    assert log.events["gpu"].tolist() == ["GPU-n1-0", "GPU-n2-0", "GPU-n2-1"]
    assert log.events["cause"].tolist() == [xid(code).cause for code in (79, 74, 95)]
    assert log.events["component"].tolist() == ["GPU", "NVLink", "GPU memory"]
    assert log.n("dropped", "Xid from before the log") == 1
    assert log.n("dropped", "usually the application") == 2
    assert log.n("dropped", "gauge is zero") == 4
    assert log.exposure.n_nodes == 2
    assert log.exposure.window == (T0 * 1_000_000, (T0 + 3600) * 1_000_000)
    assert log.n_records == 28 + 2 * (form is as_text)
    assert "twice in a row counts as one failure" in log.notes and "hosts with samples: 2" in log.notes


@EACH_FORM
@pytest.mark.parametrize("blank", [BLANK, BLANK + 3, 2**63 - 16, 2_147_483_632, 140_737_488_355_328.0, "NaN", "nan"])
def test_blanks_are_no_values(form, blank):
    """A blank before an Xid says that there was none; one within it says nothing."""
    log = outcome(FORMAT, form([(labels(), values(blank, blank, 79, blank, 79, step=600))]))
    assert [start[11:16] for start in log.starts] == ["00:20"]
    assert log.n("dropped", "no value") == 3
    assert log.n("dropped", "same value") == 1


@EACH_FORM
def test_gpus_of_one_node_are_one_failure(form):
    """The series of a GPU that failed later may stand first; where the host is unknown each GPU is by itself."""
    series = [
        (labels(0), values(0, 0, 0, 79)),
        (labels(1), values(0, 79, 79, 79)),
        (labels(2, "n2"), values(0, 0, 79, 79)),
        (labels(3), values(*[0] * 10, 48)),
    ]
    log = outcome(FORMAT, form(series))
    assert log.events["gpu"].tolist() == ["GPU-n1-1", "GPU-n2-2", "GPU-n1-3"]
    assert [start[11:16] for start in log.starts] == ["00:01", "00:02", "00:10"]
    assert log.n("merged", "same node within 5 min") == 1
    assert "several GPUs of one node" in log.notes
    hostless = [({"gpu": str(gpu)}, values(0, 79)) for gpu in range(3)]
    assert len(outcome(FORMAT, form(hostless)).events) == 3


@EACH_FORM
def test_labels_that_change_with_the_value_are_one_gauge(form):
    """Newer exporters put the number into a label too, so that every value has a series of its own."""
    series = [
        (labels(err_code="0"), values(0, 0, 0)),
        (labels(err_code="79"), values(79, 79, start=T0 + 180)),
        (labels(err_code="0"), values(0, 0, start=T0 + 600)),
    ]
    log = outcome(FORMAT, form(series))
    assert [start[11:16] for start in log.starts] == ["00:03"]
    assert log.n("dropped", "already there") == 0


@given(
    codes=st.lists(
        st.lists(st.sampled_from([0, 0, 0, 31, 48, 79, BLANK]), min_size=2, max_size=40), min_size=1, max_size=4
    )
)
@settings(max_examples=30, deadline=None)
def test_text_and_json_agree_with_the_definition(codes):
    """Far apart samples: an edge is a hardware number that differs from the last value known, one a node at a time."""
    series = [(labels(i), values(*gpu_codes, step=3600)) for i, gpu_codes in enumerate(codes)]
    expected = []
    for i, gpu_codes in enumerate(codes):
        before = None
        for k, code in enumerate(gpu_codes):
            if code == BLANK:
                before = 0 if before is None else before
                continue
            if code in (48, 79) and before is not None and code != before:
                expected.append((T0 + 3600 * k, f"GPU-n1-{i}", xid(code).cause))
            before = code
    expected = [
        event for i, event in enumerate(sorted(expected)) if event[0] not in {at for at, *_ in sorted(expected)[:i]}
    ]
    for form in FORMS:
        events = outcome(FORMAT, form(series)).events
        failures = zip(events["start"], events.get("gpu", []), events["cause"], strict=True)
        assert sorted((int(start.timestamp()), gpu, cause) for start, gpu, cause in failures) == sorted(expected)


DUMP = f"""\
{{__name__="{NAME}",gpu="0",Hostname="n1"}} 0 {T0}000
{{__name__="{NAME}",gpu="0",Hostname="n1"}} 79 {T0 + 60}000
"""


@pytest.mark.parametrize(
    ("text", "host"),
    [
        (as_text([({"gpu": "0", "Hostname": "n1", "instance": "10.0.0.1:9400"}, values(0, 79))]), "n1"),
        (as_text([({"gpu": "0", "instance": "n7:9400"}, values(0, 79))]), "n7"),
        (as_text([({"gpu": "0", "instance": "[fd00::1]:9400"}, values(0, 79))]), "[fd00::1]"),
        (as_text([({"gpu": "0", "node": "n8"}, values(0, 79))], name="dcgm_xid_errors"), "n8"),
        (as_text([(labels(), values(0, 79))], stamp=lambda t: f"{t}.000"), "n1"),
        (DUMP, "n1"),
        (as_text([(labels(err_msg='a \\"quoted\\" } brace'), values(0, 79))]), "n1"),
        (as_json([(labels(), values(0, 79))], indent=2), "n1"),
        (as_json([(labels(), [(T0 + 0.0, 0), (T0 + 60.0004, 79)])]), "n1"),
        (as_json([(labels(), values(0, 0))]) + "\n" + as_json([(labels(), values(79, start=T0 + 60))]), "n1"),
        (json.dumps(json.loads(as_json([(labels(), values(0, 79))]))["data"]), "n1"),
        (json.dumps(json.loads(as_json([(labels(), values(0, 79))]))["data"]["result"]), "n1"),
    ],
)
def test_ways_to_write_it(text, host):
    log = outcome(FORMAT, text)
    assert log.starts == ["2025-03-01 00:01:00"]
    assert log.events["node"].tolist() == [host] and log.exposure.n_nodes == 1
    assert FORMAT.sniff(text.split("\n"))


def test_other_metrics_are_passed_over():
    text = (
        f'DCGM_FI_DEV_GPU_TEMP{{gpu="0"}} 41 {T0}000\n' + as_text(FLEET) + f"up 1 {T0}000\nmy_{NAME}_total 3 {T0}000\n"
    )
    log = outcome(FORMAT, text)
    assert len(log.events) == 3 and log.n("dropped", "another metric") == 3
    answer = json.loads(as_json(FLEET))
    answer["data"]["result"][0]["metric"]["__name__"] = "up"
    log = outcome(FORMAT, json.dumps(answer))
    assert len(log.events) == 2 and log.n("dropped", "another metric") == 7


@pytest.mark.parametrize(
    ("text", "metric"),
    [
        (
            f'# TYPE DCGM_EXP_XID_ERRORS_COUNT gauge\nDCGM_EXP_XID_ERRORS_COUNT{{gpu="0",xid="79"}} 1 {T0}000',
            "DCGM_EXP",
        ),
        (f'node_cpu_seconds_total{{cpu="0", mode="idle"}} 9.5 {T0}000', "node_cpu_seconds_total"),
        (f"# HELP node_load1 Load.\n# TYPE node_load1 gauge\nnode_load1 0.5 {T0}000\n", "node_load1"),
        ('# TYPE jobs counter\njobs_total{queue="a, b"} 5 1740787200.5\n# EOF\n', "jobs_total"),
        (as_json([(labels(), values(0, 79))]).replace(NAME, "DCGM_FI_DEV_XID_ERRORS_SEEN"), "XID_ERRORS_SEEN"),
    ],
)
def test_a_file_of_another_metric_is_refused_with_its_name_and_the_query(text, metric):
    assert FORMAT.sniff(text.split("\n"))
    with pytest.raises(InputError, match=rf"no sample of {NAME}, only of .*{metric}.*/query_range"):
        outcome(FORMAT, text)


def test_one_scrape_has_no_time():
    with pytest.raises(InputError, match=r"single scrape: its 28 samples .*/query_range"):
        outcome(FORMAT, as_text(FLEET, stamp=lambda _: ""))
    with pytest.raises(InputError, match="no sample of DCGM_FI_DEV_XID_ERRORS"):
        outcome(FORMAT, 'DCGM_FI_DEV_GPU_TEMP{gpu="0"} 41\n')


def test_an_instant_query_is_refused():
    answer = {
        "status": "success",
        "data": {"resultType": "vector", "result": [{"metric": labels(), "value": [T0, "79"]}]},
    }
    with pytest.raises(InputError, match=r"an instant query \(vector\): use the range query"):
        outcome(FORMAT, json.dumps(answer))


def test_an_error_of_prometheus_is_shown():
    answer = {"status": "error", "errorType": "bad_data", "error": "exceeded maximum resolution of 11,000 points"}
    with pytest.raises(InputError, match="bad_data: exceeded maximum resolution of 11,000 points"):
        outcome(FORMAT, json.dumps(answer))
    assert FORMAT.sniff([json.dumps(answer)])


def test_json_that_ends_too_early_is_read_as_far_as_it_goes():
    text = as_json(FLEET)
    log = outcome(FORMAT, text[: text.index("GPU-n2-1")])
    assert log.events["node"].tolist() == ["n1", "n2"]
    assert log.n("not parsed", "JSON broken") == 1
    assert "only up to sample 21" in log.notes


def test_values_that_are_no_xid():
    text = as_text([(labels(), values(0, -3, 79.5, "many", 12_345, 79, "+Inf", "1e400"))])
    log = outcome(FORMAT, text)
    assert log.starts == ["2025-03-01 00:05:00"]
    assert log.n("not parsed", "value is not an Xid") == 3
    assert log.n("not parsed", "value is not a number") == 1
    assert log.n_records == n_lines(text)


@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_any_text_is_read_or_refused(data):
    every_line_counts(FORMAT, data.draw(mutated(as_text(FLEET))))
    with suppress(InputError):
        assert outcome(FORMAT, data.draw(mutated(as_json(FLEET, indent=1)))).n_records > 0
