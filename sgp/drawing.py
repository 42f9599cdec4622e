"""SVG primitives: text in, text out; every name and number is escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from html import escape


def element(tag: str, content: Iterable[str], /, **attributes: object) -> str:
    """One element. `content` is markup (one string, or several)."""
    inner = "".join(content)
    listed = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escaped(_plain(value))}"' for name, value in attributes.items()
    )
    return f"<{tag}{listed}>{inner}</{tag}>" if inner else f"<{tag}{listed}/>"


def _plain(value: object) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


_NOT_IN_XML = re.compile("[^\\t\\n\\r\\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@lru_cache(maxsize=1 << 14)  # a rollout's drawings repeat the same words and numbers
def escaped(words: str) -> str:
    """Words as markup that shows them; characters that XML forbids become U+FFFD."""
    return escape(_NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", words))


def text(words: str, x: float, y: float, **attributes: object) -> str:
    """A line of text."""
    return element("text", escaped(words), x=x, y=y, **attributes)


def line(x1: float, y1: float, x2: float, y2: float, **attributes: object) -> str:
    """A straight line."""
    return element("line", "", x1=x1, y1=y1, x2=x2, y2=y2, **attributes)


def rect(x: float, y: float, width: float, height: float, **attributes: object) -> str:
    """A rectangle."""
    return element("rect", "", x=x, y=y, width=width, height=height, **attributes)


def circle(x: float, y: float, radius: float, **attributes: object) -> str:
    """A circle."""
    return element("circle", "", cx=x, cy=y, r=radius, **attributes)


def path(steps: str, **attributes: object) -> str:
    """A path, `steps` in SVG's own notation."""
    return element("path", "", d=steps, **attributes)


def group(title: str, parts: Iterable[str], **attributes: object) -> str:
    """Parts that belong together, with a title that browsers show where the pointer rests."""
    return element("g", [element("title", escaped(title)), *parts], **attributes)


def picture(width: float, height: float, parts: Iterable[str], title: str, **attributes: object) -> str:
    """A whole SVG of `width` x `height`, with a title for screen readers."""
    return (
        element(
            "svg",
            [element("title", escaped(title)), *parts],
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {_plain(width)} {_plain(height)}",
            width=width,
            height=height,
            role="img",
            font_family="system-ui, sans-serif",
            font_size=12,
            **attributes,
        )
        + "\n"
    )


def facts(title: str, rows: Mapping[str, object]) -> str:
    """An HTML table of two columns under a title."""
    lines = (
        element("tr", [element("th", escaped(name)), element("td", escaped(str(value)))])
        for name, value in rows.items()
    )
    return element("strong", escaped(title)) + element("table", lines)


def size(svg: str) -> tuple[float, float]:
    """Width and height of a `picture`."""
    found = re.match(r'<svg [^>]*?\bwidth="([\d.]+)" height="([\d.]+)"', svg)
    assert found is not None
    return float(found[1]), float(found[2])
