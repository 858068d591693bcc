"""Sentences of failures as they stand in the source, each with its kind; what a sentence fills in becomes `…`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

from surrogate.core.outcome import FailureKind

ROOT = Path(__file__).parents[2]
_KINDS = {kind.name: kind for kind in FailureKind}
_GAP = "…"


def sentences(module: str) -> Iterator[tuple[FailureKind, str]]:
    """Yield kind and sentence of every failure that a module words itself, in the order of the source.

    Found are `FailureKind.X, "…"`, as a pair or as neighbouring arguments, `SimulationError("…", kind="x")` and
    `self._fault("…", FailureKind.X, …)`. The sentence may be held by a variable or made by a function of the module.

    Args:
        module: Dotted name of a module of this repository.
    """
    tree = ast.parse((ROOT / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8"))
    source = _Source(tree)
    for statement in tree.body:
        for scope in (node for node in ast.walk(statement) if isinstance(node, ast.FunctionDef)):
            for node in ast.walk(scope):
                for kind, words in _pairs(node):
                    text = source.text(words, scope, {})
                    if re.search(r"\w{3}", text):
                        yield kind, text


def module_pairs(module: str) -> Iterator[tuple[FailureKind, str]]:
    """Yield the pairs of kind and text in the constants of a module, outside its functions."""
    tree = ast.parse((ROOT / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8"))
    for statement in tree.body:
        if isinstance(statement, ast.Assign):
            for node in ast.walk(statement):
                for kind, words in _pairs(node):
                    if isinstance(words, ast.Constant):
                        yield kind, str(words.value)


def _pairs(node: ast.AST) -> Iterator[tuple[FailureKind, ast.expr]]:
    """Yield the pairs of a kind and the expression of a sentence."""
    entries = node.elts if isinstance(node, ast.Tuple) else node.args if isinstance(node, ast.Call) else []
    for first, second in pairwise(entries):
        if isinstance(first, ast.Attribute) and _name(first.value) == "FailureKind" and first.attr in _KINDS:
            faulty = isinstance(node, ast.Call) and _name(node.func) == "_fault"
            yield _KINDS[first.attr], node if faulty and isinstance(node, ast.Call) else second
    if isinstance(node, ast.Call) and _name(node.func) == "SimulationError":
        for keyword in node.keywords:
            if keyword.arg == "kind" and isinstance(keyword.value, ast.Constant):
                yield FailureKind(str(keyword.value.value)), node.args[0]


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


class _Source:
    """A module, in which variables and functions are looked up."""

    def __init__(self, tree: ast.Module) -> None:
        self._functions = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}

    def text(self, words: ast.expr, scope: ast.FunctionDef, given: Mapping[str, str]) -> str:
        """Return a sentence with gaps; an empty text when it comes from elsewhere.

        Args:
            words: The expression.
            scope: The function in which it stands.
            given: What the function's parameters are.
        """
        if isinstance(words, ast.Constant):
            return str(words.value)
        if isinstance(words, ast.JoinedStr):
            parts = [self._part(part, scope, given) for part in words.values]
            return re.sub(rf"{_GAP}(?: ?{_GAP})+", _GAP, "".join(parts))
        if isinstance(words, ast.Name):
            if words.id in given:
                return given[words.id]
            known = [
                node for node in ast.walk(scope)
                if isinstance(node, ast.Assign) and node.lineno < words.lineno and _name(node.targets[0]) == words.id
            ]  # fmt: skip
            return self.text(known[-1].value, scope, given) if known else ""
        if isinstance(words, ast.Call) and _name(words.func) in self._functions:
            return self._made(words, scope, given)
        return ""

    def _part(self, part: ast.expr, scope: ast.FunctionDef, given: Mapping[str, str]) -> str:
        if isinstance(part, ast.FormattedValue):
            return self.text(part.value, scope, given) or _GAP
        return self.text(part, scope, given)

    def _made(self, call: ast.Call, scope: ast.FunctionDef, given: Mapping[str, str]) -> str:
        """Return the sentence that a function of the module makes: its variable `sentence`, else what it returns."""
        function = self._functions[_name(call.func)]
        names = [argument.arg for argument in function.args.args if argument.arg != "self"]
        bound = {name: self.text(value, scope, given) for name, value in zip(names, call.args, strict=False)}
        bound = {name: text for name, text in bound.items() if text}
        for node in ast.walk(function):
            if isinstance(node, ast.Assign) and _name(node.targets[0]) == "sentence":
                return self.text(node.value, function, bound)
        returned = [node.value for node in ast.walk(function) if isinstance(node, ast.Return) and node.value]
        return self.text(returned[0], function, bound) if len(returned) == 1 else ""
