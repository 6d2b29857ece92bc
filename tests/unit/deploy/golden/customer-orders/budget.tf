# Written by lakesmith deploy for project customer_orders, target prod. Do not edit: the next
# deploy refuses edited files. What you change or add goes into files of your own, *_override.tf.
# sha256 of the text below: 169fbe96e4ba0ab0d876a99ac3148d990b1dd370e477b0a2f18e0d6790ccfbfd

# Counts what has the tag project = customer_orders. AWS counts a tag once it is activated in the billing
# console ("Cost allocation tags"), which can be done a day after the first resources have it.
resource "aws_budgets_budget" "month" {
  name         = "customer-orders-prod-month"
  budget_type  = "COST"
  limit_amount = "50"
  limit_unit   = "USD"
  time_unit    = "MONTHLY"

  cost_filter {
    name   = "TagKeyValue"
    values = ["user:project$customer_orders"]
  }

  notification {
    comparison_operator       = "GREATER_THAN"
    threshold                 = 80
    threshold_type            = "PERCENTAGE"
    notification_type         = "ACTUAL"
    subscriber_sns_topic_arns = [aws_sns_topic.alerts.arn]
  }

  notification {
    comparison_operator       = "GREATER_THAN"
    threshold                 = 100
    threshold_type            = "PERCENTAGE"
    notification_type         = "FORECASTED"
    subscriber_sns_topic_arns = [aws_sns_topic.alerts.arn]
  }
}
