# Written by lakesmith deploy for project shop, target prod. Do not edit: the next
# deploy refuses edited files. What you change or add goes into files of your own, *_override.tf.
# sha256 of the text below: 69f8e0af4dadcaa00caa40e5f4978d0f70785620bded49645c7e866d00ebca28

# Each schedule calls the gate, which refreshes the tables that declare it, and what is made from them.
resource "aws_scheduler_schedule_group" "tables" {
  name = "shop-prod-tables"
}

# bronze.clicks
resource "aws_scheduler_schedule" "at_0_6_13_fri_utc_1_b962" {
  name                         = "at_0_6_13_fri_utc_1_b962"
  group_name                   = aws_scheduler_schedule_group.tables.name
  schedule_expression          = "cron(0 6 13 * ? *)"
  schedule_expression_timezone = "UTC"

  flexible_time_window {
    mode = "OFF"
  }

  target {
    arn      = aws_sqs_queue.gate.arn
    role_arn = aws_iam_role.trigger.arn
    input    = jsonencode({ why = "0 6 13 * FRI UTC" })
  }
}

# bronze.clicks
resource "aws_scheduler_schedule" "at_0_6_13_fri_utc_2_e860" {
  name                         = "at_0_6_13_fri_utc_2_e860"
  group_name                   = aws_scheduler_schedule_group.tables.name
  schedule_expression          = "cron(0 6 ? * 6 *)"
  schedule_expression_timezone = "UTC"

  flexible_time_window {
    mode = "OFF"
  }

  target {
    arn      = aws_sqs_queue.gate.arn
    role_arn = aws_iam_role.trigger.arn
    input    = jsonencode({ why = "0 6 13 * FRI UTC" })
  }
}

# silver.orders
resource "aws_scheduler_schedule" "at_30_2_1_5_europe_amsterdam_1_a137" {
  name                         = "at_30_2_1_5_europe_amsterdam_1_a137"
  group_name                   = aws_scheduler_schedule_group.tables.name
  schedule_expression          = "cron(30 2 ? * 2-6 *)"
  schedule_expression_timezone = "Europe/Amsterdam"

  flexible_time_window {
    mode = "OFF"
  }

  target {
    arn      = aws_sqs_queue.gate.arn
    role_arn = aws_iam_role.trigger.arn
    input    = jsonencode({ why = "30 2 * * 1-5 Europe/Amsterdam" })
  }
}

# silver.ticks
resource "aws_scheduler_schedule" "at_every_7200_s_1_e87e" {
  name                         = "at_every_7200_s_1_e87e"
  group_name                   = aws_scheduler_schedule_group.tables.name
  schedule_expression          = "rate(2 hours)"
  schedule_expression_timezone = "UTC"

  flexible_time_window {
    mode = "OFF"
  }

  target {
    arn      = aws_sqs_queue.gate.arn
    role_arn = aws_iam_role.trigger.arn
    input    = jsonencode({ why = "every 7200 s" })
  }
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

# sources that are asked
resource "aws_scheduler_schedule" "at_poll_1_9d48" {
  name                         = "at_poll_1_9d48"
  group_name                   = aws_scheduler_schedule_group.tables.name
  schedule_expression          = "rate(15 minutes)"
  schedule_expression_timezone = "UTC"

  flexible_time_window {
    mode = "OFF"
  }

  target {
    arn      = aws_sqs_queue.gate.arn
    role_arn = aws_iam_role.trigger.arn
    input    = jsonencode({ why = "poll" })
  }
}
