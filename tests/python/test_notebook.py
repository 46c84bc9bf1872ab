"""The example notebook runs from its first cell to its last, and its tree is drawn in a browser."""
import json
import os
import re
import shutil
import sys
from pathlib import Path

import pytest
from conftest import ROOT

NOTEBOOK = ROOT / "examples/python/counterbeam.ipynb"


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    nbformat = pytest.importorskip("nbformat")
    client = pytest.importorskip("nbclient")
    exporters = pytest.importorskip("nbconvert.exporters")
    folder = tmp_path_factory.mktemp("notebook")
    notebook = nbformat.read(NOTEBOOK, 4)
    client.NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(folder)}}).execute()
    page = folder / "notebook.html"
    page.write_text(exporters.HTMLExporter().from_notebook_node(notebook)[0], encoding="utf-8")
    return notebook, page


def numbers(notebook):
    """The answers that its cells print, in order."""
    shown = ["".join(output.get("text", "")) for cell in notebook["cells"] for output in cell.get("outputs", [])]
    return [re.findall(r"boxed\{(\d+)\}", text) for text in shown if "boxed" in text]


def test_it_runs_and_its_answers_are_those_committed(executed):
    committed = json.loads(NOTEBOOK.read_text())
    assert NOTEBOOK.stat().st_size < 400_000
    assert all(cell["outputs"] for cell in committed["cells"] if cell["cell_type"] == "code")
    assert numbers(committed)[:2] == [["465"], ["87"]]
    assert numbers(executed[0])[:2] == numbers(committed)[:2]


def test_its_tree_is_drawn_in_a_browser(executed):
    selenium = pytest.importorskip("selenium")
    if not shutil.which("chromium") or not Path("/usr/bin/chromedriver").exists():
        pytest.skip("chromium and chromedriver are not installed (tools/setup web)")
    assert selenium
    sys.path.insert(0, str(ROOT / "tests/web"))
    import browser as web
    page = web.open_browser()
    try:
        page.get(executed[1].as_uri())
        frames = page.find_elements("css selector", 'iframe[title="The tree of a search"]')
        assert frames
        page.execute_script("arguments[0].scrollIntoView()", frames[0])
        page.switch_to.frame(frames[0])
        web.wait_for(lambda: page.execute_script("return typeof tree !== 'undefined' && tree.drawing.stats.frames"), what="the first frame")
        assert page.execute_script("return document.body.innerText.length") > 100
        page.switch_to.default_content()
        if os.environ.get("COUNTERBEAM_SHOT"):
            page.save_screenshot(os.environ["COUNTERBEAM_SHOT"])
    finally:
        page.quit()
