# Written by lakesmith deploy for project shop, target prod. Do not edit: the next
# deploy refuses edited files. What you change or add goes into files of your own, *_override.tf.
# sha256 of the text below: 3f90b3115127d4d7c519d8c37c5325a405013165b08e867d8cc7105d12b6d758

# The rules of tables, for people who look for them in Glue. Runs check them before they publish, so Glue need not be
# paid to check them again. They name no table of the catalog: tables are made by the first run.

resource "aws_glue_data_quality_ruleset" "silver__orders" {
  name        = "shop-prod-silver.orders"
  description = "Rules of silver.orders"
  ruleset     = file("${path.module}/quality/silver__orders.dqdl")
}
