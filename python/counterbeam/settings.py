"""Methods and their settings. Both come from the table of the C++ library, so that a new method or setting appears here by itself."""
from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Union

from counterbeam._errors import BadInput
from counterbeam._native import _core

Cancellation = _core.CancelToken

SettingValue = Union[bool, int, float, str]
# The name of a pair, "none", or a pair of texts (positive, negative).
Contexts = Union[str, tuple[str, str]]
# Named pairs of one's own: {"mine": (positive, negative)}.
Pairs = Mapping[str, tuple[str, str]]


@dataclass(frozen=True)
class Setting:
    """A setting of a method, with the method's default."""
    name: str  # as a keyword: max_tokens
    type: type
    default: SettingValue
    help: str
    least: float | None  # of a number
    most: float | None
    choices: tuple[str, ...]  # of a text; empty: any text


@dataclass(frozen=True)
class Method:
    """A search method."""
    name: str
    help: str
    settings: dict[str, Setting]
    traced: bool  # leaves a tree: ask(..., trace=True)
    ranked: bool  # chooses by score, so that a scorer of one's own applies
    votes: bool  # chooses by majority


_TYPES: dict[str, type] = {"int": int, "float": float, "bool": bool, "str": str}


def _setting(info: _core.SettingInfo) -> Setting:
    kind = _TYPES[info.type]
    default: SettingValue = info.otherwise == "true" if kind is bool else kind(info.otherwise)
    number = kind in (int, float)
    return Setting(info.name.replace("-", "_"), kind, default, info.help, info.least if number else None, info.most if number else None,
                   tuple(info.choices))


def methods() -> dict[str, Method]:
    """Every search method by name, with its settings; the default method first."""
    table = {}
    for info in _core.method_table():
        settings = [_setting(one) for one in info.settings]
        table[info.name] = Method(info.name, info.help, {one.name: one for one in settings}, info.traced, info.ranked, info.votes)
    return table


def contexts() -> dict[str, tuple[str, str]]:
    """The context pairs that are known by name: (positive, negative)."""
    return {pair.name: (pair.positive, pair.negative) for pair in _core.known_context_pairs()}


def value_text(name: str, value: Any) -> str:
    """A value as method strings hold it."""
    if hasattr(value, "item") and not isinstance(value, (bool, int, float, str)):
        value = value.item()  # numpy's numbers
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return value
    raise BadInput(f"{name}: {value!r} is neither a number, a text nor a bool")


def method_string(method: str | Mapping[str, Any]) -> str:
    """A method as the command line writes it: {"method": "cbs", "steer": 0.7} is "cbs:steer=0.7"."""
    if isinstance(method, str):
        return method
    if "method" not in method:
        raise BadInput(f'methods: {dict(method)!r} has no "method"')
    text = str(method["method"])
    for name, value in method.items():
        if name == "method":
            continue
        shown = value_text(name, value)
        if any(mark in shown for mark in ':,"\\= \n') or not shown:
            shown = '"' + shown.replace("\\", "\\\\").replace('"', '\\"') + '"'
        text += f":{name.replace('_', '-')}={shown}"
    return text


def context_pairs(pairs: Pairs | None) -> list[_core.ContextPair]:
    return [_core.ContextPair(name, *pair) for name, pair in (pairs or {}).items()]


def set_contexts(options: _core.AskOptions | _core.ScoreOptions, given: Contexts | None, pairs: Pairs | None) -> None:
    options.pairs = context_pairs(pairs)
    if isinstance(given, str):
        options.contexts = given
    elif given is not None:
        if len(given) != 2:
            raise BadInput("contexts: a name, or a pair of texts (positive, negative), is needed")
        options.positive, options.negative = given


def texts_of(value: str | Sequence[str] | None) -> list[str]:
    return [] if value is None else [value] if isinstance(value, str) else list(value)


def ask_options(*, method: str, settings: Mapping[str, Any], given_contexts: Contexts | None, pairs: Pairs | None, seed: int, number: int,
                stop: str | Sequence[str] | None, stop_ids: Sequence[int] | None, system: str | None, raw: bool,
                template_args: Mapping[str, Any] | None, system_as_user: bool, trace: bool, keep_partial: bool) -> _core.AskOptions:
    if not 0 <= seed < 1 << 64:
        raise BadInput(f"seed: {seed} is out of range; allowed: 0 to 2**64 - 1")
    options = _core.AskOptions()
    options.method = method
    options.settings = {name.replace("_", "-"): value_text(name, value) for name, value in settings.items()}
    set_contexts(options, given_contexts, pairs)
    options.seed = seed
    options.question = number
    options.stop = texts_of(stop)
    options.stop_ids = [int(one) for one in stop_ids or ()]
    options.system = system or ""
    options.raw = raw
    options.template_arguments = json.dumps(dict(template_args or {}))
    options.system_as_user = system_as_user
    options.trace = trace
    options.keep_partial = keep_partial
    return options


def settings_help() -> str:
    """The settings of every method, as the documentation of ask() lists them."""
    lines: list[str] = []
    seen: set[str] = set()
    for method in methods().values():
        lines.append(f"    {method.name}: {method.help}")
        for one in method.settings.values():
            known = one.name in seen
            seen.add(one.name)
            lines.append(f"        {one.name}={one.default!r}" + ("" if known else f": {one.help}"))
    return "\n".join(lines)


Scorer = Callable[[list[_core.AnswerCandidate]], Sequence[float]]
