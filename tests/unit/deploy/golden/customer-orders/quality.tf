# Written by lakesmith deploy for project customer_orders, target prod. Do not edit: the next
# deploy refuses edited files. What you change or add goes into files of your own, *_override.tf.
# sha256 of the text below: 51b0190acedd496fa2f18e002eb9140327ae30be4047dadd1910e7b63b1769e8

# The rules of tables, for people who look for them in Glue. Runs check them before they publish, so Glue need not be
# paid to check them again. They name no table of the catalog: tables are made by the first run.

resource "aws_glue_data_quality_ruleset" "silver__customers" {
  name        = "customer-orders-prod-silver.customers"
  description = "Rules of silver.customers"
  ruleset     = file("${path.module}/quality/silver__customers.dqdl")
}
