"""A model class for lm-evaluation-harness:

    python -m counterbeam.lm_eval run --model counterbeam --model_args pretrained=DIR,method=cbs:steer=0.7 --tasks gsm8k

The package registers the class by an entry point of the group "lm_eval.models". lm_eval 0.4.13 knows its own models only, so this module
is also a command: lm_eval's own, with the class registered. From Python, importing this module registers it.

Log-likelihoods are the model's own. What is generated comes from the method; its settings stand in the method string, and
do_sample=False with temperature 0, the harness's default, takes the likeliest tokens where no method is given.
"""
from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import lm_eval.models  # type: ignore[import-not-found,import-untyped,unused-ignore]  # noqa: F401  the harness's own, which it finds by itself only first
from lm_eval.api.model import TemplateLM  # type: ignore[import-not-found,import-untyped,unused-ignore]
from lm_eval.api.registry import register_model  # type: ignore[import-not-found,import-untyped,unused-ignore]

import counterbeam
from counterbeam.settings import ask_options, methods


@register_model("counterbeam")  # type: ignore[untyped-decorator,misc,unused-ignore]
class CounterbeamLM(TemplateLM):  # type: ignore[misc,unused-ignore]
    """pretrained: as LanguageModel takes it. method: with its settings; without one, greedy or sampled as the task asks."""

    def __init__(self, pretrained: str = "", method: str = "", device: str | None = None, dtype: str = "auto", activations: str = "auto",
                 threads: int = 0, cache_memory: str | None = None, cache_dtype: str = "auto", engine: str = "", engine_key: str = "",
                 engine_model: str = "", seed: int = 1234, max_gen_toks: int = 256, batch_size: int | str = 16,
                 max_batch_size: int | None = None, **other: Any) -> None:
        super().__init__()
        if other:
            raise counterbeam.BadInput(f"model_args: {', '.join(other)}: not known")
        # "cuda:0" is what the harness says where the user says nothing.
        place = "auto" if device in (None, "", "cuda:0") else str(device)
        self.model = counterbeam.LanguageModel(pretrained, device=place, dtype=dtype, activations=activations, threads=int(threads),
                                               cache_memory=cache_memory, cache_dtype=cache_dtype, engine=engine, engine_key=engine_key,
                                               engine_model=engine_model)
        self.method = method
        self.seed = int(seed)
        self.max_gen_toks = int(max_gen_toks)
        self.concurrency = 16 if batch_size == "auto" else max(1, int(batch_size))

    @property
    def eot_token_id(self) -> int:
        return self.model.end_tokens[0]

    @property
    def tokenizer_name(self) -> str:
        return self.model.name

    def tok_encode(self, string: str, add_special_tokens: bool | None = None, **_: Any) -> list[int]:
        return self.model.tokenizer.encode(string, special=True)

    def apply_chat_template(self, chat_history: list[dict[str, str]], add_generation_prompt: bool = True) -> str:
        if add_generation_prompt:
            return self.model.tokenizer.render(chat_history)
        # The last message is the beginning of the answer.
        before = self.model.tokenizer.render(chat_history[:-1])
        return before + chat_history[-1]["content"]

    def chat_template(self, chat_template: bool | str = False) -> str:
        return ""

    def _loglikelihood_tokens(self, requests: list[tuple[Any, list[int], list[int]]], **other: Any) -> list[tuple[float, bool]]:
        results: list[tuple[float, bool]] = []
        for first in range(0, len(requests), self.concurrency):
            part = requests[first:first + self.concurrency]
            pairs = [self._fitting(context, continuation) for _, context, continuation in part]
            sequences = self.model.engine.open([context for context, _ in pairs])
            read = self.model.engine.score_top(sequences, [continuation for _, continuation in pairs], 1)
            for (_, continuation), (values, top) in zip(pairs, read):
                greedy = all(likely[0][0] == token for likely, token in zip(top, continuation))
                results.append((float(values.astype(float).sum()), greedy))
        return results

    def _fitting(self, context: list[int], continuation: list[int]) -> tuple[list[int], list[int]]:
        """The end of the context that fits into the model with the continuation."""
        most = self.model.max_length - len(continuation) - 1
        if most < 1:
            raise counterbeam.BadInput(f"a continuation of {len(continuation)} tokens is longer than what the model reads, {self.model.max_length}")
        return (context or [self.prefix_token_id])[-most:], continuation

    def loglikelihood_rolling(self, requests: Any, disable_tqdm: bool = False) -> list[float]:
        totals = []
        for request in requests:
            ids = self.tok_encode(request.args[0])
            total, step = 0.0, self.model.max_length - 2
            for at in range(0, len(ids), step):
                piece = ids[at:at + step]
                context = [self.prefix_token_id] if at == 0 else [ids[at - 1]]
                total += self._loglikelihood_tokens([(None, context, piece)])[0][0]
            totals.append(total)
        return totals

    def generate_until(self, requests: Any, disable_tqdm: bool = False) -> list[str]:
        # An answer depends on its prompt and the seed, not on the requests around it. Of equal requests (several samples of a problem)
        # each has a number of its own.
        seen: dict[str, int] = {}

        def numbered(request: Any) -> tuple[Any, int]:
            key = repr(request.args)
            seen[key] = seen.get(key, -1) + 1
            return request, seen[key]

        def answer(numbered_request: tuple[Any, int]) -> str:
            request, number = numbered_request
            context, how = request.args[0], dict(request.args[1])
            text: str = self.model._inner.ask(self.tok_encode(context), self._options(how, number), None, None, None).text
            self.cache_hook.add_partial("generate_until", request.args, text)
            return text

        with ThreadPoolExecutor(self.concurrency) as pool:
            return list(pool.map(answer, [numbered(request) for request in requests]))

    def _options(self, how: dict[str, Any], number: int) -> Any:
        """The options of a search from those of the harness."""
        stop = [one for one in ([how["until"]] if isinstance(how.get("until"), str) else how.get("until") or []) if one]
        limit = int(how.get("max_gen_toks", how.get("max_tokens", how.get("max_new_tokens", self.max_gen_toks))))
        sampled = bool(how.get("do_sample", False)) and float(how.get("temperature", 0) or 0) > 0
        method = self.method or ("sample" if sampled else "greedy")
        settings: dict[str, Any] = {"max_tokens": limit} if "max-tokens=" not in method else {}
        if not self.method and sampled:
            known = methods()[method].settings
            settings.update({key: how[key] for key in ("temperature", "top_p", "top_k", "min_p") if key in how and key in known})
        return ask_options(method=method, settings=settings, given_contexts=None, pairs=None, seed=self.seed, number=number, stop=stop,
                           stop_ids=None, system=None, raw=True, template_args=None, system_as_user=False, trace=False, keep_partial=False)
