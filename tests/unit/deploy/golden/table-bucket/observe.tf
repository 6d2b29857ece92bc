# Written by lakesmith deploy for project shop, target prod. Do not edit: the next
# deploy refuses edited files. What you change or add goes into files of your own, *_override.tf.
# sha256 of the text below: 0668205ffc979e7305f79d0df2b97f2eac4c0e4b990ddad90d264b01a7b5013a

# Where alarms, failed tables and the budget are announced.
resource "aws_sns_topic" "alerts" {
  name = "shop-prod-alerts"
}

resource "aws_sns_topic_policy" "alerts" {
  arn    = aws_sns_topic.alerts.arn
  policy = file("${path.module}/policies/topic.json")
}

resource "aws_cloudwatch_metric_alarm" "runs_failed" {
  alarm_name          = "shop-prod-runs-failed"
  alarm_description   = "A run of shop failed, was stopped, or took longer than its timeout."
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
  alarm_name          = "shop-prod-runs-timed-out"
  alarm_description   = "A run of shop took longer than all of its tries may."
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
  alarm_name          = "shop-prod-gate-failed"
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
  dashboard_name = "shop-prod-runs"
  dashboard_body = file("${path.module}/dashboard.json")
}
