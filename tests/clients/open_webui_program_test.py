"""open-webui itself beside the server, where OPEN_WEBUI names a virtual environment that holds it (requirements-open-webui.txt)."""
import json
import os
import socket
import subprocess
import time
import unittest
import urllib.error
import urllib.request

from served import QUESTION, Server, folder

VENV = os.environ.get("OPEN_WEBUI", "")


@unittest.skipUnless(VENV, "OPEN_WEBUI names no virtual environment with open-webui")
class OpenWebuiProgramTest(unittest.TestCase):
    def send(self, path, body=None, token=""):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data=None if body is None else json.dumps(body).encode(),
                                         headers={"Content-Type": "application/json", "Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read().decode()

    def wait_until_it_answers(self, process):
        for _ in range(600):
            self.assertIsNone(process.poll(), "open-webui ended")
            try:
                self.send("/health")
                return
            except (urllib.error.URLError, OSError):
                time.sleep(0.5)
        self.fail("open-webui does not answer")

    def test_models_and_a_streamed_search(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        data = folder()
        with Server("--alias", "strong=cbs:steer=0.7") as server, open(data / "log", "w") as log:
            environment = {**os.environ, "DATA_DIR": str(data), "WEBUI_AUTH": "False", "OPENAI_API_BASE_URL": server.url,
                           "OPENAI_API_KEY": "none", "ENABLE_OLLAMA_API": "False", "RAG_EMBEDDING_ENGINE": "openai",
                           "HF_HUB_OFFLINE": "1", "OFFLINE_MODE": "True", "WEBUI_SECRET_KEY": "test"}
            process = subprocess.Popen([f"{VENV}/bin/open-webui", "serve", "--host", "127.0.0.1", "--port", str(self.port)],
                                       cwd=data, env=environment, stdout=log, stderr=log)
            try:
                self.wait_until_it_answers(process)
                token = json.loads(self.send("/api/v1/auths/signin", {"email": "", "password": ""}))["token"]
                models = [model["id"] for model in json.loads(self.send("/api/models", token=token))["data"]]
                self.assertIn("tiny-dense@cbs", models)
                self.assertIn("strong", models)
                stream = self.send("/api/chat/completions", {"model": "strong", "stream": True, "messages": [
                    {"role": "user", "content": QUESTION}]}, token)
                self.assertIn("boxed", stream)
                self.assertIn("data: [DONE]", stream)
            finally:
                process.terminate()
                process.wait(30)


if __name__ == "__main__":
    unittest.main()
