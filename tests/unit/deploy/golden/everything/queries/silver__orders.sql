-- Written by lakesmith deploy for project shop, target prod. Do not edit: the next
-- deploy refuses edited files. What you change or add goes into files of your own, *_override.tf.
-- sha256 of the text below: d1fc17b2e95c6b30883b5f503166c2848e1a728a0e96db8c5484750a1143a3e0

SELECT *
FROM "silver"."orders"
LIMIT 100;
