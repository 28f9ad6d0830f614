"""Compilation of kernels and their parts: a part becomes code of the kernel that calls it, and none of its own."""

from __future__ import annotations

import gc
import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, TypeVar

from ettr.core import extras, units
from ettr.core.compiled import cached
from ettr.simulation import compile_notice

with extras.needed("simulate"):
    import numba
    from numba import njit, types
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import Compiler
    from numba.core.types.functions import BaseFunction

Kernel = Callable[..., Any]
"""Takes rules, seed, first run, limit of failures per run, a flag to stop and the table to fill."""

_Part = TypeVar("_Part", bound=Callable[..., Any])
_OPTIONS: dict[str, Any] = {"error_model": "numpy"}
_UNCOUNTED: dict[str, Any] = _OPTIONS | {"_nrt": False}
SUPPORTED = (63, 68)
"""First and last 0.x version of Numba that parts are adapted to; with any other they are compiled the usual way."""
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
"""Passes of Numba that no part needs: for exceptions, closures, array expressions, and diagnostics."""
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


@contextmanager
def _typing_remembered() -> Iterator[None]:
    """Find the type of a built-in operation once for the same types of arguments.

    A kernel has 5,000 operations of 300 kinds, and Numba would try all overloads at each.
    """
    numba_types: Any = BaseFunction
    call_type = numba_types.get_call_type
    known: dict[Any, Any] = {}

    def remembered(function: Any, context: Any, args: Any, kws: Any) -> Any:
        if kws:
            return call_type(function, context, args, kws)
        if (function, args) not in known:
            signature = call_type(function, context, args, kws)
            known[function, args] = signature, function._impl_keys[signature.args]
        signature, implementation = known[function, args]
        function._impl_keys[signature.args] = implementation
        return signature

    numba_types.get_call_type = remembered
    try:
        yield
    finally:
        numba_types.get_call_type = call_type


class _KernelCompiler(Compiler):
    """Compiler without garbage collection, which would find nothing before the end, and without repeated typing."""

    def _compile_bytecode(self) -> Any:
        compile_notice.give()
        collects = gc.isenabled()
        gc.disable()
        try:
            with _typing_remembered() if _is_supported() else nullcontext():
                return super()._compile_bytecode()  # type: ignore[no-untyped-call]
        finally:
            if collects:
                gc.enable()


class _PartLibrary(JITCodeLibrary):
    """Library whose code is optimised and turned into machine code only within its kernel."""

    def finalize(self) -> None:
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True


class _PartCompiler(Compiler):
    """Compiler of parts, without machine code or a wrapper for Python."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)  # type: ignore[no-untyped-call]
        flags = self.state.flags
        flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True

    def define_pipelines(self) -> Any:
        (usual,) = super().define_pipelines()  # type: ignore[no-untyped-call]
        usual.passes = [step for step in usual.passes if step[0].__name__ not in _NEEDLESS]
        usual.finalize()
        return [usual]

    def _compile_bytecode(self) -> Any:
        state = self.state
        state.library = _PartLibrary(state.targetctx.codegen(), state.func_id.func_qualname)  # type: ignore[no-untyped-call]
        state.library.enable_object_caching()
        result = super()._compile_bytecode()  # type: ignore[no-untyped-call]
        # an entry point that is unique to the part, and raises an error whatever it is called with
        refuses = [].__reduce_ex__
        state.targetctx.insert_user_function(refuses, result.fndesc, [result.library])
        return result._replace(entry_point=refuses)


def _is_supported() -> bool:
    major, minor = map(int, numba.__version__.split(".")[:2])
    return major == 0 and SUPPORTED[0] <= minor <= SUPPORTED[1]


def _part(function: _Part, options: dict[str, Any]) -> _Part:
    if not _is_supported():
        return njit(function, **options)  # type: ignore[no-any-return]
    compiled = njit(function, pipeline_class=_PartCompiler, **options)
    template = compiled.get_call_template

    def of_any_number(args: Any, kws: Any) -> Any:
        """Compile a part once for all integers, not once per literal value."""
        return template([types.unliteral(arg) for arg in args], kws)  # type: ignore[no-untyped-call]

    compiled.get_call_template = of_any_number
    return compiled  # type: ignore[no-any-return]


def inner(function: _Part) -> _Part:
    """Compile a part of a kernel that allocates no array; it cannot be called from Python.

    References to its arrays are not counted, because the caller keeps them alive. Counting, which synchronises threads,
    would take three quarters of a kernel's time.
    """
    return _part(function, _UNCOUNTED)


def maker(function: _Part) -> _Part:
    """Compile a part of a kernel that allocates arrays, such as a longer copy."""
    return _part(function, _OPTIONS)


def compiled(function: Kernel) -> Kernel:
    """Compile a kernel, and cache it for the next process if there is a folder that can be written."""
    return cached(function, nogil=True, error_model="numpy", pipeline_class=_KernelCompiler)


def sources() -> str:
    """Digest of all files with compiled code, so that a change in any of them voids the cached kernels."""
    digest = hashlib.sha256()
    for path in (*sorted(Path(__file__).parent.glob("*.py")), Path(units.__file__)):
        if path.stem not in _NOT_COMPILED:
            digest.update(path.read_bytes())
    return digest.hexdigest()
