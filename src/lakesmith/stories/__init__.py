"""Tests of a project: stories of what arrives, batch by batch, and what tables must hold then. Pure."""
