"""What runs on AWS: packages for the service's Python, and the project, in archives named by content."""
