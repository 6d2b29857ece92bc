"""Topics in Kafka as sources: brokers, the state of topics, and the records a batch ingests."""
