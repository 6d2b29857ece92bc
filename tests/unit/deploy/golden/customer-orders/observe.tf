# Written by lakesmith deploy for project customer_orders, target prod. Do not edit: the next
# deploy refuses edited files. What you change or add goes into files of your own, *_override.tf.
# sha256 of the text below: 710688727ee47f0f1007e24d9c660e14fc8a49c2fbbfe0a24b0f38ce225e36d2

# Where alarms, failed tables and the budget are announced.
resource "aws_sns_topic" "alerts" {
  name = "customer-orders-prod-alerts"
}

resource "aws_sns_topic_policy" "alerts" {
  arn    = aws_sns_topic.alerts.arn
  policy = file("${path.module}/policies/topic.json")
}

# AWS sends a mail with a link, which has to be followed before anything else arrives.
resource "aws_sns_topic_subscription" "mail" {
  topic_arn = aws_sns_topic.alerts.arn
  protocol  = "email"
  endpoint  = "data-team@example.com"
}

resource "aws_cloudwatch_metric_alarm" "runs_failed" {
  alarm_name          = "customer-orders-prod-runs-failed"
  alarm_description   = "A run of customer_orders failed, was stopped, or took longer than its timeout."
  namespace           = "AWS/States"
  metric_name         = "ExecutionsFailed"
  dimensions          = { StateMachineArn = aws_sfn_state_machine.run.arn }
  statistic           = "Sum"
  period              = 300
  evaluation_periods  = 1
  threshold           = 0
  comparison_operator = "GreaterThanThreshold"
  treat_missing_data  = "notBreaching"
  alarm_actions       = [aws_sns_topic.alerts.arn]
  ok_actions          = [aws_sns_topic.alerts.arn]
}

resource "aws_cloudwatch_metric_alarm" "runs_timed_out" {
  alarm_name          = "customer-orders-prod-runs-timed-out"
  alarm_description   = "A run of customer_orders took longer than all of its tries may."
  namespace           = "AWS/States"
  metric_name         = "ExecutionsTimedOut"
  dimensions          = { StateMachineArn = aws_sfn_state_machine.run.arn }
  statistic           = "Sum"
  period              = 300
  evaluation_periods  = 1
  threshold           = 0
  comparison_operator = "GreaterThanThreshold"
  treat_missing_data  = "notBreaching"
  alarm_actions       = [aws_sns_topic.alerts.arn]
}

resource "aws_cloudwatch_metric_alarm" "gate_failed" {
  alarm_name          = "customer-orders-prod-gate-failed"
  alarm_description   = "The gate failed five times on a call: files may wait, or a schedule was missed."
  namespace           = "AWS/SQS"
  metric_name         = "ApproximateNumberOfMessagesVisible"
  dimensions          = { QueueName = aws_sqs_queue.gate_failed.name }
  statistic           = "Maximum"
  period              = 300
  evaluation_periods  = 1
  threshold           = 0
  comparison_operator = "GreaterThanThreshold"
  treat_missing_data  = "notBreaching"
  alarm_actions       = [aws_sns_topic.alerts.arn]
}

resource "aws_cloudwatch_dashboard" "runs" {
  dashboard_name = "customer-orders-prod-runs"
  dashboard_body = file("${path.module}/dashboard.json")
}
