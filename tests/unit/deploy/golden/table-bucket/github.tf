# Written by lakesmith deploy for project shop, target prod. Do not edit: the next
# deploy refuses edited files. What you change or add goes into files of your own, *_override.tf.
# sha256 of the text below: e037e18209fb903e99d49d7b19f2b3010b07567afb5a6698361a0f16b4a10f88

# A plan fails here, before anything is changed, while GitHub's roles lack rights that it needs.
data "aws_s3_object" "rights" {
  bucket = "shop-prod-state-123456789012-eu-central-1"
  key    = "shop-prod.rights"

  lifecycle {
    postcondition {
      condition     = length(setsubtract(local.rights, jsondecode(self.body))) == 0
      error_message = "GitHub's roles need more rights: first apply bootstrap/, with an administrator's credentials."
    }
  }
}

locals {
  rights = toset(flatten([
    for name in ["ci_plan", "ci_apply_data", "ci_apply_runs"] : [
      for each in jsondecode(file("${path.module}/policies/${name}.json")).Statement : [
        for pair in setproduct(each.Action, each.Resource) :
        jsonencode([pair[0], pair[1], try(each.Condition, {})])
      ]
    ]
  ]))
}
