"""What is opened, what is refused, and what a broken file still gives."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import pickle
import tarfile

import numpy as np
import pytest

from ettr.core.errors import InputError
from ettr.files.ledger import Ledger
from ettr.files.opening import Source

TEXT = "one\ntwo\r\n\nfour, café\n"
LINES = [(1, "one"), (2, "two"), (3, ""), (4, "four, café")]


def tarred():
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as folder:
        folder.addfile(tarfile.TarInfo("log.csv"))
    return archive.getvalue()


def lines_of(path, ledger=None):
    return list(Source(path).lines(ledger or Ledger()))


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress])
def test_plain_and_packed_files_give_the_same_lines(write, pack):
    path = write(pack(TEXT.encode()), "log.bin")
    assert lines_of(path) == LINES
    assert Source(path).head() == ["one", "two", "", "four, café", ""]
    with Source(path).binary() as stream:
        assert stream.read() == TEXT.encode()


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (gzip.compress(b"a\n") + gzip.compress(b"b"), ["a", "b"]),  # members of a gzip follow each other
        (b"\xef\xbb\xbfstart,end\n1,2", ["start,end", "1,2"]),  # a byte order mark is no part of the first line
        (b"a" * 2_000_000 + b"\nb", ["a" * 2_000_000, "b"]),
    ],
    ids=["members", "byte order mark", "long line"],
)
def test_lines_at_the_edges_are_whole(write, content, lines):
    ledger, path = Ledger(), write(content)
    assert lines_of(path, ledger) == list(enumerate(lines, 1)) and ledger.total() == 0
    assert lines[0].startswith(Source(path).head()[0])


def test_odd_bytes_are_repaired_and_counted(write):
    ledger = Ledger()
    path = write(b"fine\nbr\xffken\nnul\x00s\x00\nalso \xc3\x28\n\xef\xbf\xbd is a character\n")
    assert [line for _, line in lines_of(path, ledger)] == [
        "fine",
        "br<ff>ken",
        "nuls",
        "also <c3>(",
        "� is a character",
    ]
    assert sorted(ledger.notes) == [
        "1 line had NUL bytes, which were removed (the first: line 3)",
        "2 lines had bytes that are not UTF-8, shown as numbers such as <e9>; set another encoding with "
        "`encoding` (the first: line 2)",
    ]


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_a_truncated_file_gives_what_it_has(write, pack):
    text = "".join(f"{i},{i * 7919 % 10007}\n" for i in range(40_000))
    packed = pack(text.encode())
    path = write(packed[: len(packed) * 2 // 3], "cut")
    source = Source(path)
    lines = [line for _, line in source.lines(Ledger())]
    assert 10_000 < len(lines) < 40_000
    assert "\n".join(lines[:-1]) in text
    assert "could be read" in source.cut and "ends too early" in source.cut


@pytest.mark.parametrize("tail", [b"", b"rubbish"])
def test_a_damaged_file_is_refused(write, tail):
    """A byte that changed on the way, or something after the end."""
    packed = bytearray(gzip.compress("".join(f"line {i * 7919 % 10007}\n" for i in range(300_000)).encode()))
    packed[len(packed) // 2] ^= 0 if tail else 0xFF
    source = Source(write(bytes(packed) + tail, "bad.gz"))
    with pytest.raises(InputError, match="bad.gz is damaged at byte"):
        list(source.lines(Ledger()))


def test_lines_that_end_in_carriage_returns_alone_are_refused(write):
    with pytest.raises(InputError, match="only carriage returns.*tr '\\\\r'"):
        Source(write(b"start,node\r2024-05-02,a\r2024-05-03,b\r"))
    assert lines_of(write(b"one\r")) == [(1, "one")]


def test_a_device_is_no_file(tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    for path in (fifo, "/dev/null"):
        with pytest.raises(InputError, match="is a pipe or device: pipe it in, and give - for the file"):
            Source(path)


def test_progress_ends_at_the_size_of_the_file(write):
    reports = []
    path = write("some line\n" * 400_000)
    source = Source(path, lambda done, size: reports.append((done, size)))
    assert not reports
    for _ in source.lines(Ledger()):
        pass
    assert reports[-1] == (path.stat().st_size, path.stat().st_size)
    assert len(reports) >= 3 and reports == sorted(reports)


def test_a_strict_parser_gets_valid_utf8(write):
    ledger = Ledger()
    content = b"\xef\xbb\xbf" + b'{"a": "\xff\x00"}' + "é".encode() * 200_000 + b"\xc3"
    with Source(write(content)).utf8(ledger) as stream:
        text = stream.read().decode()
    assert text == '{"a": "<ff>"}' + "é" * 200_000 + "<c3>"
    assert sorted(note[:23] for note in ledger.notes) == ["NUL bytes were removed", "the file had bytes that"]


REFUSED = {
    "pickle": (pickle.dumps({"a": 1}), "never loaded"),
    "packed pickle": (gzip.compress(pickle.dumps([1])), "never loaded"),
    "empty": (b"", "is empty"),
    "packed nothing": (gzip.compress(b""), "is empty after decompression"),
    "gzip of one byte": (gzip.compress(b"abc")[:11], "ends too early"),
    "zip": (b"PK\x03\x04rest of it", "a zip archive or a spreadsheet: extract the file"),
    "tar": (tarred(), "is an archive: extract the file"),
    "packed tar": (gzip.compress(tarred()), "is an archive"),
    "parquet": (b"PAR1" + bytes(20), "from_frame"),
    "program": (b"\x7fELF" + bytes(range(200)), "a program"),
    "bzip2": (b"BZh91AY&SY", "decompress it first"),
    "UTF-16 without a mark": ("start,end,node\n".encode("utf-16-le"), '`encoding="utf-16-le"`'),
    "rubbish": (np.random.default_rng(1).bytes(5000).replace(b"\x80", b"a"), "control bytes"),
    "packed twice": (gzip.compress(gzip.compress(b"abc")), "compressed twice"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_no_text_is_refused(write, kind):
    content, words = REFUSED[kind]
    with pytest.raises(InputError, match=words):
        Source(write(content, "thing"))


def test_what_is_no_file_is_refused(tmp_path):
    with pytest.raises(InputError, match="is a folder"):
        Source(tmp_path)
    with pytest.raises(InputError, match="does not exist"):
        Source(tmp_path / "missing.csv")
    with pytest.raises(InputError, match="the log"):
        Source("a\0b")


# --------------------------------------------------------------------------- encodings, pipes


def test_two_names_stay_two_in_another_encoding(write):
    path = write("gpu-é\ngpu-è\n".encode("latin-1"))
    assert [line for _, line in lines_of(path)] == ["gpu-<e9>", "gpu-<e8>"]
    assert [line for _, line in Source(path, encoding="latin-1").lines(Ledger())] == ["gpu-é", "gpu-è"]
    with pytest.raises(InputError, match="`encoding` must be an encoding of Python, .* got 'klingon'"):
        Source(path, encoding="klingon")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "shift_jis", "cp1252"])
def test_a_text_of_any_encoding_is_read(write, encoding):
    text = "start,end\n" + "x,y\n" * 70_000
    declared = None if encoding == "utf-16" else encoding  # whose mark says what it is
    source = Source(write(text.encode(encoding)), encoding=declared)
    assert [line for _, line in source.lines(Ledger())] == text.splitlines() and source.head()[0] == "start,end"


def test_standard_input_is_read_as_a_file(monkeypatch):
    def piped(content):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
        return Source("-")

    source = piped(gzip.compress(b"one\ntwo\n"))
    for _ in range(2):
        assert [line for _, line in source.lines(Ledger())] == ["one", "two"]
    assert source.name == "standard input"
    with pytest.raises(InputError, match="standard input is empty"):
        piped(b"")
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(InputError, match="nothing is piped into it"):
        Source("-")
