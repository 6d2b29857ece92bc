"""Copies of a lake in S3: old versions of objects and replicas, to be erased or to be recovered from."""
