# Written by lakesmith deploy for project shop, target prod. Do not edit: the next
# deploy refuses edited files. What you change or add goes into files of your own, *_override.tf.
# sha256 of the text below: e956004b8b55a793940434bc83722affa5291dec657eac531865c5f7a821e9eb

# Roles for GitHub Actions. A person applies them here, so that a workflow cannot widen its own rights. GitHub's provider
# of tokens has to be in the account: docs/deploy.md has the command.

# It plans, and changes nothing.
resource "aws_iam_role" "ci_plan" {
  name               = "shop-prod-ci-plan"
  assume_role_policy = file("${path.module}/../policies/ci_plan_trust.json")
}

resource "aws_iam_role_policy" "ci_plan" {
  name   = "reads"
  role   = aws_iam_role.ci_plan.id
  policy = file("${path.module}/../policies/ci_plan.json")
}

# It applies the plan that reviewers saw.
resource "aws_iam_role" "ci_apply" {
  name               = "shop-prod-ci-apply"
  assume_role_policy = file("${path.module}/../policies/ci_apply_trust.json")
}

resource "aws_iam_role_policy" "ci_apply" {
  name   = "reads"
  role   = aws_iam_role.ci_apply.id
  policy = file("${path.module}/../policies/ci_plan.json")
}

resource "aws_iam_policy" "ci_apply_data" {
  name   = "shop-prod-ci-apply-data"
  policy = file("${path.module}/../policies/ci_apply_data.json")
}

resource "aws_iam_role_policy_attachment" "ci_apply_data" {
  role       = aws_iam_role.ci_apply.name
  policy_arn = aws_iam_policy.ci_apply_data.arn
}

resource "aws_iam_policy" "ci_apply_runs" {
  name   = "shop-prod-ci-apply-runs"
  policy = file("${path.module}/../policies/ci_apply_runs.json")
}

resource "aws_iam_role_policy_attachment" "ci_apply_runs" {
  role       = aws_iam_role.ci_apply.name
  policy_arn = aws_iam_policy.ci_apply_runs.arn
}

# Which rights both roles have: github.tf beside this folder compares.
resource "aws_s3_object" "rights" {
  bucket       = aws_s3_bucket.state.id
  key          = "shop-prod.rights"
  content      = jsonencode(local.rights)
  content_type = "application/json"

  depends_on = [
    aws_iam_role_policy.ci_plan,
    aws_iam_role_policy.ci_apply,
    aws_iam_role_policy_attachment.ci_apply_data,
    aws_iam_role_policy_attachment.ci_apply_runs,
  ]
}

locals {
  rights = toset(flatten([
    for name in ["ci_plan", "ci_apply_data", "ci_apply_runs"] : [
      for each in jsondecode(file("${path.module}/../policies/${name}.json")).Statement : [
        for pair in setproduct(each.Action, each.Resource) :
        jsonencode([pair[0], pair[1], try(each.Condition, {})])
      ]
    ]
  ]))
}
