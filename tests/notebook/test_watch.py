"""A notebook may not change the results of its sweep, and what it writes elsewhere is known."""

from __future__ import annotations

import pytest

from ettr import notebook
from ettr.core.errors import NotebookFailed
from ettr.notebook import engine
from notebooks import written

pytestmark = pytest.mark.skipif(not engine.works_here(), reason="only forked processes are watched")


CHANGES = [
    "open(place / 'a.txt', 'w')",
    "open(place / 'a.txt', 'a')",
    "(place / 'a.txt').unlink()",
    "(place / 'a.txt').rename('/tmp/elsewhere')",
    "import shutil; shutil.rmtree(place)",
    "import os; os.truncate(place / 'a.txt', 0)",
    "(place / 'new').mkdir()",
    "import pandas as pd; pd.DataFrame({'a': [1]}).to_csv(place / 'a.txt')",
]


def test_nothing_is_changed_where_results_are(tmp_path):
    results = tmp_path / "results"
    results.mkdir()
    (results / "a.txt").write_text("whole")
    find = f"from pathlib import Path\nplace = Path({str(results)!r})"
    path = written(tmp_path / "a.ipynb", find, *CHANGES, parameters=None)
    document = notebook.read(path)
    for cell in document.cells[2:]:
        cell.metadata["tags"] = ["raises-exception"]  # so that the next one is tried too
    path.write_text(notebook.text(document))
    with pytest.raises(NotebookFailed, match="a point may not change the results of its sweep"):
        notebook.run(path, tmp_path / "b.ipynb", kept_out=results)
    for cell in notebook.read(tmp_path / "b.failed.ipynb").cells[2:]:
        assert "a point may not change the results of its sweep" in cell.outputs[-1].evalue, cell.source
    assert [(p.name, p.read_text()) for p in results.iterdir()] == [("a.txt", "whole")]


def test_files_written_elsewhere_are_noted(tmp_path, monkeypatch):
    results, work = tmp_path / "results", tmp_path / "work"
    work.mkdir()
    results.mkdir()
    (results / "seen.txt").write_text("read me")
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()
    path = written(
        work / "a.ipynb",
        f"text = open({str(results / 'seen.txt')!r}).read()\nopen('one.txt', 'w').write(text)",
        "import tempfile\ntempfile.TemporaryFile(); open('/dev/null', 'w'); open('one.txt', 'a'); open('two.txt', 'x')",
    )
    notebook.run(path, tmp_path / "b.ipynb", cwd=work, kept_out=results)
    record = notebook.read(tmp_path / "b.ipynb").metadata["ettr"]
    assert record["written"] == [str(work / "one.txt"), str(work / "two.txt")]
