# Written by lakesmith deploy for project shop, target prod. Do not edit: the next
# deploy refuses edited files. What you change or add goes into files of your own, *_override.tf.
# sha256 of the text below: 1b76ac7887b5026336a7a3412155e98974355ef658c8309ca87cd6b29a1217e5

resource "aws_emrserverless_application" "jobs" {
  name          = "shop-prod-jobs"
  release_label = "emr-spark-8.1.0"
  type          = "SPARK"
  architecture  = "X86_64"

  # No capacity is kept ready, so nothing is paid between runs. A start takes one to two minutes.
  auto_start_configuration {
    enabled = true
  }

  auto_stop_configuration {
    enabled              = true
    idle_timeout_minutes = 1
  }

  # The most that all runs together may use: a query that grows cannot grow the bill with it.
  maximum_capacity {
    cpu    = "8 vCPU"
    memory = "32 GB"
    disk   = "160 GB"
  }
}
resource "aws_cloudwatch_log_group" "jobs" {
  name              = "/lakesmith/shop-prod/jobs"
  retention_in_days = 30
}
