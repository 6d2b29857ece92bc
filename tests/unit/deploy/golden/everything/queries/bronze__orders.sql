-- Written by lakesmith deploy for project shop, target prod. Do not edit: the next
-- deploy refuses edited files. What you change or add goes into files of your own, *_override.tf.
-- sha256 of the text below: 19b1b1e3b4e56deaf3ab56ca56fc34903e25cae7275a2db457698319cf8e1b16

SELECT *
FROM "bronze"."orders"
LIMIT 100;
