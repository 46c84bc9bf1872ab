"""inspect_ai against the server, through its two OpenAI providers."""
import json
import unittest

from inspect_ai import Task, eval as inspect_eval
from inspect_ai.dataset import Sample
from inspect_ai.model import GenerateConfig, get_model
from inspect_ai.scorer import pattern
from inspect_ai.solver import generate

from served import ROOT, Server, folder

LIMIT = 8


def problems():
    rows = (ROOT / "tasks/tiny-math.jsonl").read_text().splitlines()[:LIMIT]
    return [Sample(input=row["problem"], target=row["answer"], id=row["unique_id"]) for row in map(json.loads, rows)]


class InspectTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def evaluate(self, provider, name, **config):
        # The provider "openai" asks for /responses, which is not served, unless it is told not to.
        more = {"responses_api": False} if provider == "openai" else {}
        model = get_model(f"{provider}/{name}", base_url=self.server.url, api_key="none", memoize=False, **more,
                          config=GenerateConfig(seed=1, max_retries=0, **config))
        task = Task(dataset=problems(), solver=generate(), scorer=pattern(r"boxed\{([^}]*)\}"), name="tiny_math")
        [log] = inspect_eval(task, model=model, display="none", log_dir=str(folder()), log_format="json")
        self.assertEqual(log.status, "success", log.error and log.error.message)
        self.assertEqual(len(log.samples), LIMIT)
        return log

    def test_a_search_by_both_providers(self):
        answers = []
        for provider in ("openai-api/counterbeam", "openai"):
            log = self.evaluate(provider, "tiny-dense@cbs:steer=0.7")
            answers.append([sample.output.completion for sample in log.samples])
            for sample in log.samples:
                self.assertIn("boxed", sample.output.completion)
                self.assertEqual(sample.output.stop_reason, "stop")
                self.assertGreater(sample.output.usage.output_tokens, 0)
        self.assertEqual(*answers)
        accuracy = log.results.scores[0].metrics["accuracy"].value
        right = sum(f"boxed{{{sample.target}}}" in sample.output.completion for sample in log.samples)
        self.assertAlmostEqual(accuracy, right / LIMIT)
        print(f"inspect_ai: {right} of {LIMIT} right")

    def test_plain_sampling_with_log_probabilities_and_a_limit(self):
        log = self.evaluate("openai-api/counterbeam", "tiny-dense", temperature=0, logprobs=True, top_logprobs=3, max_tokens=6)
        for sample in log.samples:
            self.assertEqual(sample.output.stop_reason, "max_tokens")
            content = sample.output.choices[0].logprobs.content
            self.assertEqual(len(content), 6)
            self.assertEqual([len(token.top_logprobs) for token in content], [3] * 6)

    def test_several_choices(self):
        log = self.evaluate("openai-api/counterbeam", "tiny-dense@cbs", num_choices=2)
        for sample in log.samples:
            self.assertEqual(len(sample.output.choices), 2)


if __name__ == "__main__":
    unittest.main()
