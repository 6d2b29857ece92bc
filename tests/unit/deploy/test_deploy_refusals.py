"""What cannot be deployed is refused with its place, before a file is written."""

import re
from pathlib import Path

import deployed
import pytest

from lakesmith.deploy.folder import FORM, MANIFEST, write
from lakesmith.deploy.limits import MACHINE_BYTES
from lakesmith.deploy.render import rendered
from lakesmith.errors import ProjectError, UsageError

SCHEDULED = "from: bronze.orders\nschedule: {every: 30s}\n"


@pytest.mark.parametrize(
    ("files", "deploy", "catalog", "code", "place", "says"),
    [
        (
            {},
            deployed.USUAL,
            "{type: rest, uri: https://c}",
            "LS140",
            "lakesmith.yaml:3",
            "cannot be deployed",
        ),
        (
            {},
            deployed.USUAL,
            deployed.TABLE_BUCKET.replace("eu-central-1", "us-east-1"),
            "LS140",
            "lakesmith.yaml:3",
            "not a table bucket of this region and account",
        ),
        (
            {},
            f"{deployed.USUAL}, athena: true",
            deployed.TABLE_BUCKET,
            "LS142",
            "lakesmith.yaml:5",
            "integrated by hand",
        ),
        (
            {},
            f"{deployed.USUAL}, replica_region: eu-central-1",
            deployed.PROD,
            "LS140",
            "lakesmith.yaml:5",
            "cannot be copied",
        ),
        (
            {},
            f"{deployed.USUAL}, lake_formation: true",
            deployed.TABLE_BUCKET,
            "LS140",
            "lakesmith.yaml:5",
            "integrated by hand",
        ),
        (
            {},
            f"{deployed.USUAL}, compute: glue, architecture: arm64",
            deployed.PROD,
            "LS140",
            "lakesmith.yaml:5",
            "no processors",
        ),
        ({}, deployed.USUAL, "{type: glue, warehouse: lake}", "LS140", "lakesmith.yaml:3", "in S3"),
        (
            {},
            deployed.USUAL,
            '{type: glue, warehouse: "s3://b/w", glue.region: us-east-1}',
            "LS140",
            "lakesmith.yaml:5",
            "different regions",
        ),
        (
            {"tables/silver/a.yaml": SCHEDULED},
            deployed.USUAL,
            deployed.PROD,
            "LS141",
            "tables/silver/a.yaml:2",
            "each minute at most",
        ),
        (
            {},
            f"{deployed.USUAL}, athena: true",
            deployed.PROD,
            "LS142",
            "tables/bronze/orders.yaml",
            "Athena",
        ),
        (
            {
                "tables/bronze/orders.yaml": "source: {files: {path: landing/, format: csv}}\n"
                "columns: {id: bigint, city: string}"
            },
            deployed.USUAL,
            deployed.PROD,
            "LS143",
            "tables/bronze/orders.yaml",
            "a folder that AWS does not have",
        ),
        (
            {
                "tables/gold/cities.sql": "SELECT city FROM bronze.orders",
                "tables/gold/cities.yaml": "export: {format: csv, to: out/}\n",
            },
            deployed.USUAL,
            deployed.PROD,
            "LS143",
            "tables/gold/cities.yaml",
            "a folder that ends with each job",
        ),
        (
            {
                "tables/gold/a.sql": "SELECT id FROM bronze.orders",
                "tables/silver/b.sql": "SELECT id FROM gold.a",
                "tables/gold/c.sql": "SELECT id FROM silver.b",
            },
            f"{deployed.USUAL}, unit: layer",
            deployed.PROD,
            "LS144",
            "tables/silver/b.sql",
            "after silver",
        ),
        (
            {},
            deployed.USUAL,
            "{type: s3tables, warehouse: shop-tables}",
            "LS140",
            "lakesmith.yaml:3",
            "region",
        ),
        (
            {},
            deployed.USUAL,
            '{type: glue, warehouse: "s3://My_Lake/w"}',
            "LS140",
            "lakesmith.yaml:5",
            "My_Lake",
        ),
        (
            {
                "tables/bronze/orders.yaml": deployed.SMALL["tables/bronze/orders.yaml"].replace(
                    "orders/", "o%/"
                )
            },
            deployed.USUAL,
            deployed.PROD,
            "LS140",
            "lakesmith.yaml:5",
            "as a pattern",
        ),
        (
            {},
            f"{deployed.USUAL}, maintain: {{every: 30s}}",
            deployed.PROD,
            "LS141",
            "lakesmith.yaml:5",
            "each minute at most",
        ),
        ({}, 'account: "12345", region: eu-central-1', deployed.PROD, "LS105", "lakesmith.yaml:5", "account"),
        (
            {},
            "account: 123456789012, region: eu-central-1",
            deployed.PROD,
            "LS105",
            "lakesmith.yaml:5",
            "account",
        ),
        (
            {},
            'account: "123456789012", region: Frankfurt',
            deployed.PROD,
            "LS105",
            "lakesmith.yaml:5",
            "region",
        ),
        ({}, f"{deployed.USUAL}, vcpus: 6", deployed.PROD, "LS105", "lakesmith.yaml:5", "vcpus"),
        ({}, f"{deployed.USUAL}, computer: glue", deployed.PROD, "LS103", "lakesmith.yaml:5", "computer"),
    ],
)
def test_a_refusal_names_code_and_place(
    tmp_path: Path, files: dict[str, str], deploy: str, catalog: str, code: str, place: str, says: str
) -> None:
    root = deployed.project(tmp_path, deployed.SMALL | files, deploy, catalog)
    with pytest.raises(ProjectError) as caught:
        rendered(deployed.stack(root))
    found = [each for each in caught.value.problems if each.code == code and says in each.what]
    assert found, caught.value
    assert str(found[0].place).startswith(place)
    assert not (root / "deploy").exists()


def test_every_problem_is_said_at_once(tmp_path: Path) -> None:
    files = deployed.SMALL | {"tables/silver/a.yaml": SCHEDULED}
    root = deployed.project(
        tmp_path, files, f"{deployed.USUAL}, athena: true", "{type: rest, uri: https://c}"
    )
    with pytest.raises(ProjectError) as caught:
        deployed.stack(root)
    assert {each.code for each in caught.value.problems} == {"LS140", "LS141", "LS142"}


@pytest.mark.parametrize("name", ["a", "a__b_", "x" * 80, "many_words_" * 9 + "end"])
def test_names_of_any_project_fit(tmp_path: Path, name: str) -> None:
    root = deployed.project(tmp_path, deployed.SMALL)
    header = root / "lakesmith.yaml"
    header.write_text(header.read_text().replace("name: shop", f"name: {name}"))
    files = rendered(deployed.stack(root))
    text = "".join(text for file, text in files.items() if file.endswith((".tf", ".hcl")))
    for bucket in re.findall(r'bucket += "([^"]+)"', text):
        assert re.fullmatch(r"[a-z0-9][a-z0-9-]{1,61}[a-z0-9]", bucket), bucket
    for other in re.findall(r'\n  (?:name|function_name|alarm_name) += "([^"]+)"', text):
        assert re.fullmatch(r"[A-Za-z0-9/_.-]{1,200}", other), other
        assert len(other) <= 64 or other.startswith("/"), other


def test_two_long_names_that_differ_at_their_end_stay_apart(tmp_path: Path) -> None:
    buckets = set()
    for end in ("one", "two"):
        root = deployed.project(tmp_path / end, deployed.SMALL)
        header = root / "lakesmith.yaml"
        header.write_text(header.read_text().replace("name: shop", f"name: {'x' * 70}_{end}"))
        buckets.add(deployed.stack(root).bucket_named("work"))
    assert len(buckets) == 2


def test_three_hundred_tables_stay_within_the_limits_of_aws(tmp_path: Path) -> None:
    files = {
        f"tables/bronze/table_{number}.yaml": f"source: {{files: {{path: s3://shop-landing/in/{number}/x/, "
        "format: csv}}\ncolumns: {id: bigint}\n"
        for number in range(300)
    }
    made = rendered(deployed.stack(deployed.project(tmp_path, files)))
    assert len(made["policies/job.json"]) < 10_240
    assert '"in/' in made["events/landing.json"]


def test_a_policy_that_is_too_large_is_refused(tmp_path: Path) -> None:
    files = {
        f"tables/bronze/t{number}.yaml": f"source: {{files: {{path: s3://landing-of-shop-{number}/in/, "
        "format: csv}}\ncolumns: {id: bigint}\n"
        for number in range(60)
    }
    with pytest.raises(ProjectError, match=r"LS144 .*larger than AWS accepts"):
        rendered(deployed.stack(deployed.project(tmp_path, files)))


def test_projects_whose_names_read_alike_share_no_resource_and_no_state(tmp_path: Path) -> None:
    bases = set()
    names = [("a", "b_c"), ("a_b", "c"), ("a__b", "c"), ("a_b_", "c"), ("a_b_c", "d"), ("a_b", "c_d")]
    for name, target in names:
        root = deployed.project(tmp_path / f"{name}-{target}", deployed.SMALL)
        header = root / "lakesmith.yaml"
        header.write_text(
            header.read_text().replace("name: shop", f"name: {name}").replace("prod:", f"{target}:")
        )
        files = rendered(deployed.stack(root, target))
        bases.add(
            (
                re.search(r"[^\"]+\.tfstate", files["backend.hcl"])[0],
                deployed.stack(root, target).named("job"),
            )
        )  # type: ignore[index]
    assert len({base for base, _ in bases}) == len({role for _, role in bases}) == len(names)


@pytest.mark.parametrize("name", ["Shop", "my shop", "shop-1", "1shop", "shöp", '${file("/etc/passwd")}'])
def test_a_name_with_odd_characters_is_refused(tmp_path: Path, name: str) -> None:
    root = deployed.project(tmp_path, deployed.SMALL)
    header = root / "lakesmith.yaml"
    header.write_text(header.read_text().replace("name: shop", f"name: '{name}'"))
    with pytest.raises(ProjectError, match="lower-case letters, digits and _"):
        deployed.stack(root)


def test_the_files_of_a_newer_version_are_left_alone(tmp_path: Path) -> None:
    root = deployed.project(tmp_path, deployed.SMALL)
    stack = deployed.stack(root)
    write(stack, rendered(stack))
    manifest = root / "deploy" / "prod" / MANIFEST
    manifest.write_text(manifest.read_text().replace(f'"form": {FORM}', f'"form": {FORM + 1}'))
    header = root / "lakesmith.yaml"
    header.write_text(header.read_text().replace("s3://shop-lake", "s3://other-lake"))
    newer = deployed.stack(root)
    before = (root / "deploy" / "prod" / "storage.tf").read_text()
    with pytest.raises(UsageError, match=r"LS285 .*newer version"):
        write(newer, rendered(newer))
    assert (root / "deploy" / "prod" / "storage.tf").read_text() == before


def test_three_hundred_tables_in_layers_stay_within_the_limits_of_aws(tmp_path: Path) -> None:
    files = {
        f"tables/layer_{number % 12}/t{number}.sql": "SELECT id FROM bronze.orders" for number in range(300)
    }
    root = deployed.project(tmp_path, deployed.SMALL | files, f"{deployed.USUAL}, unit: layer")
    machine = rendered(deployed.stack(root))["machine.asl.json"]
    assert len(machine) < MACHINE_BYTES
