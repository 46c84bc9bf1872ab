"""HTML for notebooks."""
from __future__ import annotations

import html
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

# The colours of the page of a search: blue where the positive context makes a token likelier, red where the negative one does.
_POSITIVE, _NEGATIVE = "42, 120, 214", "227, 73, 72"


def frame(page: str, height: int = 640) -> str:
    """A whole page within a cell; it sees nothing of the notebook."""
    return (f'<iframe sandbox="allow-scripts allow-downloads" style="width: 100%; height: {height}px; border: 1px solid #8884" '
            f'title="The tree of a search" srcdoc="{html.escape(page, quote=True)}"></iframe>')


def _shade(reward: float) -> str:
    strength = min(abs(reward), 2.0) / 2.0 * 0.6
    return f"rgba({_POSITIVE if reward > 0 else _NEGATIVE}, {strength:.2f})"


def coloured(pieces: Sequence[str], rewards: npt.NDArray[np.float32], text: str, note: str) -> str:
    """A text whose tokens have the colour of their reward, and a line below it."""
    if len(rewards) >= len(pieces) and pieces and np.any(rewards):
        spans = [f'<span style="background: {_shade(float(reward))}" title="reward {reward:+.3f}">{html.escape(piece)}</span>'
                 for piece, reward in zip(pieces, rewards)]
        shown = "".join(spans)
    else:
        shown = html.escape(text)
    return (f'<div style="white-space: pre-wrap; line-height: 1.6">{shown}</div>'
            f'<div style="opacity: 0.7; font-size: smaller">{html.escape(note)}</div>')
