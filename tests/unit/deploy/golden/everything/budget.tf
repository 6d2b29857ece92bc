# Written by lakesmith deploy for project shop, target prod. Do not edit: the next
# deploy refuses edited files. What you change or add goes into files of your own, *_override.tf.
# sha256 of the text below: f19132e6985613fe3b95b827bcc85fc436368b9055cca138cbd0374d001ff496

# Counts what has the tag project = shop. AWS counts a tag once it is activated in the billing
# console ("Cost allocation tags"), which can be done a day after the first resources have it.
resource "aws_budgets_budget" "month" {
  name         = "shop-prod-month"
  budget_type  = "COST"
  limit_amount = "50"
  limit_unit   = "USD"
  time_unit    = "MONTHLY"

  cost_filter {
    name   = "TagKeyValue"
    values = ["user:project$shop"]
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
