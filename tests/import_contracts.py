"""Contracts for import-linter on what the rooms of the chapters may use of each other and of the models."""

from __future__ import annotations

from typing import Any

from importlinter import Contract, ContractCheck, output

CHAPTERS, SHARED = "ettr.chapters", ("ettr.chapters.common", "ettr.core")
KINDS = ("tables", "charts", "words")
WORDS = (
    *("ettr.failures.node_words", "ettr.failures.verdict_words", "ettr.failures.words"),
    *("ettr.plan.assumed", "ettr.plan.fitted_words"),
)
"""What rooms say of their answers, for every chapter that shows them."""


def place(module: str) -> tuple[str, str]:
    """The chapter of a module, and its kind by the last word of its name; empty where it has none."""
    if not module.startswith(f"{CHAPTERS}.") or module.startswith(SHARED[0]):
        return "", ""
    chapter, _, name = module.removeprefix(f"{CHAPTERS}.").partition(".")
    kind = name.rpartition("_")[2]
    return chapter, kind if kind in KINDS else ""


class _OfChapters(Contract):
    """A contract on the single imports of the chapters."""

    def check(self, graph: Any, verbose: bool) -> ContractCheck:
        broken = [
            f"{importer} -> {imported}"
            for importer in sorted(graph.modules)
            if place(importer)[0]
            for imported in sorted(graph.find_modules_directly_imported_by(importer))
            if not self.allows(importer, imported)
        ]
        return ContractCheck(kept=not broken, metadata={"broken": broken})

    def render_broken_contract(self, check: ContractCheck) -> None:
        for line in check.metadata["broken"]:
            output.print_error(line, bold=False)

    def allows(self, importer: str, imported: str) -> bool:
        raise NotImplementedError


class OwnTablesContract(_OfChapters):
    """Charts and words import their own tables and kind, what chapters share, the core, and the words of rooms."""

    type_name = "own_tables"

    def allows(self, importer: str, imported: str) -> bool:
        (chapter, kind), other = place(importer), place(imported)
        if kind not in ("charts", "words") or imported.startswith((*SHARED, *WORDS)):
            return True
        return other in ((chapter, "tables"), (chapter, kind))


class OtherTablesContract(_OfChapters):
    """A chapter uses another one by its tables only."""

    type_name = "other_tables"

    def allows(self, importer: str, imported: str) -> bool:
        chapter, other = place(importer), place(imported)
        return not other[0] or other[0] == chapter[0] or (chapter[1], other[1]) == ("tables", "tables")
