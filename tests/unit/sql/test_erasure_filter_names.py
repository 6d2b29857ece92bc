"""Names of files and folders that tell of a person, and ones that do not."""

import pytest

from lakesmith.sql.erasure_filter import ErasureFilter

ADA = ErasureFilter(("email",), (("ada.l@x.com",),))
NUMBER = ErasureFilter(("customer_id",), (("1002",),))
SMALL = ErasureFilter(("customer_id",), (("7",),))
BOTH = ErasureFilter(("region", "customer_id"), (("N", "1002"),))


@pytest.mark.parametrize(
    ("persons", "name"),
    [
        (ADA, "landing/ada.l@x.com.csv"), (ADA, "landing/email=ada.l%40x.com/p.csv"),
        (ADA, "landing/Ada.L@X.com_2024.csv"), (NUMBER, "landing/customer=1002/p.csv"),
        (NUMBER, "landing/id=1002/p.csv"), (NUMBER, "landing/CUSTOMER_ID=01002/p.csv"),
        (NUMBER, "landing/export-1002.csv"), (SMALL, "landing/customer_id=7/p.csv"),
        (BOTH, "region=N/customer=1002/p.csv"),
    ],
)  # fmt: skip
def test_a_name_that_tells_of_them(persons: ErasureFilter, name: str) -> None:
    assert persons.are_named_in(name)


@pytest.mark.parametrize(
    ("persons", "name"),
    [
        (ADA, "landing/xada.l@x.com.csv"),
        (ADA, "landing/ada.l@x.comma.csv"),
        (NUMBER, "landing/order_id=1002/p.csv"),
        (NUMBER, "landing/customer=10021/p.csv"),
        (ErasureFilter(("customer_id",), (("2024",),)), "landing/dt=2024-05-01/p.csv"),
        (SMALL, "landing/part-7.csv"),
        (BOTH, "region=N/customer=7/p.csv"),
    ],
)
def test_a_name_that_does_not(persons: ErasureFilter, name: str) -> None:
    assert not persons.are_named_in(name)


def test_a_number_that_stands_alone_may_count_files() -> None:
    assert not NUMBER.are_named_in("landing/export-1002.csv", surely=True)
    assert NUMBER.are_named_in("landing/customer=1002/p.csv", surely=True)
