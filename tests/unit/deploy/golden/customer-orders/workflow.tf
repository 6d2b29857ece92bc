# Written by lakesmith deploy for project customer_orders, target prod. Do not edit: the next
# deploy refuses edited files. What you change or add goes into files of your own, *_override.tf.
# sha256 of the text below: 3691d7dc6f03694bc160528db42a3a5e95ea4f892bf057951f9a393a55fc3545

# What a run does is in machine.asl.json: the job, its result, another try where that helps, and alerts.
resource "aws_sfn_state_machine" "run" {
  name     = "customer-orders-prod-run"
  role_arn = aws_iam_role.machine.arn

  definition = templatefile("${path.module}/machine.asl.json", {
    application = aws_emrserverless_application.jobs.id
    artifact    = var.artifact
    project     = var.project
  })

  logging_configuration {
    log_destination        = "${aws_cloudwatch_log_group.machine.arn}:*"
    include_execution_data = true
    level                  = "ERROR"
  }

  depends_on = [aws_iam_role_policy.machine]
}

resource "aws_cloudwatch_log_group" "machine" {
  name              = "/aws/vendedlogs/states/customer-orders-prod-run"
  retention_in_days = 30
}

# The gate: it plans without Spark, and starts the machine only where there is work.
resource "aws_lambda_function" "gate" {
  function_name = "customer-orders-prod-gate"
  description   = "Plans customer_orders and starts a run where there is work"
  role          = aws_iam_role.gate.arn
  runtime       = "python3.13"
  architectures = ["x86_64"]
  handler       = "lakesmith.gate.handle"
  s3_bucket     = "customer-orders-prod-artifacts-123456789012-eu-central-1"
  s3_key        = "${var.artifact}/gate.zip"
  memory_size   = 512
  timeout       = 120

  environment {
    variables = {
      LAKESMITH_MACHINE = aws_sfn_state_machine.run.arn
      LAKESMITH_QUEUE   = aws_sqs_queue.gate.url
      LAKESMITH_PROJECT = "s3://customer-orders-prod-artifacts-123456789012-eu-central-1/${var.project}/project.zip"
      LAKESMITH_TARGET  = "prod"
      # The values of environment variables are in parameters of this path, such as /lakesmith/customer-orders-prod/NAME.
      LAKESMITH_ENVIRONMENT = "/lakesmith/customer-orders-prod"
    }
  }

  depends_on = [aws_cloudwatch_log_group.gate, aws_iam_role_policy.gate]
}

resource "aws_cloudwatch_log_group" "gate" {
  name              = "/aws/lambda/customer-orders-prod-gate"
  retention_in_days = 30
}

# Calls wait for 30 seconds, so that files that arrive together make one run.
resource "aws_lambda_event_source_mapping" "gate" {
  event_source_arn                   = aws_sqs_queue.gate.arn
  function_name                      = aws_lambda_function.gate.arn
  batch_size                         = 100
  maximum_batching_window_in_seconds = 30

  # The fewest that AWS accepts. Two runs at once are no harm: the lease in the catalog lets one wait.
  scaling_config {
    maximum_concurrency = 2
  }
}
