# Written by lakesmith deploy for project shop, target prod. Do not edit: the next
# deploy refuses edited files. What you change or add goes into files of your own, *_override.tf.
# sha256 of the text below: eeaa310041d319a14e557aae12ccfe5ff3db0275e1924c98b37542009a329c7d

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
