"""All privacy models of tables by name, those that parameters ask for, and models as texts and as plain data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from fractions import Fraction
from typing import Any, Literal

from treeanon.errors import UsageError
from treeanon.parameters import Parameter
from treeanon.plugins import Registry
from treeanon.privacy.models.distribution import (
    DISTANCES,
    LIKENESS,
    ORDERS,
    BetaLikeness,
    DeltaDisclosure,
    Distance,
    TCloseness,
)
from treeanon.privacy.models.k_anonymity import AlphaKAnonymity, KAnonymity, PSensitiveKAnonymity
from treeanon.privacy.models.l_diversity import (
    DistinctDiversity,
    EntropyDiversity,
    FrequencyDiversity,
    RecursiveDiversity,
)
from treeanon.privacy.models.model import Model, Number, SensitiveModel
from treeanon.privacy.models.population import AverageRisk, DeltaPresence, KMap, PopulationUniqueness
from treeanon.privacy.uniqueness import ESTIMATORS

Form = Literal["distinct", "frequency", "entropy", "recursive"]
FORMS: tuple[Form, ...] = ("distinct", "frequency", "entropy", "recursive")

Sensitive = Literal["separate", "joined"]
SENSITIVE: tuple[Sensitive, ...] = ("separate", "joined")

PerColumnNumber = Number | Mapping[str, Number]
"""A parameter for every sensitive column, or one for each of those named."""


@dataclass(frozen=True)
class ModelSpec:
    """A privacy model by name: its class, a line of help, and its parameters.

    The class is a dataclass with a field for each parameter. A package adds a model of its own in one file:

        @dataclass(frozen=True)
        class NoMajority(SensitiveModel):
            share: float = 0.5
            ...
            def _holds_in(self, sizes, histogram): ...  # asked by the searches, of all groups at once
            def check(self, group): ...                 # asked of each published group, whoever made it

        SHARE = Parameter("share", "float", "largest share of a value", required=True)
        MODEL = ModelSpec("no-majority", NoMajority, "no value is that of most", (SHARE,))

    and names it in its entry points: `[project.entry-points."treeanon.models"]`, `no-majority = "its_module:MODEL"`.
    It is asked for as `models=["no-majority:share=0.4"]`, and by `--model no-majority:share=0.4`.
    """

    name: str
    make: Callable[..., Model]
    help: str
    parameters: tuple[Parameter, ...] = ()

    def model(self, parameters: Mapping[str, Any]) -> Model:
        """Return the model with these parameters; UsageError for one that it does not have, or that is missing."""
        names = [one.name for one in self.parameters]
        for name in parameters:
            if name not in names:
                has = f"choose from {', '.join(names)}" if names else "it has none"
                raise UsageError(f"unknown parameter {name!r} of model {self.name}; {has}")
        for one in self.parameters:
            if one.required and one.name not in parameters:
                raise UsageError(f"model {self.name} needs the parameter {one.name}: {one.help}")
        return self.make(**parameters)


_COLUMN = Parameter("column", "text", "the sensitive class (default: each one)")
_JOINED = Parameter("joined", "flag", "the other sensitive classes may be known (default: false)")
_K = Parameter("k", "int", "least number of persons in a group", required=True)
_L = Parameter("l", "int", "least number of different values in a group", required=True)
_POPULATION = Parameter("population", "text", "file of the population, with the quasi columns", required=True)
_COUNT = Parameter("count", "text", "column of that file: how many persons a row counts for (default: 1)")
_WELL = Parameter("l", "float", "how many values must be well represented in a group", required=True)

MODELS: Registry[ModelSpec] = Registry(
    "treeanon.models",
    ModelSpec,
    "model",
    {
        spec.name: spec
        for spec in (
            ModelSpec("k-anonymity", KAnonymity, "a group has at least k persons", (_K,)),
            ModelSpec(
                "distinct-l-diversity",
                DistinctDiversity,
                "a group has at least l different values",
                (_L, _COLUMN, _JOINED),
            ),
            ModelSpec(
                "frequency-l-diversity",
                FrequencyDiversity,
                "no value has more than 1/l of a group",
                (_WELL, _COLUMN, _JOINED),
            ),
            ModelSpec(
                "entropy-l-diversity",
                EntropyDiversity,
                "the entropy of a group is at least log l",
                (_WELL, _COLUMN, _JOINED),
            ),
            ModelSpec(
                "recursive-l-diversity",
                RecursiveDiversity,
                "the most frequent value has less than c times the rest from the l-th on",
                (Parameter("c", "float", "factor of the rest", required=True), _L, _COLUMN, _JOINED),
            ),
            ModelSpec(
                "alpha-k-anonymity",
                AlphaKAnonymity,
                "a group has at least k persons, and no value more than a share of alpha",
                (
                    Parameter("alpha", "float", "largest share of a value in a group", required=True),
                    Parameter("k", "int", "least number of persons in a group"),
                    Parameter("value", "text", "the value (default: every one)"),
                    _COLUMN,
                    _JOINED,
                ),
            ),
            ModelSpec(
                "p-sensitive-k-anonymity",
                PSensitiveKAnonymity,
                "a group has at least k persons and p different values",
                (Parameter("p", "int", "least number of different values in a group", required=True), _K, _COLUMN),
            ),
            ModelSpec(
                "t-closeness",
                TCloseness,
                "the values of a group are distributed as in the whole table, up to t",
                (
                    Parameter("t", "float", "largest distance", required=True),
                    Parameter("distance", "choice", "how far values are from each other", choices=DISTANCES),
                    Parameter("order", "choice", "order of the values", choices=ORDERS),
                    _COLUMN,
                    _JOINED,
                ),
            ),
            ModelSpec(
                "beta-likeness",
                BetaLikeness,
                "no value is more frequent in a group than in the table by more than a factor of 1 + beta",
                (
                    Parameter("beta", "float", "largest relative gain of a value's share", required=True),
                    Parameter("form", "choice", "enhanced (default): at most -ln of the share, too", choices=LIKENESS),
                    _COLUMN,
                    _JOINED,
                ),
            ),
            ModelSpec(
                "delta-disclosure-privacy",
                DeltaDisclosure,
                "every value is as frequent in a group as in the table, up to a factor below 2 to the delta",
                (
                    Parameter("delta", "float", "what no logarithm of a ratio of shares reaches", required=True),
                    _COLUMN,
                    _JOINED,
                ),
            ),
            ModelSpec("k-map", KMap, "a row fits at least k persons of a population", (_K, _POPULATION, _COUNT)),
            ModelSpec(
                "delta-presence",
                DeltaPresence,
                "of the population's persons who fit a group, a share from min to max is in the table",
                (
                    Parameter("max", "float", "largest share", required=True),
                    Parameter("min", "float", "least share (default 0)"),
                    _POPULATION,
                    _COUNT,
                ),
            ),
            ModelSpec(
                "average-risk",
                AverageRisk,
                "who guesses for all persons is right for at most a share of them",
                (Parameter("share", "float", "largest mean of 1 / size of a person's group", required=True),),
            ),
            ModelSpec(
                "population-uniqueness",
                PopulationUniqueness,
                "at most a share of the population is estimated to be unique",
                (
                    Parameter("share", "float", "largest share", required=True),
                    Parameter("population", "int", "number of persons of the population", required=True),
                    Parameter(
                        "estimator",
                        "choice",
                        "default: dankar, which takes one of the others",
                        choices=ESTIMATORS,
                    ),
                ),
            ),
        )
    },
)
"""All privacy models of tables, those of installed packages too."""


def model_of_text(text: str) -> Model:
    """Return the model of a text NAME:PARAMETER=VALUE,…; UsageError says what is wrong with it.

    >>> model_of_text("t-closeness:t=0.2,distance=ordered").name
    '0.2-closeness (ordered distance)'
    """
    name, _, given = text.partition(":")
    spec = MODELS.named(name)
    kinds = {one.name: one for one in spec.parameters}
    parameters: dict[str, Any] = {}
    for part in given.split(",") if given else ():
        key, equals, value = part.partition("=")
        if not equals or key in parameters:
            raise UsageError(f"write a model as NAME:PARAMETER=VALUE,…, each parameter once: {name}")
        parameters[key] = _parsed(kinds[key], value) if key in kinds else value
    return spec.model(parameters)


def _parsed(parameter: Parameter, text: str) -> object:
    try:
        return parameter.parse(text)
    except ValueError:
        raise UsageError(f"parameter {parameter.name} must be {parameter.expected}") from None


def models_of(
    k: int | None = None,
    *,
    l: PerColumnNumber | None = None,  # noqa: E741 - its name in the literature
    diversity: Form | None = None,
    c: Number | None = None,
    alpha: PerColumnNumber | None = None,
    p: PerColumnNumber | None = None,
    t: PerColumnNumber | None = None,
    emd: Distance = "equal",
    sensitive: Sensitive | None = None,
    models: Sequence[Model | str] = (),
) -> tuple[Model, ...]:
    """Return the models that these parameters request; an l of 1 requests nothing.

    `l` is of the l-diversity in the form `diversity` (default: distinct), which needs `c` if that is recursive;
    `alpha` of (alpha,k)-anonymity, `p` of p-sensitive k-anonymity, `t` of t-closeness by the distance `emd`. Each may
    be a number, or one for each column named; alpha's also for one value, by the name CLASS:VALUE. `models` are further
    ones, as objects or as texts (see `model_of_text`). Several sensitive columns are `separate`, each by itself, unless
    they are `joined`: then the others may be known. p-sensitive k-anonymity is of each by itself in any case.

    >>> [model.name for model in models_of(5, l=3, t={"salary": 0.2}, emd="ordered")]
    ['5-anonymity', 'distinct 3-diversity', '0.2-closeness (ordered distance) of salary']
    """
    diversity = "distinct" if diversity is None else diversity
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
        found += _each(alpha, lambda value, column: _of_value(value, 1 if k is None else k, column))
    if p is not None:
        if k is None:
            raise UsageError("p-sensitive k-anonymity needs k")
        found += _each(p, lambda value, column: PSensitiveKAnonymity(value, k, column=column))  # type: ignore[arg-type]
    if t is not None:
        found += _each(t, lambda value, column: TCloseness(value, emd, column=column))
    found += [model_of_text(model) if isinstance(model, str) else model for model in models]
    if sensitive not in (None, *SENSITIVE):
        raise UsageError(f"sensitive must be one of {', '.join(SENSITIVE)}")
    return tuple(map(_joined, found) if sensitive == "joined" else found)


def _joined(model: Model) -> Model:
    if isinstance(model, SensitiveModel) and not isinstance(model, PSensitiveKAnonymity):
        return replace(model, joined=True)
    return model


def _of_value(alpha: Number, k: int, name: str | None) -> AlphaKAnonymity:
    """Return the model of all values of a class, or of the one in CLASS:VALUE."""
    column, colon, value = (name or "").partition(":")
    if colon and not (column and value):
        raise UsageError("alpha of one value is for CLASS:VALUE, neither of them empty")
    return AlphaKAnonymity(alpha, k, value if colon else None, column=column or None)


def _each(asked: PerColumnNumber, make: Callable[[Number, str | None], Model | None]) -> Iterator[Model]:
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
    """Return a model as plain data; one of another package, or that holds a population, by its name alone.

    >>> plain_model(KAnonymity(3)), plain_model(TCloseness(0.2, column="pay"))["column"]
    ({'model': 'k-anonymity', 'k': 3}, 'pay')
    """
    for name, spec in MODELS.items():
        if type(model) is spec.make and is_dataclass(model):
            found = {one.name: getattr(model, one.name) for one in fields(model)}
            values = {key: float(v) if isinstance(v, Fraction) else v for key, v in found.items() if v is not None}
            if all(isinstance(value, str | int | float) for value in values.values()):
                return {"model": name, **values}
    return {"model": model.name}


def model_of(plain: object) -> Model:
    """Return the model of plain data; UsageError says what is wrong with it.

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
        return MODELS[name].make(**parameters)
    except TypeError:
        raise wrong from None
