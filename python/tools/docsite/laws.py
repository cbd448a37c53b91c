"""Formulas at the heads of protocol files, as LaTeX.

A block ```` ```math ```` of a `//!` header holds one formula a line, and behind two blanks or more
when it applies:

    cwnd <- cwnd*(1 + xi)^(rtt/t_rho)    low load (eqs. 2 and 6)

The notation is that of the sources: `<-` sets, `^` raises, what follows `_` is an index, Greek
letters have their names (`lam` for lambda), `p_prime` is p', and `a if b else c` gives two cases.
"""

from __future__ import annotations

import ast
import re

GREEK = frozenset(
    [
        *("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "kappa", "lambda"),
        *("mu", "nu", "xi", "pi", "rho", "sigma", "tau", "phi", "chi", "psi", "omega"),
        *("Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Phi", "Psi", "Omega"),
    ]
)
FUNCTIONS = {"max", "min", "ln", "log", "exp", "log2"}
OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Eq: "=",
    ast.NotEq: r"\neq",
    ast.Lt: "<",
    ast.LtE: r"\leq",
    ast.Gt: ">",
    ast.GtE: r"\geq",
    ast.LShift: r"\leftarrow",
}
SUM, PRODUCT, POWER, ATOM = 1, 2, 3, 4


def rows(block: str) -> list[tuple[str, str]]:
    """Each formula of a block as LaTeX, with when it applies."""
    found = []
    for line in block.strip().splitlines():
        formula, _, when = re.sub(r"\s{2,}", "\x00", line.strip()).partition("\x00")
        found.append((latex(formula), when.replace("\x00", " ")))
    return found


def latex(formula: str) -> str:
    """One formula. Raises ValueError for what is none."""
    text = re.sub(r"(?<![<>=!])=(?!=)", "==", formula.replace("<-", "<<").replace("^", "**"))
    try:
        return _tex(ast.parse(text.strip(), mode="eval").body)[0]
    except SyntaxError as error:
        raise ValueError(f"{formula!r} is no formula: {error.msg}") from error


def name(word: str) -> str:
    """A variable: Greek letters by name, and everything behind a `_` as an index."""
    head, _, index = word.partition("_")
    symbol = "lambda" if head == "lam" else head
    if symbol in GREEK:
        made = rf"\{symbol}"
    else:
        made = symbol if len(symbol) == 1 else rf"\mathit{{{symbol}}}"
    if index == "prime":
        return f"{made}'"
    return f"{made}_{{{name(index)}}}" if index else made


def _grouped(part: tuple[str, int], least: int) -> str:
    text, level = part
    return text if level >= least else rf"\left({text}\right)"


def _tex(node: ast.AST) -> tuple[str, int]:  # noqa: PLR0911 - one for each kind of node
    match node:
        case ast.Name():
            return name(node.id), ATOM
        case ast.Constant():
            return str(node.value), ATOM
        case ast.UnaryOp(op=ast.USub()):
            return f"-{_grouped(_tex(node.operand), PRODUCT)}", SUM
        case ast.BinOp():
            return _binary(node)
        case ast.Compare():
            parts = [_tex(node.left)[0]]
            for operator, right in zip(node.ops, node.comparators, strict=True):
                parts += [OPERATORS[type(operator)], _tex(right)[0]]
            return " ".join(parts), 0
        case ast.BoolOp():
            word = r"\text{ and }" if isinstance(node.op, ast.And) else r"\text{ or }"
            return word.join(_tex(value)[0] for value in node.values), 0
        case ast.IfExp():
            test, then = _tex(node.test)[0], _tex(node.body)[0]
            other = _tex(node.orelse)[0]
            cases = rf"{then} & \text{{if }} {test} \\ {other} & \text{{else}}"
            return rf"\begin{{cases}} {cases} \end{{cases}}", ATOM
        case ast.Call(func=ast.Name(id=called)):
            return _call(called, [_tex(one)[0] for one in node.args])
    raise ValueError(f"{ast.unparse(node)} is not known in formulas")


def _binary(node: ast.BinOp) -> tuple[str, int]:
    left, right = _tex(node.left), _tex(node.right)
    match node.op:
        case ast.Div():
            return rf"\frac{{{left[0]}}}{{{right[0]}}}", PRODUCT
        case ast.Mult():
            number = isinstance(node.right, ast.Constant)
            sign = r" \cdot " if number else r" \, "
            return f"{_grouped(left, PRODUCT)}{sign}{_grouped(right, PRODUCT)}", PRODUCT
        case ast.Pow():
            exponent = right[0]
            if isinstance(node.right, ast.BinOp) and isinstance(node.right.op, ast.Div):
                # Small as it is, it stays on one line.
                parts = (_tex(node.right.left), _tex(node.right.right))
                exponent = "/".join(_grouped(part, POWER) for part in parts)
            return f"{_grouped(left, ATOM)}^{{{exponent}}}", POWER
        case ast.LShift():
            return rf"{left[0]} \leftarrow {right[0]}", 0
        case ast.Add() | ast.Sub():
            least = PRODUCT if isinstance(node.op, ast.Sub) else SUM
            sign = OPERATORS[type(node.op)]
            return f"{_grouped(left, SUM)} {sign} {_grouped(right, least)}", SUM
    raise ValueError(f"{ast.unparse(node)} is not known in formulas")


def _call(called: str, parts: list[str]) -> tuple[str, int]:
    if called == "sqrt":
        return rf"\sqrt{{{parts[0]}}}", ATOM
    if called == "abs":
        return rf"\lvert {parts[0]} \rvert", ATOM
    if called in ("floor", "ceil"):
        return rf"\l{called} {parts[0]} \r{called}", ATOM
    if called == "sum":
        return rf"\sum {parts[0]}", PRODUCT
    if called == "log2":
        return rf"\log_2\left({parts[0]}\right)", ATOM
    word = rf"\{called}" if called in FUNCTIONS else name(called)
    return rf"{word}\left({', '.join(parts)}\right)", ATOM
