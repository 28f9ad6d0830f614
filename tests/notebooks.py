"""Small notebooks for tests, and a cluster to run them on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nbformat
from nbformat import v4

PARAMETERS = """scenario = "llama3-405b"  # preset
n_gpus: int = 512  # [GPUs]
interval_min = 1.5  # [min]
quick = True
"""


def written(
    path: Path, *sources: str, parameters: str | None = PARAMETERS, title: str = "What for?", text: str = ""
) -> Path:
    """Write a notebook with these code cells between its parameters and a text."""
    cells = [v4.new_markdown_cell(f"# {title}", id="title")]
    if parameters is not None:
        cells.append(v4.new_code_cell(parameters, id="parameters", metadata={"tags": ["parameters"]}))
    cells += [v4.new_code_cell(source, id=f"code-{i}") for i, source in enumerate(sources)]
    if text:
        cells.append(v4.new_markdown_cell(text, id="text"))
    document = v4.new_notebook(cells=cells)
    document.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    document.metadata["language_info"] = {"name": "python"}
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(document, path)
    return path


@contextmanager
def local_cluster() -> Iterator[str]:
    """The address of a scheduler with two threads in this process, so that points share one prepared process."""
    from distributed import LocalCluster

    with LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address="127.0.0.1:0") as running:
        yield running.scheduler_address
