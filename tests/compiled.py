"""Templates that are compiled once for all tests: showing one takes a tenth of that."""

from typing import ClassVar

from jinja2 import BytecodeCache, Environment
from jinja2.bccache import Bucket


class Compiled(BytecodeCache):
    """Keeps them in memory, for all environments of this process."""

    codes: ClassVar[dict[str, bytes]] = {}

    def get_bucket(self, environment: Environment, name: str, filename: str | None, source: str) -> Bucket:
        """One template may be read with other marks."""
        return super().get_bucket(
            environment, name, f"{filename} {environment.variable_start_string}", source
        )

    def load_bytecode(self, bucket: Bucket) -> None:
        if bucket.key in self.codes:
            bucket.bytecode_from_string(self.codes[bucket.key])

    def dump_bytecode(self, bucket: Bucket) -> None:
        self.codes[bucket.key] = bucket.bytecode_to_string()
