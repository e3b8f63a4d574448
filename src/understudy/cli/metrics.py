"""The metrics that the command line knows, the options they take, and the command that lists them.

No table is read here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from understudy.cli.output import tell
from understudy.contests.metrics import METRICS as CONTESTS_METRICS
from understudy.errors import UsageError
from understudy.evaluate import METRICS
from understudy.evaluate.metric import with_article

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Mapping

    from understudy.evaluate import Metric, Option


def all_metrics() -> dict[str, Metric[Any]]:
    """Return every metric by its name: those for any table, and then those of contests."""
    return METRICS | CONTESTS_METRICS


def run(options: argparse.Namespace) -> None:
    """List the metrics, each with what it measures and its options."""
    facts, lines = [], []
    for metric in all_metrics().values():
        taken = list(_on_command_line(metric))
        about = {"name": metric.name, "title": metric.title, "about": metric.about}
        facts.append({**about, "options": [{"option": o.usage, "help": o.help} for o in taken]})
        lines += [f"{metric.name}  {metric.about}"]
        lines += [f"  {option.usage}  {option.help}" for option in taken]
    tell(options, {"metrics": facts}, lines)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of every metric; one that several metrics take is added once."""
    known = {o.name: o for m in all_metrics().values() for o in _on_command_line(m)}
    for option in known.values():
        if option.kind == "flag":
            parser.add_argument(
                option.flag, dest=option.name, action="store_true", help=option.help
            )
        else:
            parser.add_argument(
                option.flag, dest=option.name, metavar=option.metavar, help=option.help
            )


def given_settings(
    options: argparse.Namespace, metrics: Mapping[str, Metric[Any]]
) -> dict[str, Any]:
    """Return the settings from options; raise if a metric's options are incomplete."""
    settings: dict[str, Any] = {}
    for metric in metrics.values():
        taken = list(_on_command_line(metric))
        found = {option: vars(options).get(option.name) for option in taken}
        given = {option: text for option, text in found.items() if text not in {None, False}}
        if given and any(option.needed and option not in given for option in taken):
            raise UsageError(
                f"{with_article(metric.title)} needs all of its options",
                got=_flags(given),
                allowed=" ".join(o.usage for o in taken if o.needed) + ", or none of them",
            )
        for option, text in given.items():
            settings[option.name] = True if option.kind == "flag" else option.value(text)
    return settings


def _on_command_line(metric: Metric[Any]) -> Iterable[Option]:
    return (option for option in metric.options if option.help is not None)


def _flags(options: Iterable[Option]) -> str:
    return ", ".join(option.flag for option in options)
