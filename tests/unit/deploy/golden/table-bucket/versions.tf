# Written by lakesmith deploy for project shop, target prod. Do not edit: the next
# deploy refuses edited files. What you change or add goes into files of your own, *_override.tf.
# sha256 of the text below: ca10901bbc1f9825a56fab1571a9e9c6b9125b4541f345770766513803996869

terraform {
  required_version = ">= 1.11"

  # Where the state is: terraform init -backend-config=backend.hcl
  backend "s3" {}

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "~> 5.100"
    }
  }
}

provider "aws" {
  region = "eu-central-1"

  # With credentials of another account, Terraform stops before it changes anything.
  allowed_account_ids = ["123456789012"]

  default_tags {
    tags = {
      project    = "shop"
      target     = "prod"
      managed-by = "lakesmith"
    }
  }
}

# Both are in artifact.auto.tfvars.json, which `lakesmith deploy --upload` writes. They have hashes of the content, so a
# new version shows in the plan.
variable "artifact" {
  description = "The prefix of the packages in the bucket of artifacts"
  type        = string
}

variable "project" {
  description = "The prefix of the project's files in the bucket of artifacts"
  type        = string
}

# What is deployed: terraform output.
output "artifact" {
  value = var.artifact
}

output "project" {
  value = var.project
}
