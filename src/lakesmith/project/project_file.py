"""``lakesmith.yaml``: its settings, and what a project takes from it for one target."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, ClassVar, Literal

from lakesmith.errors import Place, Problem, ProjectError, did_you_mean
from lakesmith.project.alerting import alert_problems
from lakesmith.project.declaring import NAME_PATTERN, Name, Scalar, VariableName, duration, setting
from lakesmith.project.definitions import Alerts, Deployment, Naming, Schedule, Target, WebPage
from lakesmith.project.files import PROJECT_FILE, ProjectFiles
from lakesmith.project.schedules import SCHEDULE_FORMS, schedule_of
from lakesmith.project.variables import Filler
from lakesmith.project.written import Level, defaults_model, meant, model_of, validated, values_of
from lakesmith.project.yaml_reader import Document, YamlPath, read_yaml
from lakesmith.redaction import secrets_in_settings

LOCAL = "local"
_FIXED = {
    "spark.sql.variable.substitute": (
        "false: ${...} in a text or a name is what it says",
        "${vars.NAME} is filled in by lakesmith",
    ),
    "spark.sql.parser.escapedStringLiterals": ("false", "write r'...' where a backslash means itself"),
}
"""Settings of Spark that stay off, because they change the meaning of texts, each with an alternative."""


@dataclass(frozen=True, slots=True)
class CatalogForm:
    """An Iceberg catalog. Besides `type`, properties are passed on to it as they are."""

    is_open: ClassVar[bool] = True
    """Whether other keys are allowed, too."""

    type: Literal["local", "glue", "s3tables", "rest", "jdbc"] = setting()
    """The type of catalog."""


@dataclass(frozen=True, slots=True)
class EngineForm:
    """What is done with Spark between commands."""

    keep_warm: float | None = setting(
        None, form=str, read=duration(expected="a number and a unit: 30 seconds, 5 minutes, 0 seconds")
    )
    """How long a command leaves Spark running, so that the next one starts at once; `0 seconds`: not at all.
    Default: 10 minutes in a terminal; without a terminal (cron, services), Spark ends. Where `CI` is set, it
    always ends. `lakesmith stop` ends it."""


@dataclass(frozen=True, slots=True)
class TargetForm:
    """Where a project runs."""

    catalog: CatalogForm | None = setting(None)
    """The catalog. Without it: the embedded one, in `.lakesmith/` of the project's folder."""
    spark: Mapping[str, Scalar] = setting(form=dict[str, Scalar], usual={})
    """Spark settings, by their full names."""
    vars: Mapping[str, Scalar] = setting(form=dict[VariableName, Scalar], usual={})
    """Values for `${vars.NAME}` on this target, in place of the project's, such as the place of landing
    files."""
    namespaces: Naming | None = setting(None)
    """What the tables are called in the catalog. Default: as in the project."""
    other_catalogs: Mapping[str, CatalogForm] = setting(form=dict[Name, CatalogForm], usual={})
    """Other catalogs, by the names that `external: {catalog: NAME}` refers to, with the same settings as
    `catalog`: see [external tables](../external.md)."""
    engine: EngineForm | None = setting(None)
    """What is done with Spark between commands on this target, in place of the project's `engine`."""
    deploy: Deployment | None = setting(None)
    """What `lakesmith deploy` writes for it: see [deploy](../deploy.md)."""
    recover_from: str | None = setting(None)
    """The target whose lake `lakesmith recover` brings here: this target's buckets are copies of that one's.
    See [recovery](../recovery.md)."""


@dataclass(frozen=True, slots=True)
class ChecksForm:
    """When the rules of all tables are checked apart from loading."""

    schedule: Schedule | None = setting(None, form=SCHEDULE_FORMS, read=schedule_of)
    """When `lakesmith up` does what `lakesmith check` does: a cron expression or `{every: 6h}`."""


@dataclass(frozen=True, slots=True)
class ProjectForm:
    """`lakesmith.yaml`: the project's name, where it runs, and what its tables share."""

    name: str = setting(pattern=NAME_PATTERN)
    """The project's name. Tables remember which project they belong to."""
    default_target: str | None = setting(None)
    """The target used when none is named. Default: the only target, or `local`."""
    targets: Mapping[str, TargetForm | None] = setting(form=dict[Name, TargetForm | None], usual={})
    """Where the project runs, by name. `local: {}` is the embedded default. `${ENV_VAR}` is filled in here,
    and only here."""
    vars: Mapping[str, Scalar] = setting(form=dict[VariableName, Scalar], usual={})
    """Values for `${vars.NAME}` in table files, SQL and `targets`."""
    engine: EngineForm | None = setting(None)
    """What is done with Spark between commands."""
    alerts: Alerts | None = setting(None)
    """Who is notified of failures, stale tables and bad rows: see [alerts](../alerts.md)."""
    checks: ChecksForm | None = setting(None)
    """When all rules are checked apart from loading: see [quality](../quality.md)."""
    ui: WebPage | None = setting(None)
    """How the web page is served: see [the page](../page.md)."""
    defaults: Any = setting(None, form=defaults_model())
    """Settings of all tables, see `_defaults.yaml`."""


@dataclass(frozen=True, slots=True)
class Header:
    """The content of ``lakesmith.yaml`` for one target. ``defaults``: its level of settings, if any."""

    name: str
    target: Target
    variables: Mapping[str, str]
    secrets: tuple[str, ...]
    uses_environment: bool
    defaults: Level | None
    keep_warm_seconds: float | None
    alerts: Alerts | None = None
    checks: Schedule | None = None
    ui: WebPage = field(default_factory=WebPage)


def read_header(files: ProjectFiles, target: str | None, environ: Mapping[str, str]) -> Header:
    """Reads ``lakesmith.yaml`` for the target called ``target``, or for the default one.

    Raises ProjectError with every problem: LS119 no such file, LS120 an unknown target, LS122 a setting of
    Spark that would change the meaning of texts, LS101 to LS107.
    """
    if not files.exists(PROJECT_FILE):
        hint = "go to the project's folder or name it with --project; lakesmith init creates one"
        raise ProjectError.of(
            "LS119", "no lakesmith project here", Place(PROJECT_FILE), PROJECT_FILE, "no such file", hint
        )
    document = read_yaml(files.read(PROJECT_FILE), PROJECT_FILE)
    chosen = _chosen(document, target)
    filler = Filler(_variables(document, ("vars",)), environ)
    # Names of places may be shown; other values from the environment may be secrets.
    named = Filler(filler.variables, environ)
    filler.variables = {**(filler.variables or {}), **_target_variables(document, chosen, named)}
    named.variables = filler.variables
    filled = _filled(document, chosen, filler, named)
    try:
        model = validated(model_of(ProjectForm), filled)
    except ProjectError as error:
        masked = (_masked(problem, filler.used) for problem in error.problems)
        problems = (*named.problems, *filler.problems, *masked)
        raise ProjectError(problems) from None
    wrong: list[Problem] = []
    alerts = _alerts(model, document, wrong)
    whole = Level(document, model)
    engines = [whole.below("engine"), _engine_of_target(document, model, chosen)]
    warm = values_of(EngineForm, [level for level in reversed(engines) if level], wrong)
    checks = (
        values_of(ChecksForm, [below], wrong) if (below := Level(document, model).below("checks")) else {}
    )
    deployment = _deployment(document, model, chosen, wrong)
    ui = WebPage(**values_of(WebPage, [below], wrong)) if (below := whole.below("ui")) else WebPage()
    problems = (
        *named.problems,
        *filler.problems,
        *wrong,
        *_target_problems(model, document, chosen),
        *_local_problems(model, document),
        *_recover_problems(model, document),
        *_namespace_problems(model, document),
        *_spark_problems(model, document),
    )
    if problems:
        raise ProjectError(problems)
    uses_environment = bool(filler.used or named.used)
    header = _header(model, document, chosen, filler, uses_environment)
    header = replace(header, target=replace(header.target, deploy=deployment))
    kept = EngineForm(**warm).keep_warm
    schedule = ChecksForm(**checks).schedule
    return replace(header, keep_warm_seconds=kept, alerts=alerts, checks=schedule, ui=ui)


def _alerts(model: Any, document: Document, problems: list[Problem]) -> Alerts | None:
    level = Level(document, model).below("alerts")
    if level is None:
        return None
    values = values_of(Alerts, [level], problems)
    if "channels" not in values:
        return None
    alerts = Alerts(**values)
    problems += alert_problems(alerts, level.place, sorted({*model.targets} or {LOCAL}))
    return alerts


def _engine_of_target(document: Document, model: Any, chosen: str) -> Level | None:
    settings = model.targets.get(chosen)
    return Level(document, settings, ("targets", chosen)).below("engine") if settings else None


def _deployment(document: Document, model: Any, chosen: str, problems: list[Problem]) -> Deployment | None:
    settings = model.targets.get(chosen)
    level = Level(document, settings, ("targets", chosen)).below("deploy") if settings else None
    if level is None:
        return None
    values = values_of(Deployment, [level], problems)
    return None if problems else Deployment(**values, place=level.place)


def _header(model: Any, document: Document, chosen: str, filler: Filler, uses_environment: bool) -> Header:
    settings = model.targets.get(chosen) or model_of(TargetForm).model_validate({})
    defaults = Level(document, model.defaults, ("defaults",)) if model.defaults is not None else None
    found = _target(chosen, settings, document)
    written = (found.catalog, found.spark, *(other.catalog for other in found.others))
    secrets = tuple(
        sorted({*filter(None, filler.used.values()), *chain(*map(secrets_in_settings, map(dict, written)))})
    )
    variables = filler.variables or {}
    return Header(model.name, found, variables, secrets, uses_environment, defaults, EngineForm().keep_warm)


def _target(name: str, settings: Any, document: Document) -> Target:
    return Target(
        name=name,
        type=settings.catalog.type if settings.catalog else LOCAL,
        catalog=_properties(settings.catalog),
        spark=tuple(sorted((key, _text(value)) for key, value in settings.spark.items())),
        place=document.place("targets", name),
        naming=_naming(settings),
        recover_from=settings.recover_from,
        others=tuple(
            _other(key, catalog, document.place("targets", name, "other_catalogs", key))
            for key, catalog in sorted(settings.other_catalogs.items())
        ),
    )


def _other(name: str, catalog: Any, place: Place) -> Target:
    return Target(name, catalog.type, _properties(catalog), place=place)


def _properties(catalog: Any) -> tuple[tuple[str, str], ...]:
    extra = (catalog.model_extra or {}) if catalog else {}
    return tuple(sorted((key, _text(value)) for key, value in extra.items()))


def _naming(settings: Any) -> Naming:
    found: Naming = meant(Naming, settings.namespaces) if settings.namespaces is not None else Naming()
    return found


def _chosen(document: Document, target: str | None) -> str:
    if target is not None:
        return target
    default, targets = document.value.get("default_target"), document.value.get("targets")
    if isinstance(default, str):
        return default
    return next(iter(targets)) if isinstance(targets, dict) and len(targets) == 1 else LOCAL


def _target_problems(model: Any, document: Document, chosen: str) -> Iterator[Problem]:
    known = sorted({*model.targets} or {LOCAL})
    for name, place in ((chosen, None), (model.default_target, document.place("default_target"))):
        if name is not None and name not in known and (place is not None or name != model.default_target):
            hint = did_you_mean(name, known)
            where = place or document.place("targets")
            yield Problem(
                "LS120", f"there is no target {name!r}", where, f"one of {', '.join(known)}", hint=hint
            )


def _recover_problems(model: Any, document: Document) -> Iterator[Problem]:
    for name, settings in model.targets.items():
        lost = settings.recover_from if settings else None
        others = sorted({*model.targets} - {name})
        if lost is not None and lost not in others:
            place = document.place("targets", name, "recover_from")
            expected = f"one of {', '.join(others)}" if others else "another target"
            yield Problem("LS120", f"there is no target {lost!r} to recover", place, expected)


def _local_problems(model: Any, document: Document) -> Iterator[Problem]:
    for name, settings in model.targets.items():
        for key, other in settings.other_catalogs.items() if settings else ():
            if other.type == LOCAL:
                place = document.place("targets", name, "other_catalogs", key)
                hint = "external: {project: FOLDER} reads the tables of a project on this machine"
                yield Problem("LS105", f"the other catalog {key!r} is not a shared catalog", place, hint=hint)
        catalog = settings.catalog if settings else None
        for key in (catalog.model_extra or {}) if catalog and catalog.type == LOCAL else ():
            what = f"the embedded catalog has no setting {key!r}"
            place = document.place("targets", name, "catalog", key)
            yield Problem(
                "LS103", what, place, hint="it keeps everything in .lakesmith/ of the project's folder"
            )


def _namespace_problems(model: Any, document: Document) -> Iterator[Problem]:
    for name, settings in model.targets.items():
        given = settings.namespaces if settings else None
        if given is None:
            continue
        place = document.place("targets", name, "namespaces")
        if settings and (settings.catalog is None or settings.catalog.type == LOCAL):
            what = "the embedded catalog uses the project's own names"
            yield Problem("LS103", what, place, hint="namespaces are for catalogs that are shared")
        elif given.single and (given.prefix or given.layers):
            yield Problem("LS105", "single excludes prefix and layers", place, "single alone")


def _spark_problems(model: Any, document: Document) -> Iterator[Problem]:
    for name, settings in model.targets.items():
        given = settings.spark if settings else {}
        for key in given.keys() & _FIXED.keys():
            value, (expected, instead) = _text(given[key]), _FIXED[key]
            if value.strip().lower() != "false":
                place = document.place("targets", name, "spark", key)
                hint = f"leave the setting out; {instead}"
                yield Problem("LS122", f"{key} cannot be turned on", place, expected, value, hint)


def _variables(document: Document, path: YamlPath) -> dict[str, str]:
    given = document.at(path) if document.known(path) == path else None
    pairs = given.items() if isinstance(given, dict) else ()
    return {name: _text(value) for name, value in pairs if isinstance(value, (str, bool, int, float))}


def _target_variables(document: Document, chosen: str, filler: Filler) -> dict[str, str]:
    """The target's own variables, with references to variables of the project and of the environment filled
    in."""
    path = ("targets", chosen, "vars")
    return {
        name: filler.text(value, document.text_place(*path, name))
        for name, value in _variables(document, path).items()
    }


def _filled(document: Document, chosen: str, filler: Filler, named: Filler) -> Document:
    """The document with its references filled in. Other targets stay as they are: their variables need not be
    set here."""
    without_environ = Filler(filler.variables)
    value = {key: without_environ.value(document, (key,)) for key in document.value if key != "targets"}
    targets = document.value.get("targets")
    if isinstance(targets, dict) and chosen in targets:
        targets = {**targets, chosen: _filled_target(document, chosen, filler, named)}
    filler.problems += without_environ.problems
    return replace(document, value=value if targets is None else {**value, "targets": targets})


def _filled_target(document: Document, chosen: str, filler: Filler, named: Filler) -> object:
    """The target's settings, whose own variables are filled in already."""
    path: YamlPath = ("targets", chosen)
    written = document.at(path)
    if not isinstance(written, dict):
        return filler.value(document, path)
    by_itself = ("vars", "catalog", "other_catalogs")
    filled = {key: filler.value(document, (*path, key)) for key in written if key not in by_itself}
    if "vars" in written:
        filled["vars"] = written["vars"]
    if "catalog" in written:
        filled["catalog"] = _filled_catalog(document, (*path, "catalog"), filler, named)
    if "other_catalogs" in written:
        filled["other_catalogs"] = _filled_others(document, (*path, "other_catalogs"), filler, named)
    return filled


def _filled_others(document: Document, path: YamlPath, filler: Filler, named: Filler) -> object:
    written = document.at(path)
    if not isinstance(written, dict):
        return filler.value(document, path)
    return {key: _filled_catalog(document, (*path, key), filler, named) for key in written}


def _filled_catalog(document: Document, path: YamlPath, filler: Filler, named: Filler) -> object:
    written = document.at(path)
    if not isinstance(written, dict):
        return filler.value(document, path)
    return {key: (named if key == "warehouse" else filler).value(document, (*path, key)) for key in written}


def _masked(problem: Problem, used: Mapping[str, str]) -> Problem:
    def hide(text: str | None) -> str | None:
        for name, value in used.items():
            text = text.replace(value, f"${{{name}}}") if text and value else text
        return text

    return replace(problem, what=hide(problem.what) or "", found=hide(problem.found), hint=hide(problem.hint))


def _text(value: str | bool | int | float) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
