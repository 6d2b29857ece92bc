"""A topic that is not as it was is noticed, and one that cannot be asked when it is back."""

from lakesmith.errors import Place, Problem, SourceError
from lakesmith.project.definitions import KafkaSource
from lakesmith.project.formats import FileFormat
from lakesmith.serve.watch import TopicWatcher
from lakesmith.sources.kafka.slices import Bounds, TopicState

CLICKS = KafkaSource(
    "kafka", "kafka:clicks", FileFormat.JSON, Place("t.yaml", 1), connection="SHOP", topic="clicks"
)


def test_what_is_noticed() -> None:
    answers: list[TopicState | None] = [
        TopicState("a", {0: Bounds(0, 1)}), TopicState("a", {0: Bounds(0, 1)}),
        TopicState("a", {0: Bounds(0, 2)}), None, None, TopicState("a", {0: Bounds(0, 2)}),
        TopicState("b", {0: Bounds(0, 2)}),
    ]  # fmt: skip
    noticed, asked = list[int](), list[int]()

    def ask(_: KafkaSource) -> TopicState:
        asked.append(len(asked))
        answer = answers[asked[-1]]
        if answer is None:
            raise SourceError(Problem("LS461", "away"))
        return answer

    watcher = TopicWatcher(lambda _: noticed.append(asked[-1]), ask, seconds=3600)
    watcher.watch(iter([("bronze.clicks", CLICKS)]))
    for _ in answers:
        watcher.look()
    watcher.end()
    assert noticed == [0, 2, 5, 6]
