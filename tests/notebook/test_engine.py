"""A forked copy against a kernel of its own: the same outputs, and as far apart from other runs."""

from __future__ import annotations

import gc
import os
import re
import signal
import socket
import subprocess
import sys
import time

import nbformat
import papermill
import psutil
import pytest

from ettr import notebook
from ettr.core.errors import NotebookFailed, NotebookKilled
from ettr.notebook import engine
from notebooks import written

pytestmark = pytest.mark.skipif(not engine.works_here(), reason="forks on Linux only")

CHART = """import altair as alt
from ettr.plots import theme
theme.enable()
def chart_of(expression):
    chart = alt.Chart({"values": [{"x": 1}]}).transform_calculate(y=expression).mark_line(clip=True).encode(x="y:Q")
    return theme.finish(chart, title="t", description="d")"""
CELLS = [
    "print('a'); import sys; print('b', file=sys.stderr); print('c'); 6 * 7",
    "from IPython.display import HTML, Markdown, clear_output, display\ndisplay(HTML('<b>x</b>'), Markdown('*y*'))",
    "handle = display('first', display_id=True); handle.update('second')",
    "print('gone'); clear_output(); print('stays')",
    "print('gone'); clear_output(wait=True); print('stays')",
    "import pandas as pd; pd.DataFrame({'a': [1.5, None]})",
    "display({'image/png': b'\\x89PNG\\r\\n'}, raw=True)",
    "%%capture caught\nprint('kept')",
    "caught.stdout, _, __",
    "import asyncio\nawait asyncio.sleep(0); asyncio.get_running_loop().is_running()",
    "task = asyncio.create_task(asyncio.sleep(0, 'later'))",
    "await task",
    "import os, sys\nos.getcwd(), sys.path[0], __name__, 'get_ipython' in dir()",
    "import pickle\nclass Thing: pass\ntype(pickle.loads(pickle.dumps(Thing())))",
    "float('nan'), 'ünï \U0001f600', '\\ud800'.encode('utf-8', 'surrogatepass')",
    "import matplotlib.pyplot as plt\nfigure, axes = plt.subplots(figsize=(1, 1)); _ = axes.plot([1, 2])",
    "{k: os.environ.get(k) for k in ('MPLBACKEND', 'PAGER', 'CLICOLOR', 'TERM')}",
    "Out[2], In[2][:5], _2",
    "",
    "# nothing but a comment",
    CHART,
    "chart_of('datum.x')",
    "handle = display(chart_of('datum.x'), display_id=True)",
    "handle.update(chart_of('datum.x + 1'))",
    "def inner():\n    raise KeyError('k')\ninner()",
]
"""What shells do, each compared output by output; after an error nothing runs."""


def outputs(path) -> list:
    """Outputs by cell, with what a stream said in pieces put together, and tracebacks without their colours."""
    by_cell = []
    for cell in nbformat.read(path, as_version=4).cells:
        kept: list = []
        for output in cell.get("outputs", []):
            if kept and output.output_type == kept[-1].output_type == "stream" and output.name == kept[-1].name:
                kept[-1].text += output.text
            else:
                kept.append(output)
            if output.output_type == "error":
                output.traceback = [re.sub(r"\x1b\[[\d;]*m", "", part) for part in output.traceback]
        by_cell.append(kept)
    return by_cell


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    folder = tmp_path_factory.mktemp("both")
    path = written(folder / "a.ipynb", *CELLS)
    by_kernel = {}
    for fresh in (False, True):
        with pytest.raises(NotebookFailed, match="KeyError: 'k'"):
            notebook.run(path, folder / f"{fresh}.ipynb", cwd=folder, fresh_kernel=fresh)
        by_kernel[fresh] = outputs(folder / f"{fresh}.failed.ipynb")
    return by_kernel


def test_outputs_are_those_of_a_kernel(both):
    assert len(both[True]) == len(CELLS) + 2  # title and parameters
    for number, (forked, kernel) in enumerate(zip(both[False], both[True], strict=True)):
        assert forked == kernel, CELLS[number - 2]


def test_charts_are_drawn_even_one_that_takes_the_place_of_another(both):
    *_, chart, replaced, _, _ = both[False]
    assert list(chart[0].data) == list(replaced[0].data) == ["text/html", "text/plain"]
    assert "datum.x + 1" in replaced[0].data["text/html"]


def test_a_cell_that_may_fail_does_not_end_the_notebook(tmp_path):
    path = written(tmp_path / "a.ipynb", "1 / 0", "print('on')")
    document = nbformat.read(path, as_version=4)
    document.cells[2].metadata["tags"] = ["raises-exception"]
    nbformat.write(document, path)
    with pytest.raises(NotebookFailed, match="ZeroDivisionError"):  # papermill's rule: an error is an error
        notebook.run(path, tmp_path / "b.ipynb")
    assert outputs(tmp_path / "b.failed.ipynb")[3][0].text == "on\n"


def printed(tmp_path, *cells: str, name: str = "a") -> str:
    path = written(tmp_path / f"{name}.ipynb", *cells)
    notebook.run(path, tmp_path / f"{name}-out.ipynb", cwd=tmp_path)
    return "".join(o.text for cell in outputs(tmp_path / f"{name}-out.ipynb") for o in cell if "text" in o)


def test_runs_share_no_variable_module_folder_environment_or_generator(tmp_path, monkeypatch):
    draw = "\nimport random, uuid\nprint(random.random(), np.random.rand(), uuid.uuid4())"
    leave = """import os, sys, json, decimal, numpy as np
import builtins
leaked = 1; json.leaked = 1; builtins.leaked = 1; decimal.getcontext().prec = 5
os.environ["LEAKED"] = "1"; os.chdir("/"); sys.path.insert(0, "leaked"); np.seterr(all="raise")"""
    look = """import os, sys, json, decimal, numpy as np
print("leaked" in dir(), hasattr(json, "leaked"), decimal.getcontext().prec, os.environ.get("LEAKED"),
      os.getcwd(), "leaked" in sys.path, np.geterr()["over"], os.environ["ETTR_TEST_MARK"])"""
    monkeypatch.setenv("ETTR_TEST_MARK", "before")
    first = printed(tmp_path, leave + draw, name="first").split()
    monkeypatch.setenv("ETTR_TEST_MARK", "now")
    second = printed(tmp_path, look + draw, name="second").split()
    assert second[:-3] == f"False False 28 None {tmp_path} False warn now".split()
    assert len(first) == 3 and not set(first) & set(second[-3:])


def test_what_programs_and_threads_print_is_kept(tmp_path):
    text = printed(
        tmp_path,
        "import os, subprocess, sys, threading\nsubprocess.run(['echo', '1']); os.system('echo 2')",
        "thread = threading.Thread(target=print, args=[3]); thread.start(); thread.join()\n!echo 4",
        "import multiprocessing as m\np = m.get_context('fork').Process(target=print, args=[5]); p.start(); p.join()",
    )
    assert sorted(text.split()) == ["1", "2", "3", "4", "5"]


@pytest.mark.parametrize("left", ["os.system('sleep 60 &')", "if os.fork() == 0:\n    time.sleep(60)\n    os._exit(0)"])
def test_a_process_that_dies_is_missed_even_if_a_child_of_it_lives(tmp_path, left):
    path = written(tmp_path / "a.ipynb", f"import os, time\n{left}\nos.kill(os.getpid(), 9)")
    begun = time.monotonic()
    with pytest.raises(NotebookKilled, match="its process was killed by SIGKILL"):
        notebook.run(path, tmp_path / "b.ipynb")
    assert time.monotonic() - begun < 30


def test_threads_print_each_line_once(tmp_path):
    cell = """import threading
def count():
    for number in range(2000):
        print(number)
threads = [threading.Thread(target=count) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()"""
    assert len(printed(tmp_path, cell).splitlines()) == 8000


def test_a_notebook_that_names_no_language_is_python(tmp_path):
    document = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("print('bare')")])
    nbformat.write(document, tmp_path / "bare.ipynb")
    notebook.run(tmp_path / "bare.ipynb", tmp_path / "out.ipynb")
    assert outputs(tmp_path / "out.ipynb")[0][0].text == "bare\n"


@pytest.mark.parametrize(
    ("ending", "error"),
    [
        ("os._exit(3)", NotebookFailed),
        *((f"os.kill(os.getpid(), signal.{name})", NotebookKilled) for name in ("SIGKILL", "SIGSEGV", "SIGTERM")),
    ],
)
@pytest.mark.parametrize("fresh", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")  # nbclient leaves the sockets of a dead kernel
def test_a_notebook_that_ends_its_process_has_failed_and_one_that_a_signal_ends_has_not(tmp_path, ending, error, fresh):
    path = written(tmp_path / "a.ipynb", f"import os, signal\nprint('so far')\n{ending}", "print('on')")
    with pytest.raises(NotebookFailed, match=r"cell 3 \(id code-0\): its ") as raised:
        notebook.run(path, tmp_path / "b.ipynb", fresh_kernel=fresh)
    assert raised.type is error
    gc.collect()


def test_a_notebook_that_exits_has_failed(tmp_path):
    path = written(tmp_path / "a.ipynb", "print('so far')\nexit()", "print('on')")
    with pytest.raises(NotebookFailed, match=r"cell 3 \(id code-0\): its kernel died"):
        notebook.run(path, tmp_path / "b.ipynb")
    assert [o.output_type for o in outputs(tmp_path / "b.failed.ipynb")[2]][-1] == "error"


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")  # nbclient leaves the sockets of a dead kernel
def test_a_kernel_killed_at_its_start_says_nothing_about_the_notebook(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONHOME", str(tmp_path / "none"))
    with pytest.raises(NotebookKilled, match="did not start: Kernel died"):
        notebook.run(written(tmp_path / "a.ipynb", "1"), tmp_path / "b.ipynb", fresh_kernel=True)
    gc.collect()


def test_a_notebook_cannot_ask_for_input(tmp_path):
    with pytest.raises(NotebookFailed, match="StdinNotImplementedError"):
        notebook.run(written(tmp_path / "a.ipynb", "input('?')"), tmp_path / "b.ipynb")


def test_a_run_that_takes_too_long_is_ended_with_all_that_it_started(tmp_path):
    path = written(
        tmp_path / "a.ipynb",
        "import subprocess, sys\nchild = subprocess.Popen(['sleep', '600']); print(child.pid, flush=True)",
        "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(600)",
    )
    with pytest.raises(NotebookFailed, match=r"cell 4 \(id code-1\): it took longer than 1 s"):
        notebook.run(path, tmp_path / "b.ipynb", timeout_s=1)
    pid = int(outputs(tmp_path / "b.failed.ipynb")[2][0].text)
    until = time.monotonic() + 10
    while running(pid) and time.monotonic() < until:
        time.sleep(0.05)
    assert not running(pid)


def running(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_too_much_output_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "MOST_OUTPUT_BYTES", 100_000)
    with pytest.raises(NotebookFailed, match="its output exceeded"):
        notebook.run(written(tmp_path / "a.ipynb", "while True: print('x' * 1000)"), tmp_path / "b.ipynb")


def test_a_chart_that_vega_refuses_is_the_error_of_its_cell(tmp_path):
    path = written(tmp_path / "a.ipynb", CHART, "chart_of('datum.x')", "chart_of('datum.(')", "print('went on')")
    with pytest.raises(NotebookFailed, match=r"cell 5 .*the chart cannot be drawn: .*Unexpected token \($"):
        notebook.run(path, tmp_path / "b.ipynb")
    good, bad, after = outputs(tmp_path / "b.failed.ipynb")[-3:]
    assert "<svg" not in good[0].data["text/html"] and "data:image/svg+xml" in good[0].data["text/html"]
    assert "error" in [output.output_type for output in bad] and not after


def test_charts_are_drawn_although_the_process_that_draws_them_was_killed(tmp_path):
    path, before, after = written(tmp_path / "a.ipynb", CHART, "chart_of('datum.x')"), tmp_path / "b", tmp_path / "c"
    notebook.run(path, before)
    prepared = psutil.Process(engine.prepared()._process.pid)
    alive = (child for child in prepared.children() if running(child.pid))
    (charts,) = (child for child in alive if "chart_process" in " ".join(child.cmdline()))
    charts.kill()
    notebook.run(path, after)
    (first,), (second,) = outputs(before)[-1], outputs(after)[-1]
    assert "data:image/svg+xml" in first.data["text/html"] and first.data == second.data


def test_a_chart_without_end_ends_the_process_that_draws():
    code = "from ettr.notebook import chart_process as charts\ncharts.DRAWN_WITHIN_S = 1\ncharts.main()"
    control, child_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    waiting, pipe = socket.socketpair()
    with control, waiting, child_end, pipe:
        fileno = child_end.fileno()
        charts = subprocess.Popen([sys.executable, "-c", code, str(fileno)], pass_fds=[fileno])
        socket.send_fds(control, [b"draw"], [pipe.fileno()])  # its specification never comes
        try:
            assert charts.wait(timeout=60) == -signal.SIGALRM
        finally:
            charts.kill()
            charts.wait()


def test_papermill_finds_the_engine_by_its_name(tmp_path):
    path = written(tmp_path / "a.ipynb", "print(n_gpus)")
    done = papermill.execute_notebook(
        str(path), str(tmp_path / "b.ipynb"), {"n_gpus": 8}, engine_name="ettr", progress_bar=False
    )
    assert done.cells[-1].outputs[0].text == "8\n"


def test_the_prepared_process_is_started_again_if_it_was_killed(tmp_path):
    engine.prepare()
    process = engine.prepared()._process
    process.kill()
    process.wait()
    assert printed(tmp_path, "print('again')") == "again\n"


def test_nothing_is_left_when_the_process_that_asks_is_killed(tmp_path):
    path = written(tmp_path / "a.ipynb", f"open({str(tmp_path / 'pid')!r}, 'w').write(str(__import__('os').getpid()))",
                   "import time\ntime.sleep(600)")  # fmt: skip
    code = f"from ettr import notebook\nnotebook.run({str(path)!r}, {str(tmp_path / 'out.ipynb')!r})"
    asking = subprocess.Popen([sys.executable, "-c", code])
    try:
        until = time.monotonic() + 180  # on a busy machine
        while not (tmp_path / "pid").is_file() and time.monotonic() < until:
            time.sleep(0.05)
        time.sleep(0.2)
        left = psutil.Process(asking.pid).children(recursive=True)
        assert int((tmp_path / "pid").read_text()) in {process.pid for process in left}
        os.kill(asking.pid, signal.SIGKILL)
        asking.wait()
        assert not psutil.wait_procs(left, until - time.monotonic())[1]
    finally:
        asking.kill()
        asking.wait()
