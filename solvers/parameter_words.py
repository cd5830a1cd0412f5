"""Words for hyperparameters that are computed before a model is built, such as "tightened"."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tightmargin.formulations.catalogue import Entry


@dataclass(frozen=True, eq=False)
class Word:
    """A word that stands for hyperparameters that are computed before a model is built.

    Attributes
    ----------
    parameters : tuple of str
        Whose value it may be.
    derive : callable(entry, data, hyperparameters) -> dict
        The hyperparameters without the word.
    """

    word: str
    parameters: tuple[str, ...]
    derive: Callable[[Entry, Any, Mapping[str, Any]], dict[str, Any]]


_WORDS: list[Word] = []


def register_word(word: Word) -> None:
    """Offer a word for hyperparameters."""
    _WORDS.append(word)


def without_words(entry: Entry, data: Any, hyperparameters: Mapping[str, Any]) -> dict[str, Any]:
    """Hyperparameters with what every registered word stands for."""
    found = dict(hyperparameters)
    for word in _WORDS:
        if any(isinstance(found.get(p), str) and found[p] == word.word for p in word.parameters):
            found = word.derive(entry, data, found)
    return found
