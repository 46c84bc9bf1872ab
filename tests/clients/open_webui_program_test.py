"""open-webui itself beside the server, where OPEN_WEBUI names a virtual environment that holds it (requirements-open-webui.txt):
its API, and a question asked in its page by Chromium."""
import json
import os
import shutil
import socket
import subprocess
import time
import unittest
import urllib.error
import urllib.request

from served import QUESTION, Server, folder

VENV = os.environ.get("OPEN_WEBUI", "")
SECONDS_TO_START = 600  # it sets its database up, and loads torch
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")


def open_browser():
    from selenium import webdriver
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1400,900",
                     "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"):
        options.add_argument(argument)
    return webdriver.Chrome(service=webdriver.ChromeService(DRIVER), options=options)


def wait_for(condition, seconds, what):
    end = time.time() + seconds
    while not (found := condition()):
        if time.time() > end:
            raise AssertionError(f"{what} did not come")
        time.sleep(0.1)
    return found


@unittest.skipUnless(VENV, "OPEN_WEBUI names no virtual environment with open-webui")
class OpenWebuiProgramTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            cls.port = free.getsockname()[1]
        data = folder()
        # Its page offers the model tools of its own, which are not supported.
        cls.server = Server("--alias", "strong=cbs:steer=0.7", "--ignore-tools")
        cls.addClassCleanup(cls.server.stop)
        log = cls.enterClassContext(open(data / "log", "w"))
        environment = {**os.environ, "DATA_DIR": str(data), "WEBUI_AUTH": "False", "OPENAI_API_BASE_URL": cls.server.url,
                       "OPENAI_API_KEY": "none", "ENABLE_OLLAMA_API": "False", "RAG_EMBEDDING_ENGINE": "openai",
                       "HF_HUB_OFFLINE": "1", "OFFLINE_MODE": "True", "WEBUI_SECRET_KEY": "test"}
        cls.program = subprocess.Popen([f"{VENV}/bin/open-webui", "serve", "--host", "127.0.0.1", "--port", str(cls.port)],
                                       cwd=data, env=environment, stdout=log, stderr=log)
        cls.addClassCleanup(cls.program.wait, 30)
        cls.addClassCleanup(cls.program.terminate)
        wait_for(cls.answers, SECONDS_TO_START, "an answer of open-webui")

    @classmethod
    def answers(cls):
        if cls.program.poll() is not None:
            raise AssertionError("open-webui ended")
        try:
            return cls.send("/health")
        except (urllib.error.URLError, OSError):
            return None

    @classmethod
    def send(cls, path, body=None, token=""):
        request = urllib.request.Request(f"http://127.0.0.1:{cls.port}{path}", data=None if body is None else json.dumps(body).encode(),
                                         headers={"Content-Type": "application/json", "Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read().decode()

    def test_models_and_a_streamed_search(self):
        token = json.loads(self.send("/api/v1/auths/signin", {"email": "", "password": ""}))["token"]
        models = [model["id"] for model in json.loads(self.send("/api/models", token=token))["data"]]
        self.assertIn("tiny-dense@cbs", models)
        self.assertIn("strong", models)
        stream = self.send("/api/chat/completions", {"model": "strong", "stream": True, "messages": [
            {"role": "user", "content": QUESTION}]}, token)
        self.assertIn("boxed", stream)
        self.assertIn("data: [DONE]", stream)

    @unittest.skipUnless(CHROMIUM and DRIVER, "there is no chromium with its chromedriver")
    def test_a_question_asked_in_its_page(self):
        from selenium.webdriver.common.by import By
        from selenium.webdriver.common.keys import Keys
        browser = open_browser()
        self.addCleanup(browser.quit)
        browser.get(f"http://127.0.0.1:{self.port}/?models=strong")
        field = wait_for(lambda: browser.find_elements(By.ID, "chat-input"), 120, "the page")[0]
        # What is new in this version stands before everything else.
        wait_for(lambda: browser.execute_script(
            "const b = [...document.querySelectorAll('[role=dialog] button')].find(b => b.textContent.includes('Go'));"
            "if (b) b.click(); return !document.querySelector('[role=dialog]');"), 60, "the page without a dialog")
        field.click()
        field.send_keys(QUESTION, Keys.ENTER)
        # The page replaces the element while the answer arrives, so it is looked for again each time.
        shown = "return document.querySelector('#response-content-container')?.innerText ?? ''"
        wait_for(lambda: "33" in browser.execute_script(shown), 180, "the result in the answer")
        asked = wait_for(lambda: [line for line in self.server.log if line.get("model") == "strong" and line["status"] == 200
                                  and line.get("scored_tokens")], 60, "a search in the log")
        self.assertGreater(asked[-1]["generated_tokens"], asked[-1]["completion_tokens"], "more than one beam was drawn")


if __name__ == "__main__":
    unittest.main()
