# Written by lakesmith deploy for project customer_orders, target prod. Do not edit: the next
# deploy refuses edited files. What you change or add goes into files of your own, *_override.tf.
# sha256 of the text below: ff204d2e14202fba17f7ec686de01a7490328c6a000b4780f1d9ef82267c41a6

# Each schedule calls the gate, which refreshes the tables that declare it, and what is made from them.
resource "aws_scheduler_schedule_group" "tables" {
  name = "customer-orders-prod-tables"
}

# maintenance of the tables that need it
resource "aws_scheduler_schedule" "at_maintain_1_4780" {
  name                         = "at_maintain_1_4780"
  group_name                   = aws_scheduler_schedule_group.tables.name
  schedule_expression          = "cron(0 3 * * ? *)"
  schedule_expression_timezone = "UTC"

  flexible_time_window {
    mode = "OFF"
  }

  target {
    arn      = aws_sqs_queue.gate.arn
    role_arn = aws_iam_role.trigger.arn
    input    = jsonencode({ why = "maintain" })
  }
}
