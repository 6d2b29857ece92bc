"""Walks the plan: reads state, asks planning, hands steps to an engine, and tells what happens as events."""
