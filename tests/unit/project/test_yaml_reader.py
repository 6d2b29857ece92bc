"""YAML to values that know their lines."""

import pytest

from lakesmith.errors import Place, ProjectError
from lakesmith.project.yaml_reader import read_yaml


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("a", "a"), ("'1'", "1"), ("1", 1), ("-1_000", -1000), ("007", 7), ("0x1F", 31), ("0o17", 15),
        ("1.5", 1.5), ("1e3", 1000.0), ("true", True), ("False", False), ("yes", "yes"), ("off", "off"),
        ("null", None), ("~", None), ("", None), ("2024-01-01", "2024-01-01"),
        ("2024-01-01 10:00:00", "2024-01-01 10:00:00"), ("12:30:45", "12:30:45"),
        ("[1, a, [true]]", [1, "a", [True]]), ("{x: {y: 1}}", {"x": {"y": 1}}),
    ],
)  # fmt: skip
def test_values(written: str, value: object) -> None:
    assert read_yaml(f"k: {written}\n", "f").value == {"k": value}


def test_aliases_are_filled_in() -> None:
    assert read_yaml("a: &x {b: [1]}\nc: *x\n", "f").value == {"a": {"b": [1]}, "c": {"b": [1]}}


def test_an_empty_file_is_an_empty_mapping() -> None:
    document = read_yaml("# nothing\n", "f")

    assert (document.value, document.place("anything")) == ({}, Place("f", 1))


TEXT = """\
# a comment
a:
  b: 1
  c:
    - x
    - {y: 2,
       z: 3}
d: |
  first

  third
e: >-

  folded
f: plain
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [(("a",), 2), (("a", "b"), 3), (("a", "c", 0), 5), (("a", "c", 1, "z"), 7), (("d",), 8), (("f",), 15)],
)
def test_places_of_keys_and_items(path: tuple[str | int, ...], line: int) -> None:
    assert read_yaml(TEXT, "f").place(*path) == Place("f", line)


def test_the_place_of_what_is_missing_is_the_nearest_thing_around_it() -> None:
    assert read_yaml(TEXT, "f").place("a", "nothing", "here") == Place("f", 2)


@pytest.mark.parametrize(("key", "line"), [("d", 9), ("e", 13), ("f", 15)])
def test_a_text_begins_below_the_sign_of_its_block(key: str, line: int) -> None:
    assert read_yaml(TEXT, "f").text_place(key) == Place("f", line)


def test_all_twice_set_keys_are_told() -> None:
    with pytest.raises(ProjectError) as caught:
        read_yaml("a: 1\na: 2\nb: {c: 1, c: 2}\n", "f")

    assert [(p.code, p.place, p.what) for p in caught.value.problems] == [
        ("LS102", Place("f", 2), "'a' is set twice"),
        ("LS102", Place("f", 3), "'c' is set twice"),
    ]


@pytest.mark.parametrize("text", ["a: " + "[" * 3000, "{a: " * 3000])
def test_what_is_nested_too_deeply_is_a_problem_and_no_crash(text: str) -> None:
    with pytest.raises(ProjectError) as caught:
        read_yaml(text, "f")

    assert [problem.code for problem in caught.value.problems] == ["LS101"]


def test_old_words_for_true_mean_true_below_a_directive_that_asks_for_them() -> None:
    assert read_yaml("%YAML 1.1\n---\na: yes\nb: off\n", "f").value == {"a": True, "b": False}


def test_aliases_of_aliases_that_stand_for_billions_of_values_are_a_problem_and_no_standstill() -> None:
    text = "a0: &a0 [x, x]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
    )

    with pytest.raises(ProjectError) as caught:
        read_yaml(text, "f")

    assert [(p.code, p.what) for p in caught.value.problems] == [("LS101", "this YAML has too many values")]
