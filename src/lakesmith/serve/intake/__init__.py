"""Events over HTTP, durable before they are acknowledged, as landing files of JSON lines. Knows nothing of lakes and runs."""
