"""Formats of access logs as servers declare them: their variables, and what cannot be read by them."""

import pytest

from lakesmith.project.formats import WrongFormat, parts_of

VHOST = r"%v:%p %h %l %u %t \"%r\" %>s %O \"%{Referer}i\" \"%{X-Forwarded-For}i\" %D"
NGINX = '$remote_addr [$time_local] "$request" ${status} $upstream_response_time "$http_x_forwarded_for"'


@pytest.mark.parametrize(
    ("format", "names"),
    [
        (VHOST, "server_name server_port remote_address ident remote_user time_local request status"
         " bytes_sent referer http_x_forwarded_for duration_us"),
        (NGINX, "remote_address time_local request status upstream_response_time http_x_forwarded_for"),
        ("%a %!404s 100%% %{ms}T", "remote_address status duration_ms"),
    ],
)  # fmt: skip
def test_the_variables_of_a_format(format: str, names: str) -> None:
    assert " ".join(part.text for part in parts_of(format) if part.is_variable) == names


@pytest.mark.parametrize(
    ("format", "why"),
    [
        ("", "fewer than two variables"), ("GET 200", "fewer than two variables"),
        ("$a$b", "nothing divides a from b"), ("%h %h", "remote_address is in it twice"),
        ("%h %{%Y}t", "in a format of its own"), ("%h %Z", "%Z is not a variable of Apache"),
    ],
)  # fmt: skip
def test_a_format_that_lines_cannot_be_read_by(format: str, why: str) -> None:
    with pytest.raises(WrongFormat, match=why):
        parts_of(format)
