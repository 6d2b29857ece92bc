# Written by lakesmith deploy for project customer_orders, target prod. Do not edit: the next
# deploy refuses edited files. What you change or add goes into files of your own, *_override.tf.
# sha256 of the text below: 2808209810c18bb026a833a6a7648bd8b393765e2794fc014eb78982025d1540

bucket              = "customer-orders-prod-state-123456789012-eu-central-1"
key                 = "customer-orders-prod.tfstate"
region              = "eu-central-1"
allowed_account_ids = ["123456789012"]
encrypt             = true
use_lockfile        = true
