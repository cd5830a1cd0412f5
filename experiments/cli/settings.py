"""What a user writes after --set and after the colon of a compare NAME."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tightmargin.experiments.data.preparation import PREPROCESSING
from tightmargin.experiments.paths.family import Settings
from tightmargin.formulations.catalogue import entry_named
from tightmargin.formulations.parameters import did_you_mean

WORDS: Mapping[str, bool | None] = {"true": True, "false": False, "null": None}


def parse_value(text: str) -> Any:
    """Read a number, true, false, null, a comma list of these as a tuple, or else a word."""
    if "," in text:
        return tuple(parse_value(part.strip()) for part in text.split(",") if part.strip())
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


def parse_settings(texts: Iterable[str], example: str = "--set C=1") -> Settings:
    """Read key=value texts.

    Raises ValueError: no equals sign, nothing on one side of it, or a key given twice.
    """
    found: Settings = {}
    for text in texts:
        key, equals, value = (part.strip() for part in text.partition("="))
        if not (key and equals and value):
            raise ValueError(f"a setting is key=value, as in {example}; got {text!r}")
        if key in found:
            raise ValueError(f"{key} is set twice: {found[key]!r} and {value!r}")
        found[key] = parse_value(value)
    return found


def parse_row(text: str) -> tuple[str, Settings]:
    """Read a name with settings of its own: NAME or NAME:key=value,key=value.

    A comma before something without an equals sign continues a list, as in class_weight=1,2.
    """
    name, colon, rest = text.partition(":")
    if colon and not rest.strip():
        raise ValueError(f"{text!r} ends with a colon: write NAME or NAME:key=value,key=value")
    settings: list[str] = []
    for piece in rest.split(",") if colon else []:
        if "=" in piece or not settings:
            settings.append(piece)
        else:
            settings[-1] += f",{piece}"
    return name.strip(), parse_settings(settings)


def split_preprocessing(settings: Settings) -> tuple[Settings, Settings]:
    """Settings of the data (normalise, kernel, ...) and settings of the formulation."""
    data = {key: value for key, value in settings.items() if key in PREPROCESSING}
    rest = {key: value for key, value in settings.items() if key not in PREPROCESSING}
    return data, rest


def refuse_unknown(
    settings: Iterable[str], names: Iterable[str], words: Iterable[str] = ()
) -> None:
    """Raise ValueError for a key that no formulation among `names` has, with the nearest one.

    words: of the command itself, known besides.
    """
    names = list(names)
    own = {key: None for name in names for key in entry_named(name).parameters}
    known = [*own, *words, *PREPROCESSING]
    for key in settings:
        if key in known:
            continue
        hint = did_you_mean(key, known)
        who = f"{names[0]} has no" if len(names) == 1 else "nothing here has a"
        raise ValueError(f"{who} hyperparameter {key!r} (known: {', '.join(known)}){hint}")
