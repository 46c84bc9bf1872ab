"""A headless Chromium for the page tests, and a page made by the program itself."""
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("COUNTERBEAM", str(ROOT / "build/release/counterbeam"))


def open_browser(width=1400, height=900, dark=False):
    options = Options()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     f"--window-size={width},{height}", "--host-resolver-rules=MAP * ~NOTFOUND"):
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


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], check=True, capture_output=True, text=True).stdout


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
