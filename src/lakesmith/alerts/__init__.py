"""Alerts: what runs find, what of it is sent to whom, and what was sent. No Spark."""
