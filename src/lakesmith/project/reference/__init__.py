"""What editors and readers are told of the project's files, generated from the models: JSON Schemas and reference pages."""
