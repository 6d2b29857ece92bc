"""Results of ``check`` and ``test`` as JUnit XML, as CI systems read it: a suite for each table or file of
stories, a case for each rule or story.

Source of the format: the schema of Apache Ant's JUnit task, with the elements that CI systems agree on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from xml.etree import ElementTree as ET

from lakesmith.api.checking import TableResult
from lakesmith.api.testing.story_run import StoryResult

_NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_text(tables: Sequence[TableResult]) -> str:
    """Returns the XML document."""
    root = ET.Element("testsuites")
    for table in tables:
        cases = list(_cases(table))
        failures = sum(case.find("failure") is not None for case in cases)
        suite = ET.SubElement(
            root, "testsuite", name=table.table, tests=str(len(cases)), failures=str(failures)
        )
        suite.set("errors", str(len(table.problems)))
        suite.set("skipped", str(int(table.why is not None)))
        suite.extend(cases)
    return _document(root)


def stories_as_junit(stories: Sequence[StoryResult]) -> str:
    """Returns the XML document of stories."""
    root = ET.Element("testsuites")
    for file in dict.fromkeys(each.file for each in stories):
        result = [each for each in stories if each.file == file]
        failures = str(sum(not each.passed for each in result))
        suite = ET.SubElement(root, "testsuite", name=file, tests=str(len(result)), failures=failures)
        for each in result:
            case = ET.SubElement(suite, "testcase", classname=file, name=_text(each.title), file=each.place)
            case.set("time", f"{each.seconds:.3f}")
            for failure in each.failures:
                what = _text(f"{failure.table}, batch {failure.batch}: {failure.what}")
                ET.SubElement(case, "failure", message=what).text = _text("\n".join(failure.lines))
    return _document(root)


def _document(root: ET.Element) -> str:
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _cases(table: TableResult) -> Iterator[ET.Element]:
    if table.why is not None:
        case = _case(table, "rules")
        ET.SubElement(case, "skipped", message=_text(table.why))
        yield case
    for each in table.results:
        case = _case(table, each.rule)
        case.set("file", each.place)
        if not each.passed:
            failure = ET.SubElement(case, "failure", message=_text(f"{each.found}; expected {each.expected}"))
            failure.text = _text(f"{each.place}: {each.rule}")
        yield case
    for problem in table.problems:
        case = _case(table, problem.what)
        ET.SubElement(case, "error", message=_text("\n".join(problem.lines())))
        yield case


def _case(table: TableResult, name: str) -> ET.Element:
    return ET.Element("testcase", classname=table.table, name=_text(name))


def _text(text: str) -> str:
    return _NOT_IN_XML.sub("\ufffd", text)
