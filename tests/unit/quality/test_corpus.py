"""A corpus of DQDL documents: what lakesmith accepts, and what AWS's own parser says of them."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from lakesmith.errors import Place, ProjectError
from lakesmith.quality.dqdl import parse_rules

LINES = (Path(__file__).parent / "corpus.txt").read_text(encoding="utf-8").splitlines()
CORPUS = [(line[0], json.loads(line[2:])) for line in LINES if line and not line.startswith("#")]


def test_each_document_is_accepted_or_refused_as_noted() -> None:
    assert len(CORPUS) > 450
    for mark, text in CORPUS:
        assert _accepts(text) == (mark in "+>?"), text


def _accepts(text: str) -> bool:
    try:
        parse_rules(text, Place("t.yaml", 1))
    except ProjectError:
        return False
    return True


POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>corpus</groupId><artifactId>corpus</artifactId><version>1</version><dependencies><dependency>
<groupId>software.amazon.glue</groupId><artifactId>dqdl</artifactId><version>1.0.0</version>
</dependency><dependency><groupId>org.slf4j</groupId><artifactId>slf4j-api</artifactId>
<version>1.7.36</version>
</dependency></dependencies></project>"""
MAIN = """
public class Judge {
    public static void main(String[] args) throws Exception {
        byte[] bytes = java.nio.file.Files.readAllBytes(java.nio.file.Paths.get(args[0]));
        for (String text : new String(bytes, "UTF-8").split("\\u0000", -1)) {
            boolean accepted = true;
            try { new software.amazon.glue.dqdl.parser.DQDLParser().parse(text); }
            catch (Throwable error) { accepted = false; }
            System.out.println(accepted ? "accepted" : "refused");
        }
    }
}
"""


@pytest.mark.processes
def test_the_parser_of_aws_says_what_is_noted(tmp_path: Path) -> None:
    if not all(map(shutil.which, ("mvn", "java", "javac"))):
        pytest.skip("Maven and a JDK are needed to run AWS's parser")
    (tmp_path / "pom.xml").write_text(POM)
    (tmp_path / "Judge.java").write_text(MAIN.replace("\\u0000", "\\000"))
    (tmp_path / "corpus").write_bytes("\0".join(text for _, text in CORPUS).encode())
    fetch = ["mvn", "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=jars"]
    # Most of what Java would compile for short programs is not worth it.
    quick = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
    environ = {**os.environ, "MAVEN_OPTS": " ".join(quick)}
    fetched = subprocess.run(
        fetch, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False, env=environ
    )
    if fetched.returncode:
        pytest.skip(f"Maven did not give software.amazon.glue:dqdl:1.0.0: {fetched.stdout.strip()[:200]}")
    judge = ["java", *quick, "-cp", "jars/*", "Judge.java", "corpus"]
    said = subprocess.run(judge, cwd=tmp_path, capture_output=True, text=True, check=True).stdout.split()
    noted = ["accepted" if mark in "+<" else "refused" for mark, _ in CORPUS]
    wrong = [text for (_, text), one, other in zip(CORPUS, said, noted, strict=True) if one != other]
    assert wrong == []
