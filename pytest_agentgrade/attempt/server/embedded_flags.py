"""The llama-server flags that the embedded server understands, and what they set in ``xllamacpp``'s parameters.

One table serves both sides: the parent checks a command line before anything starts, without importing ``xllamacpp``;
the child applies it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pytest_agentgrade.attempt.server.flags import is_flag, refuse_unknown
from pytest_agentgrade.errors import SettingsError
from pytest_agentgrade.escaping import escape

NAME = "the embedded server"


class EnumValue(NamedTuple):
    """A member of one of ``xllamacpp``'s enums, by name."""

    enum: str
    member: str


@dataclass(frozen=True)
class Flag:
    """One flag in all its spellings."""

    names: tuple[str, ...]
    target: str
    """Dotted path in ``CommonParams``."""
    read: Callable[[str], object] | None = None
    """Turns the value's text into what is stored (ValueError when it cannot); None: the flag takes no value."""
    constant: object = None
    """What a flag without a value stores."""


def check(args: Sequence[str]) -> None:
    """SettingsError when a flag of ``args`` is unknown here, lacks its value or has an impossible one."""
    refuse_unknown(args, BY_NAME.keys(), NAME, "leave it out, or give a llama-server binary as server: it knows more")
    for _flag, _value in parse(args):
        pass


def parse(args: Sequence[str]) -> Iterator[tuple[Flag, object]]:
    """Each flag of ``args`` with the value to store; raises SettingsError."""
    words = iter(args)
    for word in words:
        flag = BY_NAME.get(word)
        if flag is None:
            what = "does not know the flag" if is_flag(word) else "got a value without a flag:"
            raise SettingsError(f"{NAME} {what} {escape(word, 100)}")
        yield flag, flag.constant if flag.read is None else _read(flag.read, word, next(words, None))


def apply(params: Any, args: Sequence[str], enums: Any) -> None:
    """Set ``args`` in ``params`` (a ``CommonParams``); ``enums`` is the ``xllamacpp`` module."""
    for flag, value in parse(args):
        *parents, name = flag.target.split(".")
        holder = params
        for parent in parents:
            holder = getattr(holder, parent)
        setattr(holder, name, _resolve(value, enums))
    mtp = enums.common_speculative_type.COMMON_SPECULATIVE_TYPE_DRAFT_MTP
    params.load_mtp = mtp in params.speculative.types and not params.speculative.draft.mparams.path


def _read(read: Callable[[str], object], word: str, text: str | None) -> object:
    if text is None:
        raise SettingsError(f"the flag {word} needs a value")
    try:
        return read(text)
    except ValueError as error:
        raise SettingsError(f"{word} {escape(text, 100)}: {error}") from error


def _resolve(value: object, enums: Any) -> object:
    if isinstance(value, EnumValue):
        return getattr(getattr(enums, value.enum), value.member)
    if isinstance(value, list):
        return [_resolve(item, enums) for item in value]
    return value


def _choice(**values: object) -> Callable[[str], object]:
    def read(text: str) -> object:
        if text not in values:
            raise ValueError(f"must be one of {', '.join(values)}")
        return values[text]

    return read


def _enum(enum: str, prefix: str, *names: str) -> Callable[[str], object]:
    """Accepts ``names``; the member is the prefix and the name in capitals."""
    members = {name: EnumValue(enum, prefix + name.upper().replace("-", "_")) for name in names}
    return _choice(**members)


def _layers(text: str) -> object:
    return {"auto": -1, "all": -2}[text] if text in ("auto", "all") else int(text)


def _spec_types(text: str) -> object:
    return [_SPEC_TYPE(name) for name in text.split(",")]


def _hosts(text: str) -> object:
    return [text]


def _aliases(text: str) -> object:
    return set(text.split(","))


def _json_object(text: str) -> object:
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError("must be a JSON object")
    return {name: json.dumps(item) for name, item in value.items()}


_ON_OFF = _choice(on=True, off=False)
_CACHE_TYPE = _enum("ggml_type", "GGML_TYPE_", "f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "iq4_nl", "q5_0", "q5_1")
_SPEC_TYPE = _enum(
    "common_speculative_type",
    "COMMON_SPECULATIVE_TYPE_",
    "none",
    "draft-simple",
    "draft-mtp",
    "ngram-simple",
    "ngram-map-k",
    "ngram-map-k4v",
    "ngram-mod",
)
_FLASH = "LLAMA_FLASH_ATTN_TYPE_"
_FLASH_ATTENTION = _choice(
    on=EnumValue("llama_flash_attn_type", _FLASH + "ENABLED"),
    off=EnumValue("llama_flash_attn_type", _FLASH + "DISABLED"),
    auto=EnumValue("llama_flash_attn_type", _FLASH + "AUTO"),
)
_REASONING_FORMAT = _enum(
    "common_reasoning_format", "COMMON_REASONING_FORMAT_", "none", "auto", "deepseek", "deepseek-legacy"
)


def _switch(target: str, on: tuple[str, ...], off: tuple[str, ...] = ()) -> tuple[Flag, ...]:
    flags = (Flag(on, target, constant=True), Flag(off, target, constant=False))
    return tuple(flag for flag in flags if flag.names)


FLAGS: tuple[Flag, ...] = (
    Flag(("-m", "--model"), "model.path", str),
    Flag(("-a", "--alias"), "model_alias", _aliases),
    Flag(("--host",), "hostnames", _hosts),
    Flag(("--port",), "port", int),
    Flag(("-c", "--ctx-size"), "n_ctx", int),
    Flag(("-np", "--parallel"), "n_parallel", int),
    Flag(("-n", "--predict", "--n-predict"), "n_predict", int),
    Flag(("-b", "--batch-size"), "n_batch", int),
    Flag(("-ub", "--ubatch-size"), "n_ubatch", int),
    Flag(("-t", "--threads"), "cpuparams.n_threads", int),
    Flag(("-tb", "--threads-batch"), "cpuparams_batch.n_threads", int),
    Flag(("--threads-http",), "n_threads_http", int),
    Flag(("-ngl", "--gpu-layers", "--n-gpu-layers"), "n_gpu_layers", _layers),
    Flag(("-ctk", "--cache-type-k"), "cache_type_k", _CACHE_TYPE),
    Flag(("-ctv", "--cache-type-v"), "cache_type_v", _CACHE_TYPE),
    Flag(("-fa", "--flash-attn"), "flash_attn_type", _FLASH_ATTENTION),
    Flag(("-fit", "--fit"), "fit_params", _ON_OFF),
    Flag(("-lv", "--verbosity", "--log-verbosity"), "verbosity", int),
    Flag(("--spec-type",), "speculative.types", _spec_types),
    Flag(("--spec-draft-n-max", "--draft-max", "--draft-n"), "speculative.draft.n_max", int),
    Flag(("--spec-draft-n-min", "--draft-min"), "speculative.draft.n_min", int),
    Flag(("--spec-draft-p-min", "--draft-p-min"), "speculative.draft.p_min", float),
    Flag(("--spec-draft-sampling",), "speculative.draft.probabilistic", _choice(greedy=False, probabilistic=True)),
    Flag(("--spec-draft-model", "-md", "--model-draft"), "speculative.draft.mparams.path", str),
    Flag(("--spec-draft-type-k", "-ctkd", "--cache-type-k-draft"), "speculative.draft.cache_type_k", _CACHE_TYPE),
    Flag(("--spec-draft-type-v", "-ctvd", "--cache-type-v-draft"), "speculative.draft.cache_type_v", _CACHE_TYPE),
    Flag(("--temp", "--temperature"), "sampling.temp", float),
    Flag(("--top-k",), "sampling.top_k", int),
    Flag(("--top-p",), "sampling.top_p", float),
    Flag(("--min-p",), "sampling.min_p", float),
    Flag(("-s", "--seed"), "sampling.seed", int),
    Flag(("--repeat-last-n",), "sampling.penalty_last_n", int),
    Flag(("--repeat-penalty",), "sampling.penalty_repeat", float),
    Flag(("--presence-penalty",), "sampling.penalty_present", float),
    Flag(("--frequency-penalty",), "sampling.penalty_freq", float),
    Flag(("-cram", "--cache-ram"), "cache_ram_mib", int),
    Flag(("--cache-reuse",), "n_cache_reuse", int),
    Flag(("-sps", "--slot-prompt-similarity"), "slot_prompt_similarity", float),
    Flag(("-ctxcp", "--ctx-checkpoints", "--swa-checkpoints"), "n_ctx_checkpoints", int),
    Flag(("--reasoning-budget",), "sampling.reasoning_budget_tokens", int),
    Flag(("--reasoning-budget-message",), "sampling.reasoning_budget_message", str),
    Flag(("--reasoning-format",), "reasoning_format", _REASONING_FORMAT),
    Flag(("-rea", "--reasoning"), "enable_reasoning", _choice(on=1, off=0, auto=-1)),
    Flag(("--chat-template",), "chat_template", str),
    Flag(("--chat-template-kwargs",), "default_template_kwargs", _json_object),
    *_switch("cache_prompt", ("--cache-prompt",), ("--no-cache-prompt",)),
    *_switch("endpoint_metrics", ("--metrics",)),
    *_switch("endpoint_slots", ("--slots",), ("--no-slots",)),
    *_switch("use_jinja", ("--jinja",), ("--no-jinja",)),
    *_switch("ui", ("--ui", "--webui"), ("--no-ui", "--no-webui")),
    *_switch("warmup", ("--warmup",), ("--no-warmup",)),
    *_switch("kv_unified", ("-kvu", "--kv-unified"), ("-no-kvu", "--no-kv-unified")),
)

BY_NAME: dict[str, Flag] = {name: flag for flag in FLAGS for name in flag.names}
"""Every spelling of every flag."""
