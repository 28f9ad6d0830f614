"""Small notebooks for tests."""

from __future__ import annotations

from pathlib import Path

import nbformat
from nbformat import v4

PARAMETERS = """scenario = "llama3-405b"  # preset
n_gpus: int = 512  # [GPUs]
interval_min = 1.5  # [min]
quick = True
"""


def written(path: Path, *sources: str, parameters: str | None = PARAMETERS) -> Path:
    """Write a notebook with these code cells below its parameters."""
    cells = [v4.new_markdown_cell("# What for?", id="title")]
    if parameters is not None:
        cells.append(v4.new_code_cell(parameters, id="given", metadata={"tags": ["parameters"]}))
    cells += [v4.new_code_cell(source, id=f"code-{i}") for i, source in enumerate(sources)]
    document = v4.new_notebook(cells=cells)
    document.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(document, path)
    return path
