"""A Sphinx extension: equations as MathML, which browsers draw themselves. Nothing is fetched."""

from __future__ import annotations

from typing import Any

import latex2mathml.converter
from docutils import nodes
from sphinx.application import Sphinx


def _convert(node: nodes.Element, display: str) -> str:
    return str(latex2mathml.converter.convert(node.astext(), display=display))


def _inline(visitor: Any, node: nodes.math) -> None:
    visitor.body.append(_convert(node, "inline"))
    raise nodes.SkipNode


def _block(visitor: Any, node: nodes.math_block) -> None:
    visitor.body.append(f'<div class="math-block">{_convert(node, "block")}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer `mathml`."""
    app.add_html_math_renderer(
        "mathml", inline_renderers=(_inline, None), block_renderers=(_block, None)
    )
    return {"parallel_read_safe": True, "parallel_write_safe": True}
