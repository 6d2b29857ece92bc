"""Topics in Kafka as sources: how brokers are reached, what a topic holds, and the records a batch
ingests."""
