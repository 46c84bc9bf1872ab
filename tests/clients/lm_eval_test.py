"""lm-evaluation-harness against the server. Its log-likelihoods, choices and greedy answers must be those of `counterbeam logits` and of
transformers on the same checkpoint in float32."""
import json
import os
import subprocess
import sys
import unittest

import numpy
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from served import MODELS, Server, folder, run

HERE = os.path.dirname(os.path.abspath(__file__))
TOLERANCE = 1e-3
CHOICE, MATH = 12, 12  # problems of each run


def evaluate(kind, url, name, task, limit, *options, tokenizer="huggingface", generation=None):
    """(results, samples) of the command line of the harness."""
    out = folder()
    arguments = {"model": name, "base_url": url, "tokenizer_backend": tokenizer, "num_concurrent": 4}
    if tokenizer == "huggingface":
        arguments["tokenizer"] = MODELS / "tiny-dense" if "dense" in name else MODELS / "tiny-hybrid"
    command = [sys.executable, "-m", "lm_eval", "run", "--model", kind, "--tasks", task, "--include_path", "lm_eval_tasks",
               "--model_args", ",".join(f"{key}={value}" for key, value in arguments.items()), "--limit", str(limit), "--log_samples",
               "--output_path", str(out), *options]
    if generation:
        command += ["--gen_kwargs", generation]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_DATASETS_CACHE": str(out / "cache"), "OPENAI_API_KEY": "none"}
    done = subprocess.run(command, cwd=HERE, env=environment, capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise AssertionError(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr[-4000:]}")
    results = json.loads(next(out.rglob("results_*.json")).read_text())["results"][task]
    samples = [json.loads(line) for line in next(out.rglob(f"samples_{task}_*.jsonl")).read_text().splitlines()]
    return results, sorted(samples, key=lambda sample: sample["doc_id"])


class Reference:
    """The same checkpoint in transformers and in `counterbeam logits`, float32."""

    def __init__(self, name):
        torch.set_num_threads(1)  # the models are small; two threads wait for each other beside the server
        self.folder = MODELS / name
        self.tokenizer = AutoTokenizer.from_pretrained(self.folder)
        self.model = AutoModelForCausalLM.from_pretrained(self.folder, dtype=torch.float32).eval()

    def transformers(self, ids):
        """Log-probabilities [ids, vocabulary] of what follows each id."""
        with torch.inference_mode():
            return torch.log_softmax(self.model(torch.tensor([ids])).logits[0].double(), -1).numpy()

    def counterbeam(self, ids):
        out = folder()
        (out / "ids.json").write_text(json.dumps(ids))
        run("logits", "--model", self.folder, "--dtype", "f32", "--ids", out / "ids.json", "--out", out / "logits.npy", "-q")
        logits = torch.from_numpy(numpy.load(out / "logits.npy")).double()
        return torch.log_softmax(logits, -1).numpy()

    def both(self, ids):
        return self.transformers(ids), self.counterbeam(ids)


def continuation_score(scores, ids, length):
    """(log-likelihood, whether it is the greedy one) of the last length ids."""
    at = range(len(ids) - length, len(ids))
    return sum(scores[i - 1][ids[i]] for i in at), all(scores[i - 1].argmax() == ids[i] for i in at)


class LmEvalTest(unittest.TestCase):
    NAME = "tiny-dense"
    ANSWERS = MATH

    @classmethod
    def setUpClass(cls):
        cls.server = Server("--dtype", "f32", model=cls.NAME)
        cls.reference = Reference(cls.NAME)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def check_choices(self, results, samples, limit):
        tokenizer, right, differences = self.reference.tokenizer, 0, []
        self.assertEqual(len(samples), limit)
        for sample in samples:
            values, lists = [], ([], [])
            for argument, response in zip(sample["arguments"].values(), sample["filtered_resps"]):
                context, continuation = argument["arg_0"], argument["arg_1"]
                before = tokenizer.encode(context, add_special_tokens=False)
                ids = tokenizer.encode(context + continuation, add_special_tokens=False)
                value, greedy = float(response[0]), str(response[1]) == "True"
                values.append(value)
                for scores, found in zip(self.reference.both(ids), lists):
                    expected, expected_greedy = continuation_score(scores, ids, len(ids) - len(before))
                    self.assertAlmostEqual(value, expected, delta=TOLERANCE)
                    self.assertEqual(greedy, expected_greedy)
                    differences.append(abs(value - expected))
                    found.append(expected)
            for found in lists:
                self.assertEqual(int(numpy.argmax(values)), int(numpy.argmax(found)))
            right += int(numpy.argmax(lists[0])) == sample["doc"]["answer"]
        self.assertAlmostEqual(results["acc,none"], right / limit)
        print(f"{self.NAME}: {len(differences)} log-likelihoods, largest difference {max(differences):.1e}, accuracy {right}/{limit}")

    def greedy(self, prompt, stop, most=160):
        """What transformers generates, up to a stop text, and its ids, up to the end token."""
        ids = self.reference.tokenizer.encode(prompt, add_special_tokens=False)
        with torch.inference_mode():
            made = self.reference.model.generate(torch.tensor([ids]), do_sample=False, temperature=None, max_new_tokens=most)[0][len(ids):].tolist()
        text = self.reference.tokenizer.decode(made, skip_special_tokens=True)
        return text.split(stop)[0], ids, made

    def check_answers(self, results, samples, prompt_of, shown):
        boxed = 0
        for sample in samples:
            text, ids, made = self.greedy(prompt_of(sample), "</answer>")
            self.assertEqual(sample["resps"][0][0], shown(text))
            scores = self.reference.counterbeam(ids + made)
            self.assertEqual([int(row.argmax()) for row in scores[len(ids) - 1:-1]], made)
            boxed += f"boxed{{{sample['doc']['answer']}}}" in text
        self.assertAlmostEqual(results["exact_match,boxed"], boxed / len(samples))
        print(f"{self.NAME}: {len(samples)} greedy answers equal, {boxed} right")

    def test_log_likelihoods_of_ids(self):
        self.check_choices(*evaluate("local-completions", self.server.url + "/completions", self.NAME, "counterbeam_choice", CHOICE), CHOICE)

    def test_log_likelihoods_with_the_tokenizer_of_the_server(self):
        self.check_choices(*evaluate("local-completions", self.server.url + "/completions", self.NAME, "counterbeam_choice", 4,
                                     "--batch_size", "8", tokenizer="remote"), 4)

    def test_generation_of_completions(self):
        results, samples = evaluate("local-completions", self.server.url + "/completions", self.NAME, "counterbeam_math", self.ANSWERS,
                                    "--apply_chat_template")
        self.check_answers(results, samples, lambda sample: next(iter(sample["arguments"].values()))["arg_0"], lambda text: text)

    def test_generation_of_chat_completions(self):
        results, samples = evaluate("local-chat-completions", self.server.url + "/chat/completions", self.NAME, "counterbeam_math", self.ANSWERS,
                                    "--apply_chat_template", tokenizer="none")

        def prompt_of(sample):
            return self.reference.tokenizer.apply_chat_template([{"role": "user", "content": sample["doc"]["problem"]}], tokenize=False,
                                                                add_generation_prompt=True)

        # Thoughts come apart from the answer, as reasoning_content.
        self.check_answers(results, samples, prompt_of, lambda text: text.split("</think>")[-1].lstrip())

    def test_a_search_behind_the_harness(self):
        results, samples = evaluate("local-chat-completions", self.server.url + "/chat/completions",
                                    f"{self.NAME}@cbs:steer=0.7:temperature=1", "counterbeam_math", 4, "--apply_chat_template", tokenizer="none")
        self.assertEqual(len(samples), 4)
        for sample in samples:
            self.assertIn("boxed", sample["resps"][0][0])


class LmEvalHybridTest(LmEvalTest):
    """The other shipped model: gated delta layers beside attention."""
    NAME = "tiny-hybrid"
    ANSWERS = 2  # twelve did not end in four minutes on a busy machine


if __name__ == "__main__":
    unittest.main()
