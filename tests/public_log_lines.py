"""Lines of logs as documents and other projects show them, of many years, each with one of its fields."""

_ALB = (
    "{kind} 2018-07-02T22:23:00.186641Z app/my-loadbalancer/50dc6c495c0c9188 {ends} 0.000 0.001 0.000 200 200"
    " 34 366 {request} - - arn:aws:elasticloadbalancing:us-east-2:12:targetgroup/my-targets/73e2d6bc24d8a067"
)
_GET = '"GET http://www.example.com:80/ HTTP/1.1" "curl/7.46.0"'
_TRACED = ' "Root=1-58337262-36d228ad5d99923122bbe354" "-" "-" 0 2018-07-02T22:22:48.364000Z'
_DONE = _TRACED + ' "forward" "-" "-"'
_ENDS = "192.168.131.39:2817 10.0.0.1:80"


def alb(
    kind: str = "http", ends: str = _ENDS, request: str = _GET, rest: str = _TRACED + ' "forward" "-" "-"'
) -> str:
    return _ALB.format(kind=kind, ends=ends, request=request) + rest


_S3 = (
    "79a59df bkt [06/Feb/2019:00:00:38 +0000] 192.0.2.3 79a59df 3E57427F3EXAMPLE REST.GET.VERSIONING -"
    ' "GET /bkt?versioning HTTP/1.1" 200 - 113 - 7 - "-" "S3Console/0.4"'
)
_APACHE = '192.0.2.1 - - [10/Oct/2000:13:55:36 -0700] "{request}" {status} "-" "{agent}"'

LINES = [
    # title, format, line, some field, its text
    ("lists without quotes, as of 2019", "alb",
     alb() + ' 10.0.0.1:80 200 "-" "-"',
     "target_port_list", "10.0.0.1:80"),
    ("lists with quotes", "alb",
     alb() + ' "10.0.0.1:80 10.0.0.2:80" "200 -" "-" "-"',
     "target_status_code_list", "200 -"),
    ("a trace after them", "alb", alb() + ' 10.0.0.1:80 200 "-" "-" TID_dc57', "conn_trace_id", "TID_dc57"),
    ("no target", "alb", alb(ends="192.0.2.1:9 -"), "target_ip", ""),
    ("a web socket", "alb", alb("wss"), "type", "wss"),
    ("as of 2017", "alb", alb(rest=' "Root=1-58337262"'), "trace_id", "Root=1-58337262"),
    ("no trace", "alb", alb(rest=""), "user_agent", "curl/7.46.0"),
    ("a request with escaped quotes", "alb",
     alb(request=r'"GET http://x:80/\x22a\" HTTP/1.1" "-"'),
     "user_agent", "-"),
    ("an empty user agent", "alb", alb(request='"- http://x:80- " ""'), "user_agent", ""),
    ("no version of the object, as of 2006", "s3_access", _S3, "user_agent", "S3Console/0.4"),
    ("a version of the object", "s3_access",
     _S3 + " 3HL4kqtJvjVBH40Nrjfkd",
     "version_id", "3HL4kqtJvjVBH40Nrjfkd"),
    ("no referer and no user agent", "s3_access",
     _S3.replace('"-" "S3Console/0.4"', "- -") + " -",
     "bytes_sent", "113"),
    ("no request line", "s3_access",
     _S3.replace('"GET /bkt?versioning HTTP/1.1"', "-") + " -",
     "http_status", "200"),
    ("words in quotes in a user agent", "s3_access",
     _S3.replace("S3Console", 'a" - b "c') + " - host",
     "host_id", "host"),
    ("two unknown fields at the end", "s3_access", _S3 + " -" * 12, "source_region", "-"),
    ("a binary request", "combined",
     _APACHE.format(request=r"\x16\x03\x01", status="400 226", agent="-"),
     "status", "400"),
    ("an empty request", "combined",
     _APACHE.format(request="", status="408 -", agent="-"),
     "body_bytes_sent", "-"),
    ("an escaped backslash at the end", "combined",
     _APACHE.format(request="GET /\\\\", status="404 1", agent="x"),
     "request", "GET /\\\\"),
    ("a name of a host", "combined",
     _APACHE.format(request="-", status="400 0", agent="é").replace("192.0.2.1", "host-1.example"),
     "user_agent", "é"),
    ("an unknown field in quotes at the end", "s3_access",
     _S3 + " -" * 10 + ' new "of two words"',
     "user_agent", "S3Console/0.4"),
    ("an object that a lifecycle expires", "s3_access",
     "79a59df bkt [06/Feb/2019:00:00:38 +0000] - AmazonS3 3E57 S3.EXPIRE.OBJECT a%2Fb" + " -" * 9 + " V1"
     + " -" * 8,
     "version_id", "V1"),
    ("an object of a batch of deletes", "s3_access",
     _S3.replace('REST.GET.VERSIONING - "GET /bkt?versioning HTTP/1.1" 200', "BATCH.DELETE.OBJECT a/b - 204")
     + " Vx" + " -" * 8,
     "key", "a/b"),
    ("a role and an address of version 6", "s3_access",
     _S3.replace("192.0.2.3 79a59df", "2001:db8::3 arn:aws:sts::1:assumed-role/r/s") + " -" * 9,
     "requester", "arn:aws:sts::1:assumed-role/r/s"),
    ("an access point in another region", "s3_access",
     _S3 + " -" * 7 + " arn:aws:s3:us-west-1:1:accesspoint/ap Yes us-west-1",
     "source_region", "us-west-1"),
    ("HTTP/2 with a cipher", "alb", alb("h2").replace(" - - arn", " ECDHE-RSA-AES128-GCM-SHA256 TLSv1.2 arn"),
     "ssl_protocol", "TLSv1.2"),
    ("an error of a function", "alb",
     alb(ends="192.0.2.1:9 -", rest=_TRACED + ' "forward" "-" "LambdaInvalidResponse" "-" "-" "-" "-" TID_x'),
     "error_reason", "LambdaInvalidResponse"),
    ("a redirect to a URL with quotes", "alb",
     alb(rest=_TRACED + r' "waf,redirect" "https://x:443/?a=\"b\"" "-" "-" "-" "Ambiguous" "EmptyHeader"'),
     "classification_reason", "EmptyHeader"),
    ("addresses of version 6", "alb", alb(ends="[2001:db8::1]:2817 [fd00::7]:80"), "target_ip", "[fd00::7]"),
    ("a client that left", "alb",
     alb(ends="192.0.2.1:0 -", request='"- http://x.example.com:80- " "-"'),
     "request", "- http://x.example.com:80- "),
    ("a transformed request, with an unknown field after it", "alb",
     alb() + ' "-" "-" "-" "-" TID_x "new.example.com" "/new?x=1" TransformSuccess 10.0.0.9',
     "request_transform_status", "TransformSuccess"),
    ("a handshake of TLS", "combined",
     _APACHE.format(request=r"\x16\x03\x01\x02\x00\xfc", status="400 157", agent="-"), "status", "400"),
    ("a request of HTTP/0.9", "combined",
     _APACHE.format(request="GET /", status="200 1", agent="-"), "request", "GET /"),
    ("the server's own request", "combined",
     _APACHE.format(request="OPTIONS * HTTP/1.0", status="200 -", agent="Apache (internal dummy connection)"),
     "user_agent", "Apache (internal dummy connection)"),
    ("an address with a zone", "combined",
     _APACHE.format(request="GET / HTTP/1.1", status="200 1", agent="x").replace("192.0.2.1", "fe80::1%eth0"),
     "remote_address", "fe80::1%eth0"),
    ("a user in quotes", "combined",
     _APACHE.format(request="GET / HTTP/1.1", status="200 1", agent="x").replace("- -", '- ""', 1),
     "remote_user", '""'),
    ("a user with blanks", "combined",
     _APACHE.format(request="GET / HTTP/1.1", status="200 1", agent="x").replace("- -", "- john  q. doe", 1),
     "remote_user", "john  q. doe"),
    ("fields of a proxy after it", "combined",
     _APACHE.format(request="GET / HTTP/1.1", status="200 1", agent="x") + ' "203.0.113.7, 10.0.0.1" 0.004',
     "user_agent", "x"),
    ("the common format", "combined",
     '192.0.2.1 - frank [29/Feb/2000:13:55:36 +0530] "GET / HTTP/1.1" 200 1', "remote_user", "frank"),
]  # fmt: skip
