-- Written by lakesmith deploy for project shop, target prod. Do not edit: the next
-- deploy refuses edited files. What you change or add goes into files of your own, *_override.tf.
-- sha256 of the text below: c69145d819ed60212bcd63697c07d146fdd42b0e8bdfeb42d87ebb359c3aa2c1

SELECT *
FROM "bronze"."clicks"
LIMIT 100;
