"""Configurations from mappings, YAML files and `key.sub=value` words, with every key checked."""

import difflib
import types
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from etlab.errors import AccessError, InvalidArgumentError, NotFoundError, NotSupportedError
from etlab.llm.export_llm.config import NOT_BUILT, LlmConfig, OtherBackend, value_of

# Model classes of ExecuTorch that are no plain decoders.
_NOT_BUILT = ("llama3_2_vision", "static_llama", "qwen3_5", "lfm2")


def read_config(config: Any, overrides: Iterable[str] = ()) -> LlmConfig:
    """A configuration from what the user has.

    Args:
        config: an `LlmConfig`, a mapping of sections (also of OmegaConf), or a YAML file's path.
        overrides: `section.key=value`; a `+` before it, as Hydra has it, means the same.

    Raises:
        NotFoundError: a key that no section has.
        InvalidArgumentError: a value of another kind, or values that contradict each other.
        NotSupportedError: a key of a feature that is not built here.
        AccessError: the file cannot be read.
    """
    result = LlmConfig()
    if isinstance(config, LlmConfig):
        result = config
    elif isinstance(config, Mapping) or hasattr(config, "items"):
        _assign(result, config, "")
    elif isinstance(config, str | Path):
        _assign(result, _load(Path(config)), "")
    elif config is not None:
        raise InvalidArgumentError(
            "export_llm: expected an LlmConfig, a mapping of its sections or a YAML file's path,"
            f" got {type(config).__name__}"
        )
    for word in overrides:
        _assign(result, _from_word(word), "")
    _check(result)
    return result


def _load(path: Path) -> Mapping[str, Any]:
    import yaml

    try:
        loaded = yaml.safe_load(path.read_text())
    except OSError as error:
        raise AccessError(f"cannot read the configuration '{path}': {error.strerror}") from error
    except yaml.YAMLError as error:
        raise InvalidArgumentError(f"'{path}' is no YAML: {error}") from error
    if loaded is None:
        return {}
    if not isinstance(loaded, dict):
        raise InvalidArgumentError(f"'{path}': expected sections, got {type(loaded).__name__}")
    return loaded


def _from_word(word: str) -> Mapping[str, Any]:
    import yaml

    name, equals, text = word.lstrip("+").partition("=")
    if not equals or not name:
        raise InvalidArgumentError(f"expected section.key=value, got '{word}'")
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError:
        value = text
    if isinstance(value, dict) and name.endswith("metadata"):
        value = text
    nested: Any = value
    for part in reversed(name.split(".")):
        nested = {part: nested}
    return nested  # type: ignore[no-any-return]  # a mapping by the loop


def _assign(target: Any, values: Mapping[Any, Any], prefix: str) -> None:
    hints = get_type_hints(type(target))
    names = [one.name for one in fields(target)]
    for name, value in values.items():
        full = f"{prefix}{name}"
        if name not in names:
            _refuse_unknown(full, str(name), names, target)
            continue
        inner = getattr(target, name)
        if is_dataclass(inner):
            if value is None:
                continue
            if not isinstance(value, Mapping) and not hasattr(value, "items"):
                raise InvalidArgumentError(f"{full}: expected keys ({_some(inner)}), got {value!r}")
            _assign(inner, value, f"{full}.")
        else:
            setattr(target, name, _checked(full, value, hints[name]))


def _some(section: Any) -> str:
    return ", ".join(one.name for one in fields(section))


def _refuse_unknown(full: str, name: str, names: list[str], target: Any) -> None:
    if isinstance(target, OtherBackend):  # its other keys mean nothing while it is off
        return
    close = difflib.get_close_matches(name, names, 1)
    hint = f"; did you mean '{close[0]}'?" if close else ""
    section = full.rpartition(".")[0] or "the configuration"
    raise NotFoundError(f"no key '{full}'; {section} has {', '.join(names)}{hint}")


def _checked(name: str, value: Any, hint: Any) -> Any:
    """The value as the key's type; an integer may stand for a float, a plain list for a list."""
    allowed = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    for one in allowed:
        if one is Any or (one is types.NoneType and value is None):
            return value
        if get_origin(one) is Literal and value in get_args(one):
            return value
        if get_origin(one) is list and isinstance(value, list | tuple):
            (item,) = get_args(one)
            return [_checked(f"{name}[{index}]", part, item) for index, part in enumerate(value)]
        if one is float and isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
        if isinstance(one, type) and type(value) is one:
            return value
        if one is str and type(value) in (int, float):  # YAML reads 4 where "4" was meant
            return str(value)
    if hasattr(value, "value"):  # one of ExecuTorch's enumerations
        return _checked(name, value.value, hint)
    if name == "base.model_class" and str(value).startswith(_NOT_BUILT):
        raise NotSupportedError(f"{name}: '{value}' is not built here; there are {_of(allowed)}")
    raise InvalidArgumentError(f"{name}: expected {_of(allowed)}, got {value!r}")


def _of(allowed: tuple[Any, ...]) -> str:
    said = []
    for one in allowed:
        if get_origin(one) is Literal:
            said += [repr(choice) for choice in get_args(one)]
        else:
            said.append("None" if one is types.NoneType else getattr(one, "__name__", str(one)))
    return " or ".join(said)


def _check(config: LlmConfig) -> None:
    defaults = LlmConfig()
    for name, instead in NOT_BUILT.items():
        value = value_of(config, name)
        if value != value_of(defaults, name):
            way_out = f": {instead}" if instead else ""
            raise NotSupportedError(f"{name}={value!r}: etlab does not have it{way_out}")
    _check_cache(config)
    _check_export(config)
    xnnpack = config.backend.xnnpack
    for name, needed in (("extended_ops", xnnpack.enabled), ("enable_bf16", xnnpack.extended_ops)):
        if getattr(xnnpack, name) and not needed:
            before = "enabled" if name == "extended_ops" else "extended_ops"
            raise InvalidArgumentError(
                f"backend.xnnpack.{name} needs backend.xnnpack.{before}=True"
            )
    _check_quantization(config)


def _check_cache(config: LlmConfig) -> None:
    model = config.model
    needing = {
        "quantize_kv_cache": model.quantize_kv_cache,
        "use_sdpa_with_kv_cache": model.use_sdpa_with_kv_cache,
        "use_attention_sink": model.use_attention_sink,
        "local_global_attention": model.local_global_attention,
    }
    for name, value in needing.items():
        if value and not model.use_kv_cache:
            raise InvalidArgumentError(f"model.{name} needs a cache: set model.use_kv_cache=True")
    if model.use_attention_sink and model.local_global_attention:
        raise InvalidArgumentError(
            "model.use_attention_sink and model.local_global_attention exclude each other"
        )
    if model.use_attention_sink:
        sink_and_window(config)
    if any(window < 0 for window in model.local_global_attention or ()):
        raise InvalidArgumentError(
            "model.local_global_attention: expected windows from 0 (all of the past), got"
            f" {model.local_global_attention}"
        )


def sink_and_window(config: LlmConfig) -> tuple[int, int]:
    """The two numbers of `model.use_attention_sink`.

    Raises:
        InvalidArgumentError: it has another form.
    """
    name = "model.use_attention_sink"
    sink, window = _two_numbers(name, str(config.model.use_attention_sink), "4,124")
    if window < 1:
        raise InvalidArgumentError(f"{name}: expected a window above 0, got {window}")
    if sink + window > config.export.max_context_length:
        raise InvalidArgumentError(
            f"{name}: {sink} + {window} tokens are more than export.max_context_length="
            f"{config.export.max_context_length}: raise that"
        )
    return sink, window


def _two_numbers(name: str, text: str, example: str) -> tuple[int, int]:
    parts = text.split(",")
    if len(parts) != 2 or not all(part.strip().isdigit() for part in parts):
        raise InvalidArgumentError(f"{name}: expected two numbers as in '{example}', got '{text}'")
    return int(parts[0]), int(parts[1])


def _check_export(config: LlmConfig) -> None:
    export = config.export
    for name in ("max_seq_length", "max_context_length"):
        if getattr(export, name) < 1:
            raise InvalidArgumentError(
                f"export.{name}: expected a number above 0, got {getattr(export, name)}"
            )
    if export.max_context_length < export.max_seq_length:
        raise InvalidArgumentError(
            f"export.max_context_length={export.max_context_length} is shorter than"
            f" export.max_seq_length={export.max_seq_length}: raise the former"
        )
    file = export.output_name
    if file is not None and not file.endswith(".pte"):
        raise InvalidArgumentError(
            f"export.output_name: expected a name ending in .pte, got {file!r}"
        )


QMODES = ("8da4w", "8da8w", "int8", "4w", "gguf")


def _check_quantization(config: LlmConfig) -> None:
    quantization = config.quantization
    mode = quantization.qmode
    if mode is not None and mode not in QMODES:
        if mode == "8da4w-gptq" or mode.startswith("torchao:"):
            raise NotSupportedError(
                f"quantization.qmode={mode}: not supported; there are {', '.join(QMODES)}"
            )
        raise InvalidArgumentError(
            f"quantization.qmode: expected one of {', '.join(QMODES)}, got {mode!r}"
        )
    size = quantization.group_size
    if size is not None and size < 0:
        raise InvalidArgumentError(f"quantization.group_size: expected 0 or more, got {size}")
    if mode == "gguf" and (size is not None or quantization.embedding_quantize is not None):
        raise InvalidArgumentError(
            "quantization.qmode=gguf keeps what the file has: remove quantization.group_size and"
            " quantization.embedding_quantize"
        )
    if quantization.embedding_quantize is not None:
        embedding_bits_and_group(config)


def embedding_bits_and_group(config: LlmConfig) -> tuple[int, int]:
    """The two numbers of `quantization.embedding_quantize`.

    Raises:
        InvalidArgumentError: it has another form.
        NotSupportedError: it asks for torchao's kernels.
    """
    name, text = "quantization.embedding_quantize", str(config.quantization.embedding_quantize)
    if text.startswith("torchao:"):
        raise NotSupportedError(f"{name}={text}: torchao's kernels are for Arm; write '4,32'")
    bits, group = _two_numbers(name, text, "4,32")
    if bits not in (2, 4, 8):
        raise InvalidArgumentError(f"{name}: expected 2, 4 or 8 bits, got {bits}")
    return bits, group
