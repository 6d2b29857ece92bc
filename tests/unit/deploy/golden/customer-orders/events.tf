# Written by lakesmith deploy for project customer_orders, target prod. Do not edit: the next
# deploy refuses edited files. What you change or add goes into files of your own, *_override.tf.
# sha256 of the text below: d1deacbdc0566c0ef7ac943ab127a9b624d0581aead6d538a676f28e4c0634dc

# All that may mean work goes through one queue to the gate: files that arrived, and schedules.
resource "aws_sqs_queue" "gate" {
  name = "customer-orders-prod-gate"

  # Six times the time of the gate, as Lambda asks for: a call is not made again while it is still worked on.
  visibility_timeout_seconds = 720
  message_retention_seconds  = 345600
  sqs_managed_sse_enabled    = true

  redrive_policy = jsonencode({
    deadLetterTargetArn = aws_sqs_queue.gate_failed.arn
    maxReceiveCount     = 5
  })
}

# Calls that the gate failed on five times. An alarm watches it; "Start DLQ redrive" sends them again.
resource "aws_sqs_queue" "gate_failed" {
  name                      = "customer-orders-prod-gate-failed"
  message_retention_seconds = 1209600
  sqs_managed_sse_enabled   = true
}

resource "aws_sqs_queue_policy" "gate" {
  queue_url = aws_sqs_queue.gate.url
  policy    = file("${path.module}/policies/queue.json")
}

# EventBridge learns of every object in the bucket; the rule below picks those that tables read.
resource "aws_s3_bucket_notification" "landing" {
  bucket      = aws_s3_bucket.landing.id
  eventbridge = true
}

resource "aws_cloudwatch_event_rule" "landing" {
  name          = "customer-orders-prod-arrived-landing"
  description   = "Landing files arrived in customer-orders-landing-123456789012"
  event_pattern = file("${path.module}/events/landing.json")
}

resource "aws_cloudwatch_event_target" "landing" {
  rule = aws_cloudwatch_event_rule.landing.name
  arn  = aws_sqs_queue.gate.arn
}
