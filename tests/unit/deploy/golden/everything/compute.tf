# Written by lakesmith deploy for project shop, target prod. Do not edit: the next
# deploy refuses edited files. What you change or add goes into files of your own, *_override.tf.
# sha256 of the text below: 60e0e83ffd08bc60c69c9df92acad6f5c8af85d6e6d648524c3ec6514cb5b724

resource "aws_glue_job" "bronze" {
  name              = "shop-prod-bronze"
  description       = "Refreshes layer bronze of shop"
  role_arn          = aws_iam_role.job.arn
  glue_version      = "6.0"
  worker_type       = "G.1X"
  execution_class   = "STANDARD"
  number_of_workers = 4
  timeout           = 120

  # The state machine tries again where that helps.
  max_retries = 0

  execution_property {
    max_concurrent_runs = 2
  }

  command {
    name            = "glueetl"
    python_version  = "3"
    script_location = "s3://shop-prod-artifacts-123456789012-eu-central-1/${var.artifact}/submit.py"
  }

  default_arguments = {
    "--additional-python-modules"       = "s3://shop-prod-artifacts-123456789012-eu-central-1/${var.artifact}/packages.gluewheels.zip"
    "--python-modules-installer-option" = "--no-index"
    "--datalake-formats"                = "iceberg"
    "--custom-logGroup-prefix"          = "/lakesmith/shop-prod/jobs"
    "--project"                         = "s3://shop-prod-artifacts-123456789012-eu-central-1/${var.project}/project.zip"
    "--target"                          = "prod"
    "--environment"                     = "/lakesmith/shop-prod"
    "--metrics"                         = "shop/prod"
  }
}

resource "aws_glue_job" "gold" {
  name              = "shop-prod-gold"
  description       = "Refreshes layer gold of shop"
  role_arn          = aws_iam_role.job.arn
  glue_version      = "6.0"
  worker_type       = "G.1X"
  execution_class   = "STANDARD"
  number_of_workers = 4
  timeout           = 120

  # The state machine tries again where that helps.
  max_retries = 0

  execution_property {
    max_concurrent_runs = 2
  }

  command {
    name            = "glueetl"
    python_version  = "3"
    script_location = "s3://shop-prod-artifacts-123456789012-eu-central-1/${var.artifact}/submit.py"
  }

  default_arguments = {
    "--additional-python-modules"       = "s3://shop-prod-artifacts-123456789012-eu-central-1/${var.artifact}/packages.gluewheels.zip"
    "--python-modules-installer-option" = "--no-index"
    "--datalake-formats"                = "iceberg"
    "--custom-logGroup-prefix"          = "/lakesmith/shop-prod/jobs"
    "--project"                         = "s3://shop-prod-artifacts-123456789012-eu-central-1/${var.project}/project.zip"
    "--target"                          = "prod"
    "--environment"                     = "/lakesmith/shop-prod"
    "--metrics"                         = "shop/prod"
  }
}

resource "aws_glue_job" "silver" {
  name              = "shop-prod-silver"
  description       = "Refreshes layer silver of shop"
  role_arn          = aws_iam_role.job.arn
  glue_version      = "6.0"
  worker_type       = "G.1X"
  execution_class   = "STANDARD"
  number_of_workers = 4
  timeout           = 120

  # The state machine tries again where that helps.
  max_retries = 0

  execution_property {
    max_concurrent_runs = 2
  }

  command {
    name            = "glueetl"
    python_version  = "3"
    script_location = "s3://shop-prod-artifacts-123456789012-eu-central-1/${var.artifact}/submit.py"
  }

  default_arguments = {
    "--additional-python-modules"       = "s3://shop-prod-artifacts-123456789012-eu-central-1/${var.artifact}/packages.gluewheels.zip"
    "--python-modules-installer-option" = "--no-index"
    "--datalake-formats"                = "iceberg"
    "--custom-logGroup-prefix"          = "/lakesmith/shop-prod/jobs"
    "--project"                         = "s3://shop-prod-artifacts-123456789012-eu-central-1/${var.project}/project.zip"
    "--target"                          = "prod"
    "--environment"                     = "/lakesmith/shop-prod"
    "--metrics"                         = "shop/prod"
  }
}

resource "aws_cloudwatch_log_group" "jobs_error" {
  name              = "/lakesmith/shop-prod/jobs/error"
  retention_in_days = 30
}

resource "aws_cloudwatch_log_group" "jobs_output" {
  name              = "/lakesmith/shop-prod/jobs/output"
  retention_in_days = 30
}
