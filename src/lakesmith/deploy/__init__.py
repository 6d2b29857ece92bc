"""Terraform for a target on AWS, made from what the project declares."""
