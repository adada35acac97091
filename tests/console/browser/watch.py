"""A browser window that is watched: whatever a page does that none may do is written down."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, ConsoleMessage, Dialog, Locator, Page, Request, Response


# Before any script of a page: what the page's policy refused is said, and so is that a script of a document ran.
_BEFORE: Final = """
document.addEventListener("securitypolicyviolation", (event) =>
  console.error(`policy: ${event.violatedDirective} refused ${event.blockedURI} at ${location.href}`));
window.x = 0;
window.evil = () => console.error("a script of a document ran");  // what x-evil() comes to
"""
_REFUSED: Final = "Failed to load resource: the server responded with a status of 4"
# What stands out at the right of the page, but for what scrolls inside a part of it.
_TOO_WIDE: Final = """() => {
  const scrolls = (element) => {
    for (let at = element.parentElement; at && at !== document.body; at = at.parentElement)
      if (getComputedStyle(at).overflowX !== "visible") return true;
    return false;
  };
  const root = document.documentElement;
  if (Math.max(root.scrollWidth, document.body.scrollWidth) <= root.clientWidth) return [];
  const wide = [...document.body.querySelectorAll("*")].filter(
    (each) => each.getBoundingClientRect().right > root.clientWidth + 0.5 && !scrolls(each));
  return [`${root.scrollWidth} of ${root.clientWidth}`, ...wide.map((each) => each.outerHTML.slice(0, 160))];
}"""
# The cells of tables that are narrower than the longest word in them, and bars of which a person sees nothing.
_BROKEN: Final = """() => {
  const wordy = (cell) => Math.max(...cell.innerText.split(/[\\s/·-]+/).map((word) => Math.min(word.length, 8)));
  const cells = [...document.querySelectorAll("th, td")].filter((cell) => cell.innerText.trim());
  const bars = [...document.querySelectorAll("progress, meter, svg.bar")];
  return [...cells.filter((cell) => cell.getBoundingClientRect().width < 4 * wordy(cell)),
    ...bars.filter((bar) => bar.getBoundingClientRect().width < 40)].map((each) => each.outerHTML.slice(0, 160));
}"""
# Whether a person sees where the focus is: on the screen, covered by nothing, and with a ring around it.
_FOCUS: Final = """() => {
  const at = document.activeElement;
  if (!at || at === document.body) return "nothing has the focus";
  const box = at.getBoundingClientRect();
  const said = at.outerHTML.slice(0, 160);
  if (box.width < 1 || box.height < 1) return `of no size: ${said}`;
  if (box.bottom <= 0 || box.right <= 0 || box.top >= innerHeight || box.left >= innerWidth) return `off: ${said}`;
  const style = getComputedStyle(at);
  const ring = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1.5;
  return ring ? "" : `no ring: ${said}`;
}"""
_RUN_AXE: Final = """async () => (await axe.run({ resultTypes: ["violations"] })).violations.flatMap(
  (rule) => rule.nodes.map((node) => `${rule.id}: ${node.html.slice(0, 160)} (${node.failureSummary})`))"""


@dataclass
class Watch:
    """One person's browser window, and what was wrong in it. `refusals`: pages may answer with 4xx;
    `plain`: it runs no scripts."""

    url: str
    context: BrowserContext
    refusals: bool = False
    plain: bool = False
    wrong: list[str] = field(default_factory=list)
    page: Page = field(init=False)

    def __post_init__(self) -> None:
        self.context.add_init_script(_BEFORE)
        self.page = self.context.new_page()
        self.context.on("page", lambda page: self.wrong.append(f"a window opened: {page.url}"))
        self.context.on("request", self._asks)
        self.context.on("response", self._answers)
        self.context.on("console", self._says)
        self.context.on("weberror", lambda error: self.wrong.append(f"error: {error.error}"))
        self.context.on("dialog", self._opens)

    def go(self, path: str) -> Response:
        """Open a page of the console."""
        answer = self.page.goto(path)
        assert answer is not None
        return answer

    def main(self) -> str:
        """What a person reads on the page, in one line."""
        self.page.wait_for_load_state()
        return " ".join(self.page.locator("main").inner_text().split())

    def label(self, text: str) -> Locator:
        """The field of a form whose label begins with this text."""
        inside = self.page.locator("label", has_text=re.compile(rf"^\s*{text}")).locator("input, select, textarea")
        return inside.or_(self.page.get_by_label(text, exact=True)).first

    def button(self, text: str) -> Locator:
        """The first button with this text."""
        return self.page.get_by_role("button", name=text).first

    def link(self, text: str) -> Locator:
        """The first link with exactly this text."""
        return self.page.get_by_role("link", name=text, exact=True).first

    def fits(self) -> None:
        """Nothing may stand out of the page sideways."""
        self.page.wait_for_load_state()
        if wide := self.page.evaluate(_TOO_WIDE):
            self.wrong.append(f"too wide: {self.page.url}: {wide}")

    def reads(self) -> None:
        """No word of a table may be broken for want of room, and no bar be a dot."""
        self.page.wait_for_load_state()
        self.wrong += (f"too narrow: {self.page.url}: {each}" for each in self.page.evaluate(_BROKEN))

    def accessible(self) -> None:
        """None of axe-core's rules may be violated."""
        self.page.wait_for_load_state()
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(_axe())
        self.wrong += (f"{each} on {self.page.url}" for each in self.page.evaluate(_RUN_AXE))

    def focus(self) -> str:
        """The text or name of what has the focus, which a person has to see."""
        return " ".join(str(self.at_focus("document.activeElement.innerText || document.activeElement.name")).split())

    def at_focus(self, asked: str) -> Any:
        """What a script says, while something has the focus that a person has to see."""
        why, told = self.page.evaluate(f"[({_FOCUS})(), {asked}]")
        assert not why, (self.page.url, why)
        return told

    def _asks(self, request: Request) -> None:
        if not request.url.startswith((f"{self.url}/", "data:")):
            self.wrong.append(f"asked for {request.url}")

    def _answers(self, response: Response) -> None:
        if response.status >= 500 or (response.status >= 400 and not self.refusals):
            self.wrong.append(f"{response.request.method} {response.url}: {response.status}")

    def _says(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not (self.refusals and message.text.startswith(_REFUSED)):
            self.wrong.append(f"console: {message.text} ({message.location.get('url')})")

    def _opens(self, dialog: Dialog) -> None:
        self.wrong.append(f"a dialog: {dialog.message}")
        dialog.dismiss()


@cache
def _axe() -> str:
    """The script of axe-core."""
    return (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
