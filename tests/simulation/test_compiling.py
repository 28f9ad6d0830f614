"""When kernels are compiled, and when the compiled code of an earlier process is used."""

from __future__ import annotations

import importlib.util

from ettr.simulation.compile_notice import on_compiling

KERNELS = """
from ettr.simulation.compiling import compiled

@compiled
def first(number):
    return number + 1

@compiled
def second(number):
    return number + 2
"""


def test_compiling_is_told_once_and_not_where_compiled_code_is_there(tmp_path):
    path, notices = tmp_path / "kernels.py", []
    path.write_text(KERNELS)

    def run() -> int:
        """Use the kernels as a new process would."""
        spec = importlib.util.spec_from_file_location("kernels", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        with on_compiling(lambda: notices.append("compiling")):
            return module.first(1) + module.second(2)

    assert (run(), notices) == (6, ["compiling"])
    assert (run(), notices) == (6, ["compiling"])
