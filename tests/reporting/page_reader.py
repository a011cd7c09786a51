"""Reads an HTML page as strictly as a browser is lenient: whatever does not balance or leads out of the page fails."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

UNSEEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\ue000-\uf8ff]"
)
"""Control characters, marks of direction and width, separators, surrogates, private characters."""
_VOID = {"meta", "br"}
_ELEMENTS = {
    "html", "head", "meta", "title", "style", "body", "header", "main", "section", "nav", "div", "p", "h1", "h2", "h3",
    "a", "strong", "em", "small", "code", "pre", "span", "br", "ul", "li", "dl", "dt", "dd", "table", "thead", "tbody",
    "tfoot", "tr", "th", "td", "figure", "figcaption", "details", "summary", "button", "script", "svg", "line",
    "circle", "rect", "text",
}  # fmt: skip
_ATTRIBUTES = {
    "lang", "charset", "http-equiv", "content", "name", "class", "id", "href", "role", "scope", "tabindex", "type",
    "hidden", "data-open", "open", "width", "height", "x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "text-anchor",
    "transform",
}  # fmt: skip


@dataclass
class Page(HTMLParser):
    """What a page holds; AssertionError while reading what no page of ours holds."""

    ids: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    inline: dict[str, list[str]] = field(default_factory=lambda: {"style": [], "script": []})
    policy: str = ""
    text: str = ""
    cells: list[str] = field(default_factory=list)
    _open: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._check(tag, attrs)
        if tag not in _VOID:
            self._open.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._check(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self._open and self._open.pop() == tag, f"</{tag}> at {self.getpos()}"

    def handle_data(self, data: str) -> None:
        inside = self._open[-1] if self._open else ""
        if inside in self.inline:
            self.inline[inside].append(data)
            return
        self.text += data
        if {"td", "th"} & set(self._open):
            self.cells[-1] += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    def handle_pi(self, data: str) -> None:
        raise AssertionError(f"an instruction: {data}")

    def close(self) -> None:
        super().close()
        assert not self._open, f"never closed: {self._open}"

    def _check(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in _ELEMENTS, f"<{tag}> at {self.getpos()}"
        values = dict(attrs)
        assert len(values) == len(attrs), f"an attribute twice in <{tag}> at {self.getpos()}"
        strange = {name for name in values if name not in _ATTRIBUTES and not name.startswith("aria-")}
        assert not strange, f"{strange} in <{tag}> at {self.getpos()}"
        if "id" in values:
            self.ids.append(values["id"] or "")
        if "href" in values:
            self.links.append(values["href"] or "")
        if values.get("http-equiv") == "Content-Security-Policy":
            assert not any(self.inline.values()), "the policy comes before what it is for"
            self.policy = values["content"] or ""


def read_page(html: str) -> Page:
    """Read and judge: balanced, all links within, one style and one script that the policy names, nothing unseen."""
    assert html.startswith("<!DOCTYPE html>\n") and UNSEEN.search(html) is None
    html.encode("utf-8")
    page = Page()
    page.feed(html)
    page.close()
    assert len(page.ids) == len(set(page.ids))
    assert {link.removeprefix("#") for link in page.links} <= set(page.ids), "all links lead to parts of the page"
    assert all(link.startswith("#") for link in page.links)
    for kind, texts in page.inline.items():
        digest = base64.b64encode(hashlib.sha256("".join(texts).encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in page.policy
    assert page.policy.startswith("default-src 'none';") and "unsafe" not in page.policy and "http" not in page.policy
    assert not re.search(r"url\(|@import|expression", "".join(page.inline["style"]))
    assert not re.search(r"fetch|XMLHttp|import|eval|innerHTML", "".join(page.inline["script"]))
    return page
