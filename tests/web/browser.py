"""A headless Chromium for the page tests, a page made by the program itself, and checks of what a reader sees."""
import os
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.actions.action_builder import ActionBuilder
from selenium.webdriver.common.keys import Keys

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("COUNTERBEAM", str(ROOT / "build/release/counterbeam"))


def open_browser(width=1400, height=900, dark=False):
    options = Options()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     f"--window-size={width},{height}", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"):
        options.add_argument(argument)
    if dark:
        options.add_argument("--force-dark-mode")
        options.add_argument("--blink-settings=preferredColorScheme=0")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
    browser.set_window_size(width, height)
    return browser


def complaints(browser):
    """The errors that the page wrote to the console."""
    return [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]


def emulate(browser, width=None, dark=None):
    """A screen of another width, or the other colour scheme; None restores what the browser was opened with."""
    if width:
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False})
    else:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    features = [] if dark is None else [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    # Two frames, so that what the page draws anew at another width is there.
    browser.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")


def download(browser, click, folder):
    """The file that click() makes the page download."""
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(folder)})
    before = set(folder.iterdir())
    click()
    for _ in range(200):
        # Chromium first makes an empty file of the final name, and renames the whole one onto it.
        new = [path for path in set(folder.iterdir()) - before
               if path.suffix != ".crdownload" and not path.name.startswith(".") and path.stat().st_size > 0]
        if new:
            return new[0]
        time.sleep(0.05)
    raise AssertionError("nothing was downloaded")


OVERLAPS = """
const found = [];
for (const drawing of document.querySelectorAll(arguments[0] + ' svg')) {
  const boxes = [...drawing.querySelectorAll('text')].map(e => [e.textContent, e.getBoundingClientRect()]).filter(([, b]) => b.width);
  const whole = drawing.getBoundingClientRect();
  boxes.forEach(([text, a], i) => {
    if (a.left < whole.left - 1 || a.right > whole.right + 1 || a.top < whole.top - 1 || a.bottom > whole.bottom + 1) found.push([text, 'leaves the drawing']);
    for (const [other, b] of boxes.slice(i + 1)) {
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left), high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (wide > 0.5 && high > 2) found.push([text, other]);  // boxes of lines include some room above and below
    }
  });
}
return found;
"""


def overlapping_labels(browser, where=""):
    """Pairs of texts in drawings whose boxes overlap, and texts that leave their drawing."""
    return browser.execute_script(OVERLAPS, where)


CONTRAST = """
const parse = text => {
  const n = (text.match(/[-\\d.e]+/g) || []).map(Number), unit = text.startsWith('color(') ? 255 : 1;
  return n.length < 3 ? [0, 0, 0, 0] : [n[0] * unit, n[1] * unit, n[2] * unit, n[3] ?? 1];
};
const over = (top, below) => [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
const light = c => { const [r, g, b] = c.map(v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
const ground = element => {
  if (!element) return [255, 255, 255, 1];
  const own = parse(getComputedStyle(element).backgroundColor);
  return own[3] === 1 ? own : over(own, ground(element.parentElement));
};
const found = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
for (let node; (node = walker.nextNode()); ) {
  const e = node.parentElement, style = getComputedStyle(e), box = e.getBoundingClientRect();
  if (!node.data.trim() || !box.width || style.visibility === 'hidden' || e.closest('script, style, option, title, button:disabled')) continue;
  const drawn = e.closest('svg'), band = drawn && e.closest('.row.group') && e.closest('.row').querySelector('.band');
  const below = band ? parse(getComputedStyle(band).fill) : ground(e), text = over(parse(drawn ? style.fill : style.color), below);
  const [a, b] = [light(text), light(below)].sort((x, y) => y - x), contrast = (a + 0.05) / (b + 0.05);
  if (contrast < 4.5) found.push([node.data.trim().slice(0, 40), e.className.baseVal ?? e.className, Number(contrast.toFixed(2))]);
}
return found;
"""


def low_contrast(browser):
    """Texts whose contrast with what is behind them is below 4.5, the bound of WCAG AA."""
    return browser.execute_script(CONTRAST)


def unnamed_controls(browser):
    """Controls, images and regions that a screen reader has no name for, by the browser's own accessibility tree."""
    roles = {"button", "link", "textbox", "searchbox", "slider", "combobox", "listbox", "checkbox", "radio", "spinbutton", "tree", "treeitem",
             "switch", "tab", "menuitem", "img", "image", "region", "dialog", "group", "navigation"}
    found = []
    for node in browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]:
        role = node.get("role", {}).get("value")
        if not node.get("ignored") and role in roles and not node.get("name", {}).get("value", "").strip():
            if role != "group" or any(p["name"] == "focusable" for p in node.get("properties", [])):
                found.append((role, node.get("backendDOMNodeId")))
    return found


def tab_stops(browser, most=80):
    """Goes through the page by the Tab key: (tag, name or text, whether the focus can be seen) of each stop."""
    stops = []
    browser.execute_script("document.activeElement.blur(); window.scrollTo(0, 0)")
    for _ in range(most):
        ActionChains(browser).send_keys(Keys.TAB).perform()
        stop = browser.execute_script("""
            const e = document.activeElement, style = getComputedStyle(e);
            if (e === document.body || e.dataset.tabbed) return null;
            e.dataset.tabbed = 1;
            return [e.localName, e.getAttribute('aria-label') || e.textContent.slice(0, 40), style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 1];""")
        if not stop:
            break
        stops.append(tuple(stop))
    browser.execute_script("document.querySelectorAll('[data-tabbed]').forEach(e => delete e.dataset.tabbed)")
    return stops


def click_at(browser, place):
    """Clicks at a place of the window: {"x", "y"} in pixels."""
    action = ActionBuilder(browser)
    action.pointer_action.move_to_location(round(place["x"]), round(place["y"]))
    action.pointer_action.click()
    action.perform()


def wait_for(condition, seconds=30, what="what the test waits for"):
    """The first true value of condition(); fails after some seconds."""
    for _ in range(int(seconds * 20)):
        value = condition()
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError(f"{what} did not come within {seconds} s")


def sideways(browser):
    """How many pixels wider the page is than its window."""
    return browser.execute_script("return document.documentElement.scrollWidth - document.documentElement.clientWidth")


def run(*arguments):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(f"{' '.join(arguments)}: exit {done.returncode}\n{done.stderr}")
    return done.stdout


def folder():
    return Path(tempfile.mkdtemp(prefix="counterbeam-web-"))


class PageTest(unittest.TestCase):
    """Tests of one page, loaded anew for each. A subclass sets cls.url before it calls setUpClass of this class."""

    @classmethod
    def setUpClass(cls):
        cls.page = open_browser()

    @classmethod
    def tearDownClass(cls):
        cls.page.quit()

    def setUp(self):
        self.page.get("about:blank")
        self.page.get(self.url)
