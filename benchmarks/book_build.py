"""Build time of the book: cold, without changes, and with a changed chapter, in a copy of the repository.

Run as ``make bench``. References are the start of a Jupyter kernel, and a chapter run with papermill alone.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
CHAPTER = "book/ettr/scale.ipynb"


def seconds(*command: str, folder: Path) -> float:
    start = time.perf_counter()
    variables = {**os.environ, "PYTHONPATH": str(folder / "src")}  # the package of the copy
    subprocess.run(command, cwd=folder, env=variables, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT)
    return time.perf_counter() - start


def change_a_chapter(path: Path) -> None:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    cell = next(cell for cell in notebook["cells"] if "parameters" in cell["metadata"].get("tags", []))
    cell["source"] = [line.replace("0.9 ", "0.89 ") for line in cell["source"]]
    path.write_text(json.dumps(notebook, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "book"
        files = subprocess.run(
            ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT, check=True, capture_output=True, text=True,
        ).stdout.splitlines()  # fmt: skip
        for name in files:
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)
        build = (sys.executable, "-m", "ettr.cli", "book", "--quiet")
        kernel = "from jupyter_client.manager import start_new_kernel as s; m, c = s(); m.shutdown_kernel(now=True)"
        rows = {
            "reference: start of a kernel": seconds(sys.executable, "-c", kernel, folder=copy),
            "reference: a chapter with papermill alone": seconds(
                sys.executable, "-m", "papermill", CHAPTER, "out.ipynb", folder=copy
            ),
            "book, cold": seconds(*build, folder=copy),
            "book, without changes": seconds(*build, folder=copy),
        }
        change_a_chapter(copy / CHAPTER)
        rows["book, with a changed chapter"] = seconds(*build, folder=copy)
        for name, value in rows.items():
            print(f"{name:45}{value:8.1f} s")


if __name__ == "__main__":
    main()
