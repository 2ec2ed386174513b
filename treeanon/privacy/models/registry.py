"""The models that parameters ask for, and models as plain data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, is_dataclass
from fractions import Fraction
from typing import Any, Literal

from treeanon.errors import UsageError
from treeanon.privacy.models.alpha_k import AlphaKAnonymity
from treeanon.privacy.models.k_anonymity import KAnonymity
from treeanon.privacy.models.l_diversity import (
    DistinctDiversity,
    EntropyDiversity,
    FrequencyDiversity,
    RecursiveDiversity,
)
from treeanon.privacy.models.model import Model, Number
from treeanon.privacy.models.p_sensitive_k import PSensitiveKAnonymity
from treeanon.privacy.models.t_closeness import Distance, TCloseness

Form = Literal["distinct", "frequency", "entropy", "recursive"]
FORMS: tuple[Form, ...] = ("distinct", "frequency", "entropy", "recursive")

Asked = Number | Mapping[str, Number]
"""A parameter for every sensitive column, or one for each of those named."""

MODELS: dict[str, type] = {
    "k-anonymity": KAnonymity,
    "distinct-l-diversity": DistinctDiversity,
    "frequency-l-diversity": FrequencyDiversity,
    "entropy-l-diversity": EntropyDiversity,
    "recursive-l-diversity": RecursiveDiversity,
    "alpha-k-anonymity": AlphaKAnonymity,
    "p-sensitive-k-anonymity": PSensitiveKAnonymity,
    "t-closeness": TCloseness,
}


def models_of(
    k: int | None = None,
    *,
    l: Asked | None = None,  # noqa: E741 - its name in the literature
    diversity: Form = "distinct",
    c: Number | None = None,
    alpha: Asked | None = None,
    p: Asked | None = None,
    t: Asked | None = None,
    emd: Distance = "equal",
) -> tuple[Model, ...]:
    """The models that these parameters ask for, together; an l of 1 asks for nothing.

    `l` is of the l-diversity in the form `diversity`, which needs `c` if that is recursive; `alpha` of
    (alpha,k)-anonymity, `p` of p-sensitive k-anonymity, `t` of t-closeness by the distance `emd`. Each may be a number,
    or one for each column named.

    >>> [model.name for model in models_of(5, l=3, t={"salary": 0.2}, emd="ordered")]
    ['5-anonymity', 'distinct 3-diversity', '0.2-closeness (ordered distance) of salary']
    """
    if diversity not in FORMS:
        raise UsageError(f"diversity must be one of {', '.join(FORMS)}")
    if c is not None and diversity != "recursive":
        raise UsageError("c is a parameter of recursive (c,l)-diversity alone (--diversity recursive)")
    found: list[Model] = [] if k is None else [KAnonymity(k)]
    if l is not None:
        found += _each(l, lambda value, column: _diversity(diversity, value, c, column))
    elif diversity != "distinct":
        raise UsageError(f"{diversity} l-diversity needs l (--l N)")
    if alpha is not None:
        found += _each(alpha, lambda value, column: AlphaKAnonymity(value, 1 if k is None else k, column=column))
    if p is not None:
        if k is None:
            raise UsageError("p-sensitive k-anonymity needs k")
        found += _each(p, lambda value, column: PSensitiveKAnonymity(value, k, column=column))  # type: ignore[arg-type]
    if t is not None:
        found += _each(t, lambda value, column: TCloseness(value, emd, column=column))
    return tuple(found)


def _each(asked: Asked, make: Callable[[Number, str | None], Model | None]) -> Iterator[Model]:
    pairs = asked.items() if isinstance(asked, Mapping) else [(None, asked)]
    for column, value in pairs:
        model = make(value, column)
        if model is not None:
            yield model


def _diversity(form: Form, l: Number, c: Number | None, column: str | None) -> Model | None:  # noqa: E741
    if l == 1 and not isinstance(l, bool):
        return None
    if form == "frequency":
        return FrequencyDiversity(l, column=column)
    if form == "entropy":
        return EntropyDiversity(l, column=column)
    if form == "recursive":
        if c is None:
            raise UsageError("recursive (c,l)-diversity needs c (--c N)")
        return RecursiveDiversity(c, l, column=column)  # type: ignore[arg-type]
    return DistinctDiversity(l, column=column)  # type: ignore[arg-type]


def plain_model(model: Model) -> dict[str, Any]:
    """A model as plain data; one that is not ours by its name alone.

    >>> plain_model(KAnonymity(3)), plain_model(TCloseness(0.2, column="pay"))["column"]
    ({'model': 'k-anonymity', 'k': 3}, 'pay')
    """
    for name, kind in MODELS.items():
        if type(model) is kind and is_dataclass(model):
            values = {key: float(v) if isinstance(v, Fraction) else v for key, v in asdict(model).items()}
            return {"model": name, **{key: value for key, value in values.items() if value is not None}}
    return {"model": model.name}


def model_of(plain: object) -> Model:
    """The model of plain data; UsageError says what is wrong with it.

    >>> model_of({"model": "k-anonymity", "k": 3})
    KAnonymity(k=3)
    """
    name = plain.get("model") if isinstance(plain, Mapping) else None
    if not isinstance(plain, Mapping) or not isinstance(name, str) or name not in MODELS:
        raise UsageError(f"a model must be one of {', '.join(MODELS)}")
    parameters = {str(key): value for key, value in plain.items() if key != "model"}
    wrong = UsageError(f"the parameters of {name} are not those that it has")
    if not all(isinstance(value, str | int | float) for value in parameters.values()):
        raise wrong
    try:
        found: Model = MODELS[name](**parameters)
    except TypeError:
        raise wrong from None
    return found
