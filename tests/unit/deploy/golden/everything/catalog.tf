# Written by lakesmith deploy for project shop, target prod. Do not edit: the next
# deploy refuses edited files. What you change or add goes into files of your own, *_override.tf.
# sha256 of the text below: 016fc801f2b3ce4eca9e50cb5938e7edcf7d9f6775fc3cdfe5a332d3bc98b181

# Databases alone: the tables in them are made and changed by runs, never by Terraform.

resource "aws_glue_catalog_database" "bronze" {
  name        = "bronze"
  description = "shop: layer bronze"
}

resource "aws_glue_catalog_database" "gold" {
  name        = "gold"
  description = "shop: layer gold"
}

resource "aws_glue_catalog_database" "lakesmith" {
  name        = "lakesmith"
  description = "shop: ledgers, quarantine and the lease of runs"
}

resource "aws_glue_catalog_database" "silver" {
  name        = "silver"
  description = "shop: layer silver"
}
