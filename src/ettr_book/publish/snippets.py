"""Code that can be copied: a cell with the imports, parameters and earlier lines that it rests on."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence


def alone(cells: Sequence[str], last: str) -> str:
    """The source of a cell that runs in a fresh session.

    Parameters
    ----------
    cells : sequence of str
        The sources of the cells before it, in their order, with parameters as they were set.
    last : str
        The cell's own source.

    Returns
    -------
    str
        Its own source below those lines of the others that bind a name it needs, directly or through others, each name
        that an import binds only where it is needed.

    Examples
    --------
    >>> print(alone(["from math import pi, tau", "radius = 2  # m", "other = tau"], "pi * radius**2"))
    from math import pi
    <BLANKLINE>
    radius = 2  # m
    <BLANKLINE>
    pi * radius**2
    """
    needed = _free(ast.parse(last))
    imports: list[str] = []
    lines: list[str] = []
    for source in reversed(cells):
        for statement in reversed(ast.parse(source).body):
            bound = _bound(statement) & needed
            if not bound:
                continue
            needed -= bound
            if isinstance(statement, ast.Import | ast.ImportFrom):
                imports.insert(0, _only(statement, bound))
            else:
                lines.insert(0, _written(source, statement))
                needed |= _free(statement)
    return "\n\n".join(part for part in ("\n".join(sorted(set(imports))), "\n".join(lines), last) if part)


def _free(tree: ast.AST) -> set[str]:
    """Names that are read before they are bound: all that are read and not bound by an earlier statement."""
    bound: set[str] = set()
    free: set[str] = set()
    statements = tree.body if isinstance(tree, ast.Module) else [tree]
    for statement in statements:
        read = {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
        free |= read - bound
        bound |= _bound(statement)
    return free


def _bound(statement: ast.AST) -> set[str]:
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {alias.asname or alias.name.partition(".")[0] for alias in statement.names}
    return {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def _only(statement: ast.Import | ast.ImportFrom, names: Iterable[str]) -> str:
    kept = [alias for alias in statement.names if (alias.asname or alias.name.partition(".")[0]) in names]
    return ast.unparse(type(statement)(**{**vars(statement), "names": kept}))


def _written(source: str, statement: ast.stmt) -> str:
    """The lines of a statement as they stand, with their comments."""
    return "\n".join(source.splitlines()[statement.lineno - 1 : statement.end_lineno])
