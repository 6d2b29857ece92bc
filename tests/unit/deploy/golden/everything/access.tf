# Written by lakesmith deploy for project shop, target prod. Do not edit: the next
# deploy refuses edited files. What you change or add goes into files of your own, *_override.tf.
# sha256 of the text below: 64c284dafbdf60e5a4e03d9578f30c313bc242af2aff52d844aa79f1bc7bf7ee

# Lake Formation: what readers see follows from tags on databases, which their tables inherit from the moment they are
# made. Who applies this has to be a data lake administrator, which the account's settings say, not this deployment.

# Hybrid: the roles of jobs go on with IAM alone; only roles that opt in, below, are held to grants.
resource "aws_lakeformation_resource" "lake" {
  arn                   = "arn:aws:s3:::shop-lake/tables"
  role_arn              = aws_iam_role.access.arn
  hybrid_access_enabled = true

  # Lake Formation tries the role at once.
  depends_on = [aws_iam_role_policy.access, aws_s3_bucket.lake]
}

resource "aws_lakeformation_lf_tag" "layer" {
  key    = "shop-prod-layer"
  values = ["bronze", "gold", "lakesmith", "silver"]
}

# Tables declare `tags: [pii]`. A layer with one such table is pii: no table is seen before it is judged.
resource "aws_lakeformation_lf_tag" "pii" {
  key    = "shop-prod-pii"
  values = ["no", "yes"]
}

# For grants of your own: a database has it if all its tables have one owner.
resource "aws_lakeformation_lf_tag" "owner" {
  key    = "shop-prod-owner"
  values = ["data team"]
}

resource "aws_lakeformation_resource_lf_tags" "bronze" {
  database {
    name = aws_glue_catalog_database.bronze.name
  }

  lf_tag {
    key   = aws_lakeformation_lf_tag.layer.key
    value = "bronze"
  }

  lf_tag {
    key   = aws_lakeformation_lf_tag.pii.key
    value = "no"
  }

  lf_tag {
    key   = aws_lakeformation_lf_tag.owner.key
    value = "data team"
  }
}

resource "aws_lakeformation_resource_lf_tags" "gold" {
  database {
    name = aws_glue_catalog_database.gold.name
  }

  lf_tag {
    key   = aws_lakeformation_lf_tag.layer.key
    value = "gold"
  }

  lf_tag {
    key   = aws_lakeformation_lf_tag.pii.key
    value = "no"
  }

  lf_tag {
    key   = aws_lakeformation_lf_tag.owner.key
    value = "data team"
  }
}

resource "aws_lakeformation_resource_lf_tags" "lakesmith" {
  database {
    name = aws_glue_catalog_database.lakesmith.name
  }

  lf_tag {
    key   = aws_lakeformation_lf_tag.layer.key
    value = "lakesmith"
  }

  lf_tag {
    key   = aws_lakeformation_lf_tag.pii.key
    value = "yes"
  }
}

resource "aws_lakeformation_resource_lf_tags" "silver" {
  database {
    name = aws_glue_catalog_database.silver.name
  }

  lf_tag {
    key   = aws_lakeformation_lf_tag.layer.key
    value = "silver"
  }

  lf_tag {
    key   = aws_lakeformation_lf_tag.pii.key
    value = "yes"
  }

  lf_tag {
    key   = aws_lakeformation_lf_tag.owner.key
    value = "data team"
  }
}

# Jobs change tables in a registered place, also in accounts whose databases are closed to IAM alone.
resource "aws_lakeformation_permissions" "job_place" {
  principal   = aws_iam_role.job.arn
  permissions = ["DATA_LOCATION_ACCESS"]

  data_location {
    arn = aws_lakeformation_resource.lake.arn
  }
}

resource "aws_lakeformation_permissions" "erasure_place" {
  principal   = aws_iam_role.erasure.arn
  permissions = ["DATA_LOCATION_ACCESS"]

  data_location {
    arn = aws_lakeformation_resource.lake.arn
  }
}

resource "aws_lakeformation_permissions" "job_database" {
  principal   = aws_iam_role.job.arn
  permissions = ["CREATE_TABLE", "DESCRIBE"]

  lf_tag_policy {
    resource_type = "DATABASE"

    expression {
      key    = aws_lakeformation_lf_tag.layer.key
      values = ["bronze", "gold", "lakesmith", "silver"]
    }
  }
}

resource "aws_lakeformation_permissions" "job_table" {
  principal   = aws_iam_role.job.arn
  permissions = ["ALTER", "DELETE", "DESCRIBE", "INSERT", "SELECT"]

  lf_tag_policy {
    resource_type = "TABLE"

    expression {
      key    = aws_lakeformation_lf_tag.layer.key
      values = ["bronze", "gold", "lakesmith", "silver"]
    }
  }
}

resource "aws_lakeformation_permissions" "erasure_database" {
  principal   = aws_iam_role.erasure.arn
  permissions = ["CREATE_TABLE", "DESCRIBE"]

  lf_tag_policy {
    resource_type = "DATABASE"

    expression {
      key    = aws_lakeformation_lf_tag.layer.key
      values = ["bronze", "gold", "lakesmith", "silver"]
    }
  }
}

resource "aws_lakeformation_permissions" "erasure_table" {
  principal   = aws_iam_role.erasure.arn
  permissions = ["ALTER", "DELETE", "DESCRIBE", "INSERT", "SELECT"]

  lf_tag_policy {
    resource_type = "TABLE"

    expression {
      key    = aws_lakeformation_lf_tag.layer.key
      values = ["bronze", "gold", "lakesmith", "silver"]
    }
  }
}

resource "aws_lakeformation_permissions" "gate_database" {
  principal   = aws_iam_role.gate.arn
  permissions = ["DESCRIBE"]

  lf_tag_policy {
    resource_type = "DATABASE"

    expression {
      key    = aws_lakeformation_lf_tag.layer.key
      values = ["bronze", "gold", "lakesmith", "silver"]
    }
  }
}

resource "aws_lakeformation_permissions" "gate_table" {
  principal   = aws_iam_role.gate.arn
  permissions = ["DESCRIBE", "SELECT"]

  lf_tag_policy {
    resource_type = "TABLE"

    expression {
      key    = aws_lakeformation_lf_tag.layer.key
      values = ["bronze", "gold", "lakesmith", "silver"]
    }
  }
}

resource "aws_lakeformation_permissions" "reader_database" {
  principal   = aws_iam_role.reader.arn
  permissions = ["DESCRIBE"]

  lf_tag_policy {
    resource_type = "DATABASE"

    expression {
      key    = aws_lakeformation_lf_tag.layer.key
      values = ["bronze", "gold", "silver"]
    }

    expression {
      key    = aws_lakeformation_lf_tag.pii.key
      values = ["no"]
    }
  }
}

resource "aws_lakeformation_permissions" "reader_table" {
  principal   = aws_iam_role.reader.arn
  permissions = ["DESCRIBE", "SELECT"]

  lf_tag_policy {
    resource_type = "TABLE"

    expression {
      key    = aws_lakeformation_lf_tag.layer.key
      values = ["bronze", "gold", "silver"]
    }

    expression {
      key    = aws_lakeformation_lf_tag.pii.key
      values = ["no"]
    }
  }
}

resource "aws_lakeformation_permissions" "pii_reader_database" {
  principal   = aws_iam_role.pii_reader.arn
  permissions = ["DESCRIBE"]

  lf_tag_policy {
    resource_type = "DATABASE"

    expression {
      key    = aws_lakeformation_lf_tag.layer.key
      values = ["bronze", "gold", "silver"]
    }

    expression {
      key    = aws_lakeformation_lf_tag.pii.key
      values = ["no", "yes"]
    }
  }
}

resource "aws_lakeformation_permissions" "pii_reader_table" {
  principal   = aws_iam_role.pii_reader.arn
  permissions = ["DESCRIBE", "SELECT"]

  lf_tag_policy {
    resource_type = "TABLE"

    expression {
      key    = aws_lakeformation_lf_tag.layer.key
      values = ["bronze", "gold", "silver"]
    }

    expression {
      key    = aws_lakeformation_lf_tag.pii.key
      values = ["no", "yes"]
    }
  }
}

# Readers are held to their grants in every database, also in those that they may not see.
resource "aws_lakeformation_opt_in" "reader_bronze" {
  principal {
    data_lake_principal_identifier = aws_iam_role.reader.arn
  }

  resource_data {
    database {
      name = aws_glue_catalog_database.bronze.name
    }
  }

  depends_on = [aws_lakeformation_resource.lake]
}

resource "aws_lakeformation_opt_in" "reader_bronze_tables" {
  principal {
    data_lake_principal_identifier = aws_iam_role.reader.arn
  }

  resource_data {
    table {
      database_name = aws_glue_catalog_database.bronze.name
      wildcard      = true
    }
  }

  depends_on = [aws_lakeformation_resource.lake]
}

resource "aws_lakeformation_opt_in" "reader_gold" {
  principal {
    data_lake_principal_identifier = aws_iam_role.reader.arn
  }

  resource_data {
    database {
      name = aws_glue_catalog_database.gold.name
    }
  }

  depends_on = [aws_lakeformation_resource.lake]
}

resource "aws_lakeformation_opt_in" "reader_gold_tables" {
  principal {
    data_lake_principal_identifier = aws_iam_role.reader.arn
  }

  resource_data {
    table {
      database_name = aws_glue_catalog_database.gold.name
      wildcard      = true
    }
  }

  depends_on = [aws_lakeformation_resource.lake]
}

resource "aws_lakeformation_opt_in" "reader_lakesmith" {
  principal {
    data_lake_principal_identifier = aws_iam_role.reader.arn
  }

  resource_data {
    database {
      name = aws_glue_catalog_database.lakesmith.name
    }
  }

  depends_on = [aws_lakeformation_resource.lake]
}

resource "aws_lakeformation_opt_in" "reader_lakesmith_tables" {
  principal {
    data_lake_principal_identifier = aws_iam_role.reader.arn
  }

  resource_data {
    table {
      database_name = aws_glue_catalog_database.lakesmith.name
      wildcard      = true
    }
  }

  depends_on = [aws_lakeformation_resource.lake]
}

resource "aws_lakeformation_opt_in" "reader_silver" {
  principal {
    data_lake_principal_identifier = aws_iam_role.reader.arn
  }

  resource_data {
    database {
      name = aws_glue_catalog_database.silver.name
    }
  }

  depends_on = [aws_lakeformation_resource.lake]
}

resource "aws_lakeformation_opt_in" "reader_silver_tables" {
  principal {
    data_lake_principal_identifier = aws_iam_role.reader.arn
  }

  resource_data {
    table {
      database_name = aws_glue_catalog_database.silver.name
      wildcard      = true
    }
  }

  depends_on = [aws_lakeformation_resource.lake]
}

resource "aws_lakeformation_opt_in" "pii_reader_bronze" {
  principal {
    data_lake_principal_identifier = aws_iam_role.pii_reader.arn
  }

  resource_data {
    database {
      name = aws_glue_catalog_database.bronze.name
    }
  }

  depends_on = [aws_lakeformation_resource.lake]
}

resource "aws_lakeformation_opt_in" "pii_reader_bronze_tables" {
  principal {
    data_lake_principal_identifier = aws_iam_role.pii_reader.arn
  }

  resource_data {
    table {
      database_name = aws_glue_catalog_database.bronze.name
      wildcard      = true
    }
  }

  depends_on = [aws_lakeformation_resource.lake]
}

resource "aws_lakeformation_opt_in" "pii_reader_gold" {
  principal {
    data_lake_principal_identifier = aws_iam_role.pii_reader.arn
  }

  resource_data {
    database {
      name = aws_glue_catalog_database.gold.name
    }
  }

  depends_on = [aws_lakeformation_resource.lake]
}

resource "aws_lakeformation_opt_in" "pii_reader_gold_tables" {
  principal {
    data_lake_principal_identifier = aws_iam_role.pii_reader.arn
  }

  resource_data {
    table {
      database_name = aws_glue_catalog_database.gold.name
      wildcard      = true
    }
  }

  depends_on = [aws_lakeformation_resource.lake]
}

resource "aws_lakeformation_opt_in" "pii_reader_lakesmith" {
  principal {
    data_lake_principal_identifier = aws_iam_role.pii_reader.arn
  }

  resource_data {
    database {
      name = aws_glue_catalog_database.lakesmith.name
    }
  }

  depends_on = [aws_lakeformation_resource.lake]
}

resource "aws_lakeformation_opt_in" "pii_reader_lakesmith_tables" {
  principal {
    data_lake_principal_identifier = aws_iam_role.pii_reader.arn
  }

  resource_data {
    table {
      database_name = aws_glue_catalog_database.lakesmith.name
      wildcard      = true
    }
  }

  depends_on = [aws_lakeformation_resource.lake]
}

resource "aws_lakeformation_opt_in" "pii_reader_silver" {
  principal {
    data_lake_principal_identifier = aws_iam_role.pii_reader.arn
  }

  resource_data {
    database {
      name = aws_glue_catalog_database.silver.name
    }
  }

  depends_on = [aws_lakeformation_resource.lake]
}

resource "aws_lakeformation_opt_in" "pii_reader_silver_tables" {
  principal {
    data_lake_principal_identifier = aws_iam_role.pii_reader.arn
  }

  resource_data {
    table {
      database_name = aws_glue_catalog_database.silver.name
      wildcard      = true
    }
  }

  depends_on = [aws_lakeformation_resource.lake]
}
