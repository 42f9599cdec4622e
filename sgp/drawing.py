"""SVG primitives: text in, text out; every name and number is escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape


def element(tag: str, content: Iterable[str], /, **attributes: object) -> str:
    """One element; underscores in attribute names become hyphens. `content` is markup (one string, or several)."""
    inner = "".join(content)
    listed = "".join(f' {name.replace("_", "-")}="{escape(_plain(value))}"' for name, value in attributes.items())
    return f"<{tag}{listed}>{inner}</{tag}>" if inner else f"<{tag}{listed}/>"


def _plain(value: object) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def text(words: str, x: float, y: float, **attributes: object) -> str:
    """A line of text."""
    return element("text", escape(words), x=x, y=y, **attributes)


def line(x1: float, y1: float, x2: float, y2: float, **attributes: object) -> str:
    """A straight line."""
    return element("line", "", x1=x1, y1=y1, x2=x2, y2=y2, **attributes)


def rect(x: float, y: float, width: float, height: float, **attributes: object) -> str:
    """A rectangle."""
    return element("rect", "", x=x, y=y, width=width, height=height, **attributes)


def circle(x: float, y: float, radius: float, **attributes: object) -> str:
    """A circle."""
    return element("circle", "", cx=x, cy=y, r=radius, **attributes)


def picture(width: float, height: float, parts: Iterable[str], title: str) -> str:
    """A whole SVG of `width` x `height`, with a title for screen readers."""
    return (
        element(
            "svg",
            [element("title", escape(title)), *parts],
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {_plain(width)} {_plain(height)}",
            width=width,
            height=height,
            role="img",
            font_family="system-ui, sans-serif",
            font_size=12,
        )
        + "\n"
    )
