"""Options declared in dataclasses: those of the executors, and others that commands share."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import typing
from collections.abc import Callable
from inspect import Parameter
from typing import Annotated, Any, Literal

import typer

from tsbench.errors import UserError
from tsbench.executors.base import EXECUTORS, ExecutorOptions, options_class


def with_options(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command options in place of its parameters that are dataclasses of options.

    In place of ``ExecutorOptions`` it gets ``--executor`` and the options of all executors.
    """
    parameters: list[Parameter] = []
    groups: dict[str, tuple[Any, list[str]]] = {}
    for parameter in inspect.signature(function, eval_str=True).parameters.values():
        kind = parameter.annotation
        if not dataclasses.is_dataclass(kind):
            parameters.append(parameter.replace(kind=Parameter.KEYWORD_ONLY))
            continue
        offered = _all_executors() if kind is ExecutorOptions else _fields(kind)
        groups[parameter.name] = kind, list(offered)
        parameters += offered.values()

    @functools.wraps(function)
    def wrapped(**given: Any) -> None:
        for name, (kind, offered) in groups.items():
            chosen = {each: given.pop(each) for each in offered}
            make = choose_options if kind is ExecutorOptions else kind
            given[name] = make(**chosen)
        function(**given)

    wrapped.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {each.name: each.annotation for each in parameters}
    return wrapped


def choose_options(executor: str, **given: Any) -> ExecutorOptions:
    """The options of one executor; refuses those that belong to another."""
    mine = options_class(executor)
    names = {each.name for each in dataclasses.fields(mine)}
    for other in EXECUTORS:
        for each in dataclasses.fields(options_class(other)):
            if each.name not in names and given.get(each.name, each.default) != each.default:
                flag = each.metadata["flag"]
                raise UserError(f"{flag} is for --executor {other}, not {executor}")
    return mine(**{name: given[name] for name in names & given.keys()})


def _all_executors() -> dict[str, Parameter]:
    """Which executor, what all have, then what each of them has."""
    offered = {
        "executor": Parameter(
            "executor",
            Parameter.KEYWORD_ONLY,
            default="local",
            annotation=Annotated[
                Literal[tuple(EXECUTORS)],
                typer.Option("--executor", help="Where to execute the runs."),
            ],
        )
    }
    for owner in (ExecutorOptions, *map(options_class, EXECUTORS)):
        offered |= {k: v for k, v in _fields(owner).items() if k not in offered}
    return offered


def _fields(owner: Any) -> dict[str, Parameter]:
    """The options of a dataclass, as parameters of a command."""
    hints = typing.get_type_hints(owner)
    found = {}
    for each in dataclasses.fields(owner):
        about, hint = each.metadata, hints[each.name]
        option = typer.Option(about["flag"], metavar=about["metavar"], help=about["help"])
        found[each.name] = Parameter(
            each.name,
            Parameter.KEYWORD_ONLY,
            default=each.default,
            annotation=Annotated[hint, option],
        )
    return found
