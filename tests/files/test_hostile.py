"""Files that are built to break their readers: read for what they hold, or refused in a sentence."""

from __future__ import annotations

import gzip
import io
import zipfile

import pytest

from ettr import logs, telemetry
from ettr.core.errors import InputError
from ettr.files import weather
from ettr.files.json_records import MOST_LEVELS, CheckedJson, json_records
from ettr.files.ledger import Ledger
from ettr.files.opening import Source
from ettr.files.spooling import MOST_UNPACKED
from ettr.files.tables import MOST_COLUMNS, header_of, plain_name

LOG = b"start,end,node,cause\n2024-05-02 10:00:00,2024-05-02 11:00:00,n1,x\n2024-05-03 10:00:00,,n2,y\n"


def written(tmp_path, content: bytes, name: str = "log.csv"):
    path = tmp_path / name
    path.write_bytes(content)
    return path


def refused(path) -> str:
    with pytest.raises(InputError) as caught:
        logs.read(path, n_nodes=16, window="2024-05-01/2024-06-01")
    return str(caught.value)


def test_what_unpacks_to_far_more_than_it_is_is_refused(tmp_path):
    bomb = LOG + bytes(MOST_UNPACKED)
    assert "unpacks to more than 300 times its size" in refused(written(tmp_path, gzip.compress(bomb, 9), "x.csv.gz"))
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as whole:
        whole.writestr("x.csv", bomb)
    assert "unpacks to more than 300 times its size" in refused(written(tmp_path, archive.getvalue(), "x.zip"))
    shorter = LOG + b"#" + bytes(10_000_000)
    assert len(logs.read(written(tmp_path, gzip.compress(shorter)), n_nodes=16, window="2024-05-01/2024-06-01").events)


@pytest.mark.parametrize("where", ["middle", "end"])
def test_a_broken_archive_is_damaged(tmp_path, where):
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as whole:
        whole.writestr("x.csv", LOG * 50)
    content = bytearray(archive.getvalue())
    for place in range(60, 70) if where == "middle" else range(len(content) - 10, len(content)):
        content[place] ^= 0xFF
    assert "damaged archive" in refused(written(tmp_path, bytes(content), "x.zip"))


@pytest.mark.parametrize(
    "text",
    [
        b'{"a":' * 100_000,
        b'[{"host": "a", "start": "2024-05-02", "x": ' + b"[" * 100_000,
        b'[{"host": "a", "start": "2024-05-02", "x": ' + (b'{"y": "' + b"z" * 2000 + b'", "a":') * 1000,
    ],
)
def test_json_nested_deeply_is_refused(tmp_path, text):
    assert f"is JSON nested more than {MOST_LEVELS} deep" in refused(written(tmp_path, text))


def test_brackets_in_texts_are_no_levels(tmp_path):
    rows = [b'{"host": "n%d", "start": "2024-05-02T10:00:00Z", "cause": "\\u001b[31m [[{"}' % n for n in range(9)] * 99
    path = written(tmp_path, b"[" + b",\n".join(rows) + b"]")
    assert len(logs.read(path, n_nodes=16, window="2024-05-01/2024-06-01").events) == 9


@pytest.mark.parametrize("form", [b"[{%b},\n {%b}]", b"{%b}\n{%b}\n"])
def test_a_number_that_ends_the_parser_is_refused(tmp_path, form):
    record = b'"host": "a", "start": %b'
    path = written(tmp_path, form % (record % (b"9" * 5000), record % b"1"))
    assert "number" in refused(path)


def test_a_run_of_digits_over_two_blocks_is_found(tmp_path):
    path = written(tmp_path, b'[{"a": ' + b"9" * 5000 + b"}]")
    stream = CheckedJson(io.BytesIO(path.read_bytes()), path.name)
    with pytest.raises(InputError, match="a number of 600 digits or more"):
        list(iter(lambda: stream.read(100), b""))


@pytest.mark.parametrize("size", [1, 7, 100, 10_000])
def test_texts_hide_no_levels_and_are_none(size):
    def read(text: bytes) -> bytes:
        stream = CheckedJson(io.BytesIO(text), "mine.json")
        return b"".join(iter(lambda: stream.read(size), b""))

    harmless = b'[{"map": "' + b"0" * 700 + b'", "a\\"[": "\\\\", "b": "' + b"[{" * 900 + b'"}, 7]'
    assert read(harmless) == harmless
    for closed in (b'["' + b"]" * 900 + b'"],', b'"}]\\\\",' * 400, b'"\\"]]",' * 400):
        with pytest.raises(InputError, match="nested more than"):
            read(b"[" + closed + b"[" * 500 + b"]" * 500)
    with pytest.raises(InputError, match="a number of 600 digits"):
        read(b'["0", ' + b"1" * 700 + b"]")


def test_json_of_a_few_levels_is_read(tmp_path):
    path = written(tmp_path, b'[\n{"a": ' + b"[" * 150 + b"]" * 150 + b"},\n{}]")
    records, unit = json_records(Source(path), Ledger())
    assert unit == "record" and len(list(records)) == 2


def test_a_table_of_too_many_columns_is_refused(tmp_path):
    text = b"start,node" + b",c" * MOST_COLUMNS + b"\n2024-05-02,n1" + b",1" * MOST_COLUMNS + b"\n"
    assert f"at most {MOST_COLUMNS:,} columns, got 10,002" in refused(written(tmp_path, text))
    assert len(header_of("a" + ",b" * (MOST_COLUMNS - 1))[0]) == MOST_COLUMNS


def test_names_of_brackets_alone_are_quick():
    assert plain_name("[(" * 100_000) == ""
    assert plain_name("a (b) Start [c]") == "astart"
    assert len(header_of("x" * 100_000)[0][0]) == 300


@pytest.mark.parametrize("lasted", ["9" * 130, "9" * 400, "1e308", "-1e308", "\uff11"])
def test_a_duration_beyond_all_is_none(tmp_path, lasted):
    text = f"start,duration_h,node\n2024-05-02,{lasted},n1\n2024-05-03,3,n2\n"
    read = logs.read(written(tmp_path, text.encode()), n_nodes=16, window="2024-05-01/2024-06-01")
    assert len(read.events) == 2 and read.events["end"].isna().sum() == 1


def test_times_in_digits_of_another_script_are_none(tmp_path):
    read = logs.read(
        written(tmp_path, LOG.replace(b"03", "\uff10\uff13".encode())), n_nodes=9, window="2024-05-01/2024-06-01"
    )
    assert read.ledger["reason"].tolist() == ["start: not a time"] and len(read.events) == 1


@pytest.mark.parametrize("cell", ["\uff12.5", "1e308", "\r2", "9" * 400])
def test_weather_without_a_number_is_counted(tmp_path, cell):
    hours = "".join(f"2023-01-02T{hour:02}:00,{hour}.5\n" for hour in range(24)) + "2023-01-03T00:00,1\n" * 15
    path = written(tmp_path, f"time,temperature\n{hours}2023-01-03T01:00,{cell}\n".encode())
    assert weather.read(path).ledger["n"].sum() >= 1


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ("1e308,510,1", "time is no number and no stamp"),
        ("1,\uff15,1", "power_w: no number"),
        ("\uff11,510,1", "time is no number and no stamp"),
    ],
)
def test_samples_beyond_all_are_counted(tmp_path, cells, reason):
    rows = "".join(f"{t},500,1\n" for t in range(2, 9))
    path = written(tmp_path, f"t_s,power_w,length_s\n{cells}\n{rows}".encode())
    assert reason in " ".join(telemetry.read(path).ledger["reason"])


@pytest.mark.parametrize("start", [b'"', b""])
def test_a_file_of_lines_that_are_no_rows_is_not_read_to_its_end(tmp_path, start):
    path = written(tmp_path, LOG + start + b"x\n" * 100_010)
    assert refused(path).startswith("a table has rows with the cells of its header: 100,001 of the first 100,00")
