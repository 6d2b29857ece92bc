"""Loading of a valid project and its graph, with which every command begins."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from lakesmith.errors import Problem, ProjectError
from lakesmith.graph.check_keys import column_problems, lookup_problems, taken_problems
from lakesmith.graph.check_references import cycle_problems, reference_problems
from lakesmith.graph.check_sql import Analysed, analyse_queries
from lakesmith.graph.graph import Graph, build_graph
from lakesmith.project.definitions import Project
from lakesmith.project.files import FolderFiles
from lakesmith.project.loaded import LoadedProject, load_cached, sorted_problems
from lakesmith.project.scratch import scratch_folder
from lakesmith.sql.cache import AnalysisCache

CACHE = "cache"
"""The folder inside ``.lakesmith/`` (see ``project.scratch``) for what can be made again at any time."""


def load(
    root: Path, target: str | None = None, environ: Mapping[str, str] = os.environ
) -> tuple[Project, Graph]:
    """Returns the project in the folder ``root``, for ``target`` or its default one, and the graph of its
    tables.

    Raises:
        ProjectError: with every problem, sorted by place: those of ``load_project``, LS130 to LS136.
    """
    folder = scratch_folder(root.absolute()) / CACHE
    loaded = load_cached(FolderFiles(root.absolute()), target, environ, folder)
    cache = AnalysisCache(folder)
    analysed = analyse_queries(loaded.project, cache.analyse)
    problems = (*loaded.problems, *graph_problems(loaded, analysed))
    if problems:
        raise ProjectError(sorted_problems(problems))
    cache.save()
    return loaded.project, build_graph(loaded.project, analysed.analyses)


def graph_problems(loaded: LoadedProject, analysed: Analysed) -> tuple[Problem, ...]:
    """Returns every problem between the tables, and of their SQL."""
    project, analyses = loaded.project, analysed.analyses
    return (
        *analysed.problems,
        *reference_problems(project, analyses, loaded.declared),
        *cycle_problems(project, analyses),
        *column_problems(project, analyses),
        *taken_problems(project, analyses),
        *lookup_problems(project, analyses),
    )
