"""How kernels are compiled, and their parts: into the kernel that calls them, and not once more on their own."""

from __future__ import annotations

import gc
import hashlib
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from ettr.core import extras, units
from ettr.simulation import compile_notice

with extras.needed("simulate"):
    import numba
    from numba import njit, types
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import Compiler

Kernel = Callable[..., Any]
"""Takes rules, seed, first run, limit of failures a run, a flag to stop and the table to fill."""

_Part = TypeVar("_Part", bound=Callable[..., Any])
_OPTIONS: dict[str, Any] = {"error_model": "numpy"}
_UNCOUNTED: dict[str, Any] = _OPTIONS | {"_nrt": False}
KNOWN = (63, 68)
"""First and last 0.x of Numba whose compiler parts know; under any other they are compiled in the ordinary way."""
_NEEDLESS = {
    "WithLifting",
    "InlineClosureLikes",
    "RewriteSemanticConstants",
    "DeadBranchPrune",
    "GenericRewrites",
    "RewriteDynamicRaises",
    "MakeFunctionToJitFunction",
    "InlineInlinables",
    "FindLiterallyCalls",
    "LiteralUnroll",
    "LiteralPropagationSubPipelinePass",
    "InlineOverloads",
    "NopythonRewrites",
    "AnnotateTypes",
    "DumpParforDiagnostics",
}
"""Passes of Numba for what no part has, such as exceptions, closures and arrays as terms, and for print-outs."""
_NOT_COMPILED = {
    "__init__",
    "chunks",
    "estimates",
    "from_scenario",
    "outcome",
    "outlook",
    "report",
    "runs",
}


class _KernelCompiler(Compiler):
    """Does not look for garbage, which there is none of before the end."""

    def _compile_bytecode(self) -> Any:
        compile_notice.give()
        collects = gc.isenabled()
        gc.disable()
        try:
            return super()._compile_bytecode()  # type: ignore[no-untyped-call]
        finally:
            if collects:
                gc.enable()


class _PartLibrary(JITCodeLibrary):
    """Code that waits to be optimised, and made into machine code, as a piece of its kernel."""

    def finalize(self) -> None:
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True


class _PartCompiler(Compiler):
    """Parts get neither machine code nor a way in from Python."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)  # type: ignore[no-untyped-call]
        flags = self.state.flags
        flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True

    def define_pipelines(self) -> Any:
        (usual,) = super().define_pipelines()  # type: ignore[no-untyped-call]
        usual.passes = [one for one in usual.passes if one[0].__name__ not in _NEEDLESS]
        usual.finalize()
        return [usual]

    def _compile_bytecode(self) -> Any:
        state = self.state
        state.library = _PartLibrary(state.targetctx.codegen(), state.func_id.func_qualname)  # type: ignore[no-untyped-call]
        state.library.enable_object_caching()
        found = super()._compile_bytecode()  # type: ignore[no-untyped-call]
        refuses = [].__reduce_ex__  # its own for each part, and it raises whatever arguments it is called with
        state.targetctx.insert_user_function(refuses, found.fndesc, [found.library])
        return found._replace(entry_point=refuses)


def _is_known() -> bool:
    major, minor = map(int, numba.__version__.split(".")[:2])
    return major == 0 and KNOWN[0] <= minor <= KNOWN[1]


def _part(function: _Part, options: dict[str, Any]) -> _Part:
    if not _is_known():
        return njit(function, **options)  # type: ignore[no-any-return]
    compiled = njit(function, pipeline_class=_PartCompiler, **options)
    template = compiled.get_call_template

    def of_any_number(args: Any, kws: Any) -> Any:
        """One part for all whole numbers, not one for each that is known when it is compiled."""
        return template([types.unliteral(arg) for arg in args], kws)  # type: ignore[no-untyped-call]

    compiled.get_call_template = of_any_number
    return compiled  # type: ignore[no-any-return]


def inner(function: _Part) -> _Part:
    """A part of a kernel that makes no array; it cannot be called from Python.

    Arrays that it is given are not counted as in use while it runs, as whoever calls it holds them: counting, which
    threads must do one after another, took three quarters of a kernel's time.
    """
    return _part(function, _UNCOUNTED)


def maker(function: _Part) -> _Part:
    """A part of a kernel that makes arrays, such as one with more room."""
    return _part(function, _OPTIONS)


def compiled(function: Kernel) -> Kernel:
    """A kernel; what is compiled is kept in a folder for the next process, where there is one that can be written."""
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "pipeline_class": _KernelCompiler}
    try:
        return njit(function, cache=True, **options)  # type: ignore[no-any-return]
    except RuntimeError:
        warnings.warn(
            "compiled code cannot be kept, so that each process compiles for some seconds: set NUMBA_CACHE_DIR to a "
            "folder that can be written",
            RuntimeWarning,
            stacklevel=2,
        )
        return njit(function, **options)  # type: ignore[no-any-return]


def sources() -> str:
    """Digest of what is compiled, so that a change in any file makes compiled kernels void."""
    digest = hashlib.sha256()
    for path in (*sorted(Path(__file__).parent.glob("*.py")), Path(units.__file__)):
        if path.stem not in _NOT_COMPILED:
            digest.update(path.read_bytes())
    return digest.hexdigest()
