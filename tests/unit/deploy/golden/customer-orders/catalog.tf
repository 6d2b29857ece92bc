# Written by lakesmith deploy for project customer_orders, target prod. Do not edit: the next
# deploy refuses edited files. What you change or add goes into files of your own, *_override.tf.
# sha256 of the text below: 5d7082bb25702dd933467535de9dcd1baadc6e08df56b288ea9dc23c4d758439

# Databases alone: the tables in them are made and changed by runs, never by Terraform.

resource "aws_glue_catalog_database" "customer_orders_bronze" {
  name        = "customer_orders_bronze"
  description = "customer_orders: layer bronze"

  # AWS deletes the tables of a database with it.
  lifecycle {
    prevent_destroy = true
  }
}

resource "aws_glue_catalog_database" "customer_orders_gold" {
  name        = "customer_orders_gold"
  description = "customer_orders: layer gold"

  # AWS deletes the tables of a database with it.
  lifecycle {
    prevent_destroy = true
  }
}

resource "aws_glue_catalog_database" "customer_orders_lakesmith" {
  name        = "customer_orders_lakesmith"
  description = "customer_orders: ledgers, quarantine and the lease of runs"

  # AWS deletes the tables of a database with it.
  lifecycle {
    prevent_destroy = true
  }
}

resource "aws_glue_catalog_database" "customer_orders_silver" {
  name        = "customer_orders_silver"
  description = "customer_orders: layer silver"

  # AWS deletes the tables of a database with it.
  lifecycle {
    prevent_destroy = true
  }
}
