"""Posts made-up events to the intake, as a till or a sensor would, and checks that they arrive."""
