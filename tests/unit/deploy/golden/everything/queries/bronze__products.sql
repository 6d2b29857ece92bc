-- Written by lakesmith deploy for project shop, target prod. Do not edit: the next
-- deploy refuses edited files. What you change or add goes into files of your own, *_override.tf.
-- sha256 of the text below: 4738b445542bebbc0878ebf86c3b3ed858c5a8393e03789f46919cb6945d82ce

SELECT *
FROM "bronze"."products"
LIMIT 100;
