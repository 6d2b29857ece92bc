# Written by lakesmith deploy for project shop, target prod. Do not edit: the next
# deploy refuses edited files. What you change or add goes into files of your own, *_override.tf.
# sha256 of the text below: 495d8b92022b8972c3820e46838f6ce7b7a9bd1482a00dd63132e00efd115538

bucket              = "shop-prod-state-123456789012-eu-central-1"
key                 = "shop-prod.tfstate"
region              = "eu-central-1"
allowed_account_ids = ["123456789012"]
encrypt             = true
use_lockfile        = true
