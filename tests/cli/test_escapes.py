"""What users name, in files or on the command line, sends no command to their terminal and fakes no line of its own.

The commands run under a pseudo-terminal, as pipes make Typer and Rich leave out what terminals would follow.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ettr.cli import terminal
from ettr.core.report import Headline, Note, Table

pty = pytest.importorskip("pty", reason="this system has no pseudo-terminals")

NASTY = "x\x1b]52;c;ZXZpbA==\x07\x9b31m\u202e\u2066\rz\nettr: all is well"
"""Writes to the clipboard, changes colours in another way, reverses the order of reading, and begins a new line."""
FORBIDDEN = re.compile(r"\x1b\]|[\x07\x80-\x9f\u202a-\u202e\u2066-\u2069]|(^|[\r\n])z|^ettr: all is well", re.MULTILINE)
IN_JSON = json.dumps(NASTY)
FILES = {
    "key.yml": f"cluster: {{n_gpus: 8}}\n{IN_JSON}: 5\n",
    "title.yml": f"title: {IN_JSON}\nname: {IN_JSON}\n",
    "grid.yml": f"{IN_JSON}: [1, 2]\n",
    "columns.csv": f'time,node,"{NASTY}"\n2024-05-01 10:00,n7,GPU\n',
    "nodes.csv": f'time,node,reason\n2024-05-01 10:00,"{NASTY}",GPU\n2024-05-03 10:00,"{NASTY}",GPU\n',
}
COMMANDS = {
    "a key": ["plan", "key.yml"],
    "a key, with the traceback": ["plan", "key.yml", "--debug"],
    "a title": ["plan", "title.yml"],
    "a scenario that is not there": ["plan", f"{NASTY}.yml"],
    "a field": ["plan", "rsc-1", "--set", f"{NASTY}=5"],
    "a value": ["plan", "rsc-1", "--set", f"title={NASTY}"],
    "a file to write": ["plan", "--gpus", "8", "--mtbf-h", "9", "--quick", "--html", f"{NASTY}.html"],
    "a log": ["fit", f"{NASTY}.csv", "--nodes", "5"],
    "a column": ["fit", "columns.csv", "--nodes", "5", "--map", "node=host"],
    "nodes": ["fit", "nodes.csv", "--nodes", "5"],
    "a parameter": ["sweep", "scale", "--grid", "grid.yml", "--out", "sweep"],
    "a mitigation": ["compare", "rsc-1", "--only", NASTY],
    "a GPU": ["power", "rsc-1", "--part", f"{NASTY}.yml"],
    "a recording": ["telemetry", f"{NASTY}.csv"],
    "a format": ["formats", NASTY],
    "a field to look for": ["fields", NASTY],
    "a book": ["book", "--root", NASTY],
    "a drill": ["drill", f"key.yml/{NASTY}"],
    "a command": [NASTY],
    "an option": ["plan", f"--{NASTY}"],
    "a number": ["plan", "--gpus", NASTY],
}
RUN_ALL = """
import json, sys
from ettr.cli import app
for arguments in json.load(open("commands.json")):
    try:
        app.main(arguments)
    except SystemExit:
        pass
    for stream in sys.stdout, sys.stderr:
        stream.flush()
    print("== end ==", flush=True)
"""


def under_a_terminal(*command: str) -> str:
    """All that a command wrote to the terminal that it ran in, as bytes of UTF-8 or escaped."""
    handle, terminal_end = pty.openpty()
    variables = os.environ | {"TERM": "xterm-256color", "COLUMNS": "200", "PYTHONUTF8": "1"}
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), terminal_end)
    process = subprocess.Popen(command, env=variables, start_new_session=True, **streams)
    os.close(terminal_end)
    written = b""
    while True:
        try:
            piece = os.read(handle, 65536)
        except OSError:  # how Linux says that the other end is closed
            piece = b""
        if not piece:
            break
        written += piece
    os.close(handle)
    process.wait()
    return written.decode(errors="surrogateescape").replace("\r\n", "\n")


@pytest.fixture(scope="module")
def outputs(tmp_path_factory) -> dict[str, str]:
    """What each command wrote to a terminal."""
    folder = tmp_path_factory.mktemp("escapes")
    for name, text in {**FILES, f"empty{NASTY}.csv": ""}.items():
        Path(folder, name).write_text(text)
    Path(folder, "commands.json").write_text(json.dumps(list(COMMANDS.values())))
    before = Path.cwd()
    os.chdir(folder)
    try:
        *texts, _ = under_a_terminal(sys.executable, "-c", RUN_ALL).split("== end ==\n")
    finally:
        os.chdir(before)
    return dict(zip(COMMANDS, texts, strict=True))


@pytest.mark.parametrize("what", COMMANDS)
def test_a_name_sends_no_command_to_the_terminal_and_begins_no_line(outputs, what):
    assert len(outputs[what]) > 20 and not FORBIDDEN.search(outputs[what])


def test_the_test_would_see_what_it_looks_for():
    text = under_a_terminal(sys.executable, "-c", f"print({NASTY!r})")
    matches = {match.group() for match in FORBIDDEN.finditer(text)}
    assert matches == {"\x1b]", "\x07", "\x9b", "\u202e", "\u2066", "\rz", "ettr: all is well"}


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are UTF-8 elsewhere")
def test_a_name_that_is_no_utf8_is_no_crash(tmp_path):
    command = [sys.executable, "-m", "ettr.cli", "plan", "--gpus", "8", "--mtbf-h", "9", "--quick", "--save"]
    done = subprocess.run([*command, b"\xff.yml"], cwd=tmp_path, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"") and b"Written: \\udcff.yml" in done.stdout
    done = subprocess.run([*command, b"no/\xff.yml"], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 2 and done.stderr.count(b"\n") == 1


def test_no_part_of_a_report_sends_a_command(capsys):
    # one long column each: a second one would be wrapped, and any character can begin a line there
    tables = [Table((NASTY, "n"), [(NASTY, "1")], title=NASTY), Table(("n", NASTY), [("1", NASTY)])]
    terminal.render(
        [Headline(NASTY, apart=True), Note(NASTY, apart=True), *tables],
        {NASTY: NASTY},
    )
    terminal.say(NASTY, NASTY)
    terminal.say(NASTY, err=True)
    for text in capsys.readouterr():
        assert "ZXZpbA==" in text and not FORBIDDEN.search(text)
